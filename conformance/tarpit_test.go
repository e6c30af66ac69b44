package conformance

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const tarpitConf = `
error_log logs/error.log notice;
events { worker_connections 4096; }
http {
	access_log off;
	limit_req_zone $binary_remote_addr zone=r:1m rate=1r/h;
	limit_req_status 429;
	server {
		listen 127.0.0.1:@8080@;
		add_header X-Version %s always;
		location /free { return 204; }
		location /pit { limit_req zone=r reject_delay=1m; proxy_pass http://127.0.0.1:@8080@/free; }
	}
}`

// At most a thousand refusals of a zone are held back, whichever configuration holds them: a reload makes no room for more, and
// those whose clients leave do.
func TestHeldRefusalsAreBoundedOverReloads(t *testing.T) {
	const most = 1000 // phase.MaxHeld
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(tarpitConf, "1"))
	if a := get(g.URL(8080, "/pit")); a.status != 204 {
		t.Fatalf("the first: got %d, want 204", a.status)
	}
	ask := func() net.Conn { return dial(t, g.Addr(8080), "GET /pit HTTP/1.1\r\nHost: h\r\n\r\n") }
	answered := func(c net.Conn, within time.Duration) bool {
		t.Helper()
		if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		n, _ := c.Read(make([]byte, 1))
		return n == 1
	}
	held := make([]net.Conn, most)
	for i := range held {
		held[i] = ask()
	}
	atOnce := func(when string) {
		t.Helper()
		gatewaytest.Eventually(t, 10*time.Second, "a refusal that is not held back "+when, func() bool {
			c := ask()
			if answered(c, 200*time.Millisecond) {
				return true
			}
			held = append(held, c) // one of the thousand had not come yet
			return false
		})
	}
	atOnce("when all places are taken")
	reload(t, g, fmt.Sprintf(tarpitConf, "2"), "2")
	// All places are still taken: none of these is held, however late the thousand came.
	for range 5 {
		if c := ask(); !answered(c, 2*time.Second) {
			t.Fatal("after a reload: a refusal is held back beside a thousand of the old configuration")
		}
	}
	for _, c := range held {
		c.Close()
	}
	gatewaytest.Eventually(t, 5*time.Second, "a refusal that is held back when the others have left", func() bool { return !answered(ask(), 200*time.Millisecond) })
}

package conformance

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// How a connection ends under reset_timedout_connection: with a reset where the client was too slow or gets 444, and as
// usual where it only was idle.
func TestResetsSideBySide(t *testing.T) {
	t.Parallel()
	const conf = `error_log logs/error.log info; events {} http { access_log off; client_header_timeout 200ms; client_body_timeout 200ms; keepalive_timeout 100ms;
		server { listen 127.0.0.1:@8080@; reset_timedout_connection on; location /r { return 200 x; } location /444 { return 444; } location /p { proxy_pass http://127.0.0.1:@8081@; }
			location /off { reset_timedout_connection off; location /off/444 { return 444; } } }
		server { listen 127.0.0.1:@8081@; return 200 up; } }`
	ends := func(b gatewaytest.Binary) map[string]string {
		g := gatewaytest.Start(t, b, conf)
		got := map[string]string{}
		for _, raw := range []string{"GET /444 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /off/444 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /r HT", "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nab",
			"GET /r HTTP/1.1\r\nHost: h\r\n\r\n", "GET /r HTTP/1.0\r\n\r\n", ""} {
			c, err := net.Dial("tcp", g.Addr(8080))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(c, raw)
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			answer, err := io.ReadAll(c)
			end := "ends"
			switch {
			case errors.Is(err, syscall.ECONNRESET):
				end = "is reset"
			case err != nil:
				end = err.Error()
			}
			if len(answer) > 0 {
				end = "answers and " + end
			}
			got[raw] = end
			c.Close()
		}
		return got
	}
	if d := cmp.Diff(ends(gatewaytest.Nginx(t)), ends(gatewaytest.Limitgate(t))); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

package conformance

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Section C: places of limit_conn, and what gives them back.
func TestFieldCasesC(t *testing.T) {
	t.Parallel()

	t.Run("40", func(t *testing.T) { // a backend that hangs past the timeout, five times, blocks nobody afterwards
		b := startBackend(t)
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), strings.Replace(connConf(b, 2), "location /hang { ", "location /hang { proxy_read_timeout 200ms; ", 1))
		for range 5 {
			if got := get(g.URL(8080, "/hang")).status; got != 504 {
				t.Fatalf("got %d, want 504", got)
			}
		}
		if got := count(atOnce(t, g.Addr(8080), "/ok", 2), 200); got != 2 {
			t.Errorf("got %d of 2 passed afterwards, want both: no place is held", got)
		}
	})
	t.Run("46", func(t *testing.T) { // an upgrade that the backend refuses holds no place
		b := startBackend(t)
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), connConf(b, 1))
		for i := range 100 {
			c := dial(t, g.Addr(8080), "GET /upgrade HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
			_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if line, _ := bufio.NewReader(c).ReadString('\n'); line != "HTTP/1.1 404 Not Found\r\n" {
				t.Fatalf("upgrade %d: got %q, want 404", i, line)
			}
			freed(t, g, "a refused upgrade") // the connection itself stays open
		}
	})
	t.Run("47", func(t *testing.T) { // clients that leave in the middle of a long poll give their places back
		b := startBackend(t)
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), connConf(b, 5))
		for range 5 {
			c := dial(t, g.Addr(8080), "GET /hang HTTP/1.1\r\nHost: h\r\n\r\n")
			defer reset(c)
		}
		gatewaytest.Eventually(t, 2*time.Second, "five at the backend", func() bool { return b.active.Load() == 5 })
		sixth := dial(t, g.Addr(8080), "GET /hang HTTP/1.1\r\nHost: h\r\n\r\n")
		_ = sixth.SetReadDeadline(time.Now().Add(5 * time.Second))
		if line, _ := bufio.NewReader(sixth).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 429 ") {
			t.Errorf("a sixth beside five: got %q, want 429", line)
		}
		// That they leave, and how soon it is noticed: TestLongPollsThatAreResetFreeTheirPlaces.
	})
	t.Run("48 49", func(t *testing.T) { // a route that a reload adds is limited too, and its refusal has the status that was chosen
		b := startBackend(t)
		conf := func(v, status, route string) string {
			return fmt.Sprintf(`error_log logs/error.log notice;
events {}
http { access_log off; limit_conn_zone $server_port zone=c:1m; limit_conn c 100; limit_conn_log_level info; %s add_header X-Version %s always;
	server { listen 127.0.0.1:@8080@; location /free { return 200; } location / { return 404; } %s } }`, status, v, route)
		}
		route := "location /added { proxy_pass http://" + b.addr + "/slow; }"
		g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf("1", "", ""))
		for v, c := range []struct {
			directive string
			status    int
		}{{"", 503}, {"limit_conn_status 429;", 429}} {
			reload(t, g, conf(fmt.Sprint(v+2), c.directive, route), fmt.Sprint(v+2))
			answers := atOnce(t, g.Addr(8080), "/added", 120)
			if passed, refused := count(answers, 200), count(answers, c.status); passed != 100 || refused != 20 {
				t.Errorf("120 at once at limit 100: got %d passed and %d of %d, want 100 and 20", passed, refused, c.status)
			}
		}
	})
}

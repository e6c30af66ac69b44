package conformance

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// upgrading is a gateway before a backend of sockets, over TCP on 8080 and TLS on 8443.
func upgrading(t *testing.T, b gatewaytest.Binary, backend *sockets, more string) *gatewaytest.Gateway {
	t.Helper()
	cert, key := gatewaytest.Certificate(t, "ecdsa", "h")
	g := gatewaytest.Prepare(t, b, fmt.Sprintf(`error_log logs/error.log info;
events {}
http { access_log off; limit_conn_zone $server_addr zone=places:1m; limit_conn_status 429; limit_req_zone $server_addr zone=starts:1m rate=1r/m; limit_req_status 429;
	server { listen 127.0.0.1:@8080@; listen 127.0.0.1:@8443@ ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem;
		proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;
		location / { limit_conn places 1; proxy_pass http://%[1]s; }
		location /silent { proxy_read_timeout 300ms; limit_conn places 1; proxy_pass http://%[1]s; }
		location /rare { limit_req zone=starts; proxy_pass http://%[1]s; }
	} %[2]s }
`, backend.addr, more))
	g.Write("cert.pem", cert)
	g.Write("key.pem", key)
	return g
}

// soonFree waits until the one place is free, and returns how long that took.
func soonFree(t *testing.T, g *gatewaytest.Gateway) time.Duration {
	t.Helper()
	begun := time.Now()
	gatewaytest.Eventually(t, 5*time.Second, "the place is free", func() bool { return get(g.URL(8080, "/x")).status == 200 })
	return time.Since(begun)
}

// An upgraded connection is one place of limit_conn until it ends, whoever ends it; a refused one holds none.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			backend := startSockets(t, "")
			g := upgrading(t, b, backend, "")
			g.Run()
			for _, secure := range []bool{false, true} {
				port := map[bool]int{false: 8080, true: 8443}[secure]
				t.Run(fmt.Sprint("both ways, TLS ", secure), func(t *testing.T) { testBothWays(t, g, port, secure) })
			}
			t.Run("refused", func(t *testing.T) { testRefusedUpgrades(t, g) })
			t.Run("vanish", func(t *testing.T) { testVanishing(t, g, backend) })
			t.Run("backend closes", func(t *testing.T) {
				s := upgrade(t, g.Addr(8080), "/bye", false)
				s.echoes(t, "x")
				s.closed(t)
				soonFree(t, g)
			})
			t.Run("silence", func(t *testing.T) {
				s := upgrade(t, g.Addr(8080), "/silent", false)
				if took := s.closed(t); took < 250*time.Millisecond || took > 3*time.Second {
					t.Errorf("a silent one ended after %v, want about 300 ms", took)
				}
				soonFree(t, g)
			})
			t.Run("limits of requests", func(t *testing.T) { testLimitedUpgrades(t, g, backend) })
		})
	}
}

func testBothWays(t *testing.T, g *gatewaytest.Gateway, port int, secure bool) {
	soonFree(t, g)
	s := upgrade(t, g.Addr(port), "/ws", secure)
	for _, n := range []int{0, 1, 125, 126, 70_000, 300_000} {
		s.echoes(t, strings.Repeat("x", n))
	}
	for i := range 100 {
		s.echoes(t, fmt.Sprint("message ", i))
	}
	if got := get(g.URL(8080, "/x")).status; got != 429 {
		t.Errorf("beside an open one: got %d, want 429", got)
	}
	if other := upgrade(t, g.Addr(port), "/ws", secure); other.status != "429" {
		t.Errorf("a second one: got %s, want 429", other.status)
	}
	s.echoes(t, "still here")
	if err := writeFrame(s.out, 8, nil, true); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFrame(s.in); err != nil {
		t.Errorf("closing: %v", err)
	}
	s.closed(t)
	soonFree(t, g)
}

// Field case 46: a hundred refused upgrades leave the count at nothing.
func testRefusedUpgrades(t *testing.T, g *gatewaytest.Gateway) {
	for i := range 100 {
		path := [...]string{"/404", "/403"}[i%2]
		if s := upgrade(t, g.Addr(8080), path, false); s.status != path[1:] {
			t.Fatalf("upgrade %d: got %s, want %s", i, s.status, path[1:])
		}
	}
	if got := get(g.URL(8080, "/x")).status; got != 200 {
		t.Errorf("behind a hundred refused: got %d, want 200", got)
	}
}

// A client that vanishes frees its place at once, and the backend hears of it.
func testVanishing(t *testing.T, g *gatewaytest.Gateway, backend *sockets) {
	for name, vanish := range map[string]func(*socket){
		"reset": func(s *socket) { _ = s.Conn.(*net.TCPConn).SetLinger(0); s.Close() },
		"end":   func(s *socket) { s.Close() },
	} {
		s := upgrade(t, g.Addr(8080), "/ws", false)
		s.echoes(t, "x")
		vanish(s)
		if took := soonFree(t, g); took > 500*time.Millisecond {
			t.Errorf("%s: the place was free after %v, want at once", name, took)
		} else {
			t.Logf("%s: the place was free after %v", name, took)
		}
		gatewaytest.Eventually(t, 2*time.Second, "the backend hears of it", func() bool { return backend.open.Load() == 0 })
	}
}

// The request that asks for the upgrade is limited as any other, before the backend hears of it.
func testLimitedUpgrades(t *testing.T, g *gatewaytest.Gateway, backend *sockets) {
	s := upgrade(t, g.Addr(8080), "/rare", false)
	s.echoes(t, "x")
	before := backend.seen.Load()
	for range 5 {
		if again := upgrade(t, g.Addr(8080), "/rare", false); again.status != "429" {
			t.Errorf("got %s, want 429", again.status)
		}
	}
	if n := backend.seen.Load() - before; n != 0 {
		t.Errorf("%d refused upgrades reached the backend", n)
	}
	s.echoes(t, "still here")
}

// Upgraded connections go on over a reload, and while the process is to end, for worker_shutdown_timeout.
func TestUpgradesDrain(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		for name, signal := range map[string]syscall.Signal{"reload": syscall.SIGHUP, "quit": syscall.SIGQUIT} {
			t.Run(b.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				backend := startSockets(t, "")
				g := upgrading(t, b, backend, "")
				g.Write("nginx.conf", "worker_shutdown_timeout 1s;\n"+g.Read("nginx.conf"))
				g.Run()
				s := upgrade(t, g.Addr(8080), "/ws", false)
				begun := time.Now()
				g.Signal(signal)
				gatewaytest.Eventually(t, 5*time.Second, "it drains", func() bool { return strings.Contains(g.ErrorLog(), "gracefully shutting down") })
				s.echoes(t, "while it drains")
				if signal == syscall.SIGHUP && b.Name == "limitgate" { // nginx's old worker counts on, too, but who meets it
					if got := get(g.URL(8080, "/x")).status; got != 429 {
						t.Errorf("a place held over the reload: got %d, want 429", got)
					}
				}
				s.closed(t)
				if took := time.Since(begun); took < 900*time.Millisecond || took > 4*time.Second {
					t.Errorf("ended after %v, want about a second", took)
				}
				if signal == syscall.SIGHUP {
					soonFree(t, g)
				}
				gatewaytest.Eventually(t, 2*time.Second, "the backend hears of it", func() bool { return backend.open.Load() == 0 })
			})
		}
	}
}

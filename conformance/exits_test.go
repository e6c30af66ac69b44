package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// backend is an application that misbehaves on demand.
type backend struct {
	addr   string
	active atomic.Int64 // requests whose connection is still open
}

func startBackend(t *testing.T) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{addr: ln.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { time.Sleep(time.Second) })
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		b.active.Add(1)
		defer b.active.Add(-1)
		<-r.Context().Done() // ends when the gateway closes its connection
	})
	mux.HandleFunc("/half", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "the beginning")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/reset", func(w http.ResponseWriter, r *http.Request) {
		c, _, _ := w.(http.Hijacker).Hijack()
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	})
	mux.HandleFunc("/upgrade", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no such socket", 404) })
	mux.HandleFunc("/socket", func(w http.ResponseWriter, r *http.Request) { // says nothing, and doesn't mind a client that left
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		t.Cleanup(func() { c.Close() })
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) {
		for range 1 << 14 {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	s := &http.Server{Handler: mux}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	return b
}

func connConf(b *backend, limit int) string {
	return fmt.Sprintf(`
error_log logs/error.log info;
events {}
http {
	log_format st '$request_uri $status $limit_conn_status';
	access_log logs/access.log st;
	limit_conn_zone $binary_remote_addr zone=c:1m;
	limit_conn_status 429;
	server {
		listen 127.0.0.1:@8080@;
		location / {
			limit_conn c %d;
			proxy_pass http://%s;
			proxy_http_version 1.1;
			proxy_set_header Upgrade $http_upgrade;
			proxy_set_header Connection "upgrade";
		}
		location /hang { limit_conn c %d; proxy_pass http://%s; }
		location /dead { limit_conn c %d; proxy_pass http://127.0.0.1:1; }
	}
}`, limit, b.addr, limit, b.addr, limit)
}

// dial opens a connection and sends raw bytes.
func dial(t *testing.T, addr, raw string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// Five long polls hold all five places; all are reset; a sixth passes within 100 ms and the upstream connections are gone.
func TestLongPollsThatAreResetFreeTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name  string
		leave func(net.Conn)
	}{{"reset", reset}, {"closed", func(c net.Conn) { c.Close() }}} {
		t.Run(how.name, func(t *testing.T) {
			b := startBackend(t)
			g := gatewaytest.Start(t, gatewaytest.Limitgate(t), connConf(b, 5))
			polls := make([]net.Conn, 5)
			for i := range polls {
				polls[i] = dial(t, g.Addr(8080), "GET /hang HTTP/1.1\r\nHost: h\r\n\r\n")
			}
			gatewaytest.Eventually(t, 2*time.Second, "five polls at the backend", func() bool { return b.active.Load() == 5 })
			if a := get(g.URL(8080, "/ok")); a.status != 429 {
				t.Fatalf("a sixth beside five polls: got %d, want 429", a.status)
			}
			for _, c := range polls {
				how.leave(c)
			}
			left := time.Now()
			for get(g.URL(8080, "/ok")).status != 200 {
				if time.Since(left) > 100*time.Millisecond {
					t.Fatal("100 ms after five polls left, a sixth is still refused")
				}
			}
			gatewaytest.Eventually(t, time.Second, "upstream connections closed", func() bool { return b.active.Load() == 0 })
			gatewaytest.Eventually(t, time.Second, "499 in the log five times", func() bool {
				return strings.Count(g.Read("logs/access.log"), "/hang 499 PASSED\n") == 5
			})
		})
	}
}

// An upgraded connection holds its place as long as it lives, and no longer: however the client ends it, the place is free
// within 100 ms, though the backend keeps its side open.
func TestAnUpgradedConnectionHoldsItsPlace(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), connConf(b, 1))
	for _, how := range []struct {
		name  string
		leave func(net.Conn)
	}{{"reset", reset}, {"close", func(c net.Conn) { c.Close() }}, {"half a close", func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() }}} {
		c := dial(t, g.Addr(8080), "GET /socket HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		if !strings.HasPrefix(line, "HTTP/1.1 101 ") {
			t.Fatalf("got %q, want 101", line)
		}
		if a := get(g.URL(8080, "/ok")); a.status != 429 {
			t.Errorf("beside an upgraded connection: got %d, want 429", a.status)
		}
		how.leave(c)
		freed(t, g, how.name)
	}
}

// After every kind of exit the place is free: with limit 1, the next request passes.
func TestEveryExitFreesItsPlace(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), connConf(b, 1))
	ask := func(raw string) string {
		c := dial(t, g.Addr(8080), raw)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		line, _ := bufio.NewReader(c).ReadString('\n')
		c.Close()
		return strings.TrimSpace(line)
	}
	for _, c := range []struct{ name, raw, want string }{
		{"a plain answer", "GET /ok HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK"},
		{"upstream refuses the connection", "GET /dead HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 502 Bad Gateway"},
		{"upstream resets", "GET /reset HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 502 Bad Gateway"},
		{"upstream ends in the middle", "GET /half HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK"},
		{"refused upgrade", "GET /upgrade HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.1 404 Not Found"},
	} {
		for range 20 {
			if got := ask(c.raw); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			freed(t, g, c.name) // the gateway may still be at the end of what the client has given up on
		}
	}
	// Exits that the client makes.
	for _, c := range []struct{ name, raw string }{
		{"abort while the answer streams", "GET /big HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"abort in the middle of the request body", "POST /ok HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nhalf"},
		{"abort in the middle of a chunk", "POST /ok HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf"},
	} {
		for range 5 {
			conn := dial(t, g.Addr(8080), c.raw)
			time.Sleep(20 * time.Millisecond)
			reset(conn)
			freed(t, g, c.name)
		}
	}
	if n := strings.Count(g.ErrorLog(), "[alert]"); n > 0 {
		t.Errorf("%d alerts in normal work:\n%s", n, g.ErrorLog())
	}
}

// freed fails unless the one place is free within 100 ms.
func freed(t *testing.T, g *gatewaytest.Gateway, after string) {
	t.Helper()
	for start := time.Now(); ; {
		a := get(g.URL(8080, "/ok"))
		if a.status == 200 {
			return
		}
		if time.Since(start) > 100*time.Millisecond {
			t.Errorf("100 ms after %s the place is still held: got %d", after, a.status)
			return
		}
	}
}

// Upstream timeouts give 504 and their places back (a limiter that forgot them once blocked everybody).
func TestUpstreamTimeoutsFreeTheirPlaces(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	conf := strings.Replace(connConf(b, 2), "location /hang { ", "location /hang { proxy_read_timeout 300ms; ", 1)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	for range 3 {
		answers := atOnce(t, g.Addr(8080), "/hang", 5)
		if timeouts, refused := count(answers, 504), count(answers, 429); timeouts != 2 || refused != 3 {
			t.Errorf("five at once at limit 2 with a hanging backend: got %d of 504 and %d of 429, want 2 and 3", timeouts, refused)
		}
		freed(t, g, "five timeouts")
	}
	if want := "upstream timed out (110: Connection timed out) while reading response header from upstream"; !strings.Contains(g.ErrorLog(), want) {
		t.Errorf("error log lacks %q:\n%s", want, g.ErrorLog())
	}
}

// A client that leaves while limit_req delays it is noticed: 499 at once, and its request never reaches the backend.
func TestLeavingWhileDelayed(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`
error_log logs/error.log info;
events {}
http {
	log_format st '$request_uri $status $limit_req_status $request_time';
	access_log logs/access.log st;
	limit_req_zone $binary_remote_addr zone=r:1m rate=1r/s;
	server {
		listen 127.0.0.1:@8080@;
		location / { limit_req zone=r burst=5; proxy_pass http://%s; }
	}
}`, b.addr))
	if a := get(g.URL(8080, "/ok")); a.status != 200 {
		t.Fatalf("got %+v", a)
	}
	c := dial(t, g.Addr(8080), "GET /ok?delayed HTTP/1.1\r\nHost: h\r\n\r\n")
	gatewaytest.Eventually(t, time.Second, "the delay in the error log", func() bool { return strings.Contains(g.ErrorLog(), "delaying request, excess: ") })
	left := time.Now()
	c.Close()
	gatewaytest.Eventually(t, time.Second, "499 logged", func() bool { return strings.Contains(g.Read("logs/access.log"), "/ok?delayed 499 DELAYED") })
	if d := time.Since(left); d > 100*time.Millisecond {
		t.Errorf("noticed after %v, want within 100ms", d)
	}
	// It keeps its charge, as in nginx: the next one waits behind it.
	if a := get(g.URL(8080, "/ok")); a.status != 200 || a.took < 1200*time.Millisecond {
		t.Errorf("the next request: got %d after %v, want 200 after nearly 2 s", a.status, a.took)
	}
}

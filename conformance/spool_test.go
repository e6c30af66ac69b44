package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// narrow is a connection whose receiving end holds next to nothing, so that who does not read is felt at once.
func narrow(t *testing.T, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// timed is a backend that sends size bytes and tells how long that took.
func timed(t *testing.T, size int) (addr string, took chan time.Duration, conns *atomic.Int64) {
	took, conns = make(chan time.Duration, 64), new(atomic.Int64)
	body := strings.Repeat("0123456789abcdef", size/16)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if r.URL.Path == "/asks" {
			w.Header().Set("X-Accel-Buffering", "no")
		}
		_, err := io.WriteString(w, body)
		if err == nil {
			took <- time.Since(begin)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), took, conns
}

// With buffering the upstream has sent all of its answer long before a second is over (58 ms on a quiet machine), and serves others on the same connection, though the
// client has read nothing. Without it the upstream waits.
func TestUpstreamIsFreeThoughTheClientIsSlow(t *testing.T) {
	const size = 12 << 20 // more than the sockets between the two hold
	addr, took, conns := timed(t, size)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), `error_log logs/error.log warn; events {}
		http { access_log off; upstream u { server `+addr+`; keepalive 4; }
		server { listen 127.0.0.1:@8080@ sndbuf=8k; proxy_http_version 1.1; proxy_set_header Connection "";
			location / { proxy_pass http://u; } location /off { proxy_pass http://u; proxy_buffering off; } location /asks { proxy_pass http://u; } } }`)
	best := time.Hour
	var last net.Conn
	for range 8 { // the machine may be busy with other things
		last = narrow(t, g.Addr(8080))
		_, _ = io.WriteString(last, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		select {
		case d := <-took:
			best = min(best, d)
		case <-time.After(10 * time.Second):
			t.Fatal("the upstream waits for the client")
		}
		if best < time.Second {
			break
		}
	}
	if best > time.Second {
		t.Errorf("the upstream was busy for %v, want less than a second", best)
	}
	t.Logf("the upstream was busy for %v with %d MB", best, size>>20)
	if n := conns.Load(); n != 1 {
		t.Errorf("got %d connections to the upstream, want that one is used again", n)
	}
	resp, err := http.ReadResponse(bufio.NewReader(last), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Errorf("the client got %d bytes and %v, want %d", n, err, size)
	}
	for _, path := range []string{"/off", "/asks"} {
		c := narrow(t, g.Addr(8080))
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\n\r\n")
		select {
		case d := <-took:
			t.Errorf("%s: the upstream was free after %v, want that it waits for the client", path, d)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// What both gateways say of an answer that goes to a file.
func TestSpooledSideBySide(t *testing.T) {
	t.Parallel()
	addr, _, _ := timed(t, 12<<20)
	name := regexp.MustCompile(`proxy_temp/\d/\d\d/\d{10}`)
	run := func(b gatewaytest.Binary) []string {
		g := gatewaytest.Start(t, b, `error_log logs/error.log info; events {}
			http { access_log logs/access.log; log_format p '$status $body_bytes_sent $request_completion $upstream_status $upstream_response_length';
			access_log logs/p.log p; proxy_temp_path proxy_temp 1 2; client_body_temp_path b;
			server { listen 127.0.0.1:@8080@ sndbuf=8k; send_timeout 500ms; location / { proxy_pass http://`+addr+`; } location /none { proxy_max_temp_file_size 0; proxy_pass http://`+addr+`/; } } }`)
		for _, path := range []string{"/a", "/none"} {
			c := narrow(t, g.Addr(8080))
			_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
			time.Sleep(200 * time.Millisecond)
			n, _ := io.Copy(io.Discard, c)
			if n < 12<<20 {
				t.Errorf("%s: %s: got %d bytes", b.Name, path, n)
			}
		}
		// One that never reads is given up after send_timeout.
		c := narrow(t, g.Addr(8080))
		_, _ = io.WriteString(c, "GET /b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		gatewaytest.Eventually(t, 10*time.Second, b.Name+" gives up a client that reads nothing", func() bool {
			return strings.Contains(g.ErrorLog(), "client timed out")
		})
		var out []string
		for _, l := range lines(g.ErrorLog()) {
			if strings.Contains(l, "/b ") && strings.Contains(l, "timed out") || strings.Contains(l, "buffered to") && !strings.Contains(l, "/b ") {
				out = append(out, name.ReplaceAllString(l, "FILE"))
			}
		}
		if len(out) == 0 {
			t.Log(g.ErrorLog())
		}
		return append(out, lines(g.Read("logs/p.log"))[:2]...)
	}
	want, got := run(gatewaytest.Nginx(t)), run(gatewaytest.Limitgate(t))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

package upstream

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/grpctest"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

// listenTLS starts a backend behind TLS. It notes whether sessions were taken up again, and the names that were asked for.
func listenTLS(t testing.TB, root *gatewaytest.Authority, serve func(c net.Conn, n int)) (*backend, *seenTLS) {
	t.Helper()
	config := &tls.Config{Certificates: []tls.Certificate{*root.Issue("backend.x", nil)}, NextProtos: []string{"h2", "http/1.1"}}
	seen := &seenTLS{}
	b := listen(t, func(c net.Conn, n int) {
		s := tls.Server(c, config)
		if s.Handshake() != nil {
			return
		}
		seen.conns.Add(1)
		if s.ConnectionState().DidResume {
			seen.resumed.Add(1)
		}
		seen.alpn.Store(s.ConnectionState().NegotiatedProtocol)
		serve(s, n)
		_ = s.CloseWrite()
	})
	return b, seen
}

type seenTLS struct {
	conns, resumed atomic.Int32
	alpn           atomic.Value // string
}

// rootFile writes the certificate of an authority and returns its path.
func rootFile(t testing.TB, root *gatewaytest.Authority) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "root.crt")
	if err := os.WriteFile(path, []byte(root.PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A kept connection carries requests with the same name and the same settings, and no others.
func TestKeptConnectionsOfOneIdentity(t *testing.T) {
	root := gatewaytest.NewAuthority(t, "root")
	b, seen := listenTLS(t, root, replies(ok))
	location := func(path, more string) string {
		return " location " + path + " { proxy_pass https://u; proxy_http_version 1.1; proxy_set_header Connection ''; " + more + " }"
	}
	verify := "proxy_ssl_verify on; proxy_ssl_trusted_certificate " + rootFile(t, root) + ";"
	g := open(t, "upstream u { server "+b.addr+"; keepalive 9; } server {"+location("/a", "")+location("/same", "")+location("/name", "proxy_ssl_name other.x;")+
		location("/var", "proxy_ssl_name $arg_n;")+location("/verify", verify+"proxy_ssl_name backend.x;")+location("/refused", verify+"proxy_ssl_name other.x;")+"}",
		"/a", "/same", "/name", "/var", "/verify", "/refused")
	want := int32(0)
	for _, c := range []struct {
		at, target string
		conns      int32 // new ones
		status     int
	}{
		{"/a", "/", 1, 200}, {"/a", "/", 0, 200}, {"/same", "/", 0, 200}, {"/name", "/", 1, 200}, {"/name", "/", 0, 200},
		{"/var", "/?n=one", 1, 200}, {"/var", "/?n=two", 1, 200}, {"/var", "/?n=one", 0, 200}, {"/var", "/?n=other.x:443", 0, 200},
		{"/verify", "/", 1, 200}, {"/refused", "/", 1, 502}, {"/verify", "/", 0, 200}, {"/refused", "/", 1, 502},
	} {
		r := phasetest.Request(t, "GET "+c.target+" HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
		g.serve[c.at].Serve(r)
		want += c.conns
		eventually(t, func() bool { return seen.conns.Load() >= want })
		if got := seen.conns.Load(); r.Response.Status != c.status || got != want {
			t.Errorf("%s %s: got %d over %d connections, want %d over %d; log %s", c.at, c.target, r.Response.Status, got, c.status, want, g.log.Text())
		}
	}
}

// Sessions are taken up again with the same address, name and settings.
func TestSessionsWithUpstreams(t *testing.T) {
	root := gatewaytest.NewAuthority(t, "root")
	b, seen := listenTLS(t, root, once(ok))
	location := func(path, more string) string {
		return " location " + path + " { proxy_pass https://" + b.addr + "; " + more + " }"
	}
	verify := "proxy_ssl_name backend.x; proxy_ssl_verify on; proxy_ssl_trusted_certificate " + rootFile(t, root) + ";"
	g := open(t, "server {"+location("/a", "")+location("/name", "proxy_ssl_name other.x;")+location("/verify", verify)+location("/off", "proxy_ssl_session_reuse off;")+"}",
		"/a", "/name", "/verify", "/off")
	want := int32(0)
	for _, c := range []struct {
		at      string
		resumed int32
	}{{"/a", 0}, {"/a", 1}, {"/name", 0}, {"/verify", 0}, {"/verify", 1}, {"/off", 0}, {"/off", 0}, {"/a", 1}} {
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
		g.serve[c.at].Serve(r)
		want += c.resumed
		if got := seen.resumed.Load(); r.Response.Status != 200 || got != want {
			t.Errorf("%s: got %d and %d sessions taken up, want %d; log %s", c.at, r.Response.Status, got, want, g.log.Text())
		}
	}
}

// A client that leaves while hands are shaken ends that, and so does proxy_connect_timeout.
func TestShakingHandsEnds(t *testing.T) {
	ended := make(chan bool, 2)
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = io.Copy(io.Discard, c)
		ended <- true
	})
	g := open(t, "server { location /leave { proxy_pass https://"+b.addr+"; } location /slow { proxy_pass https://"+b.addr+"; proxy_connect_timeout 50ms; } }", "/leave", "/slow")
	client := &phasetest.Client{}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
	time.AfterFunc(20*time.Millisecond, client.Leave)
	begin := time.Now()
	if next := g.serve["/leave"].Serve(r); next != phase.Done || r.Response.Status != 499 || time.Since(begin) > 5*time.Second {
		t.Errorf("a client that left: got %v %d after %v", next, r.Response.Status, time.Since(begin))
	}
	<-ended
	r = phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
	if next := g.serve["/slow"].Serve(r); next != phase.Fail || r.Response.Status != 504 {
		t.Errorf("a peer that is silent: got %v %d", next, r.Response.Status)
	}
	<-ended
	if want := "error: upstream timed out (110: Connection timed out) while SSL handshaking to upstream\n"; !strings.HasSuffix(g.log.Messages(), want) {
		t.Errorf("log: got %q", g.log.Messages())
	}
}

// A body goes through as long as the peer takes some of it in time, and no longer.
func TestBodiesOverTLS(t *testing.T) {
	root := gatewaytest.NewAuthority(t, "root")
	const size = 8 << 20
	slow, _ := listenTLS(t, root, func(c net.Conn, _ int) {
		total := 0
		for b := make([]byte, 256<<10); total < size; {
			n, err := c.Read(b)
			total += n
			if err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		_, _ = io.WriteString(c, ok)
	})
	over := make(chan bool)
	defer close(over)
	hang, _ := listenTLS(t, root, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		<-over
	})
	more := "proxy_request_buffering off; proxy_send_timeout 300ms;"
	g := open(t, "server { location /slow { proxy_pass https://"+slow.addr+"; "+more+" } location /hang { proxy_pass https://"+hang.addr+"; "+more+" } }", "/slow", "/hang")
	for at, want := range map[string]int{"/slow": 200, "/hang": 504} {
		client := &phasetest.Client{}
		for range size >> 16 {
			client.First = append(client.First, make([]byte, 64<<10))
		}
		r := phasetest.Request(t, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8388608\r\n\r\n", client, g.log)
		if g.serve[at].Serve(r); r.Response.Status != want {
			t.Errorf("%s: got %d, want %d; log %s", at, r.Response.Status, want, g.log.Text())
		}
	}
}

// What a peer says unasked on a kept connection is nobody's answer, over TLS too.
func TestStrayBytesOverTLS(t *testing.T) {
	root := gatewaytest.NewAuthority(t, "root")
	b, seen := listenTLS(t, root, func(c net.Conn, n int) {
		for {
			if _, err := readRequest(c); err != nil {
				return
			}
			answer := ok
			if n == 0 {
				answer += "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"
			}
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
	g := open(t, strings.Replace(kept(b.addr), "http://", "https://", 1), "/")
	for i := range 3 {
		time.Sleep(time.Duration(i) * 15 * time.Millisecond) // trusted, and looked at
		r, client, _ := g.get(t, "/")
		if got := client.Body(); r.Response.Status != 200 || got != "ok" {
			t.Errorf("request %d: got %d and %q", i, r.Response.Status, got)
		}
	}
	if got := seen.conns.Load(); got != 2 {
		t.Errorf("got %d connections, want 2", got)
	}
}

// Calls go over TLS, to who speaks HTTP/2 there, and are kept apart from those in clear text.
func TestCallsOverTLS(t *testing.T) {
	root := gatewaytest.NewAuthority(t, "root")
	s := grpctest.Serve(t)
	b, seen := listenTLS(t, root, func(c net.Conn, _ int) {
		far, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return
		}
		defer far.Close()
		// Owned by the connection: ends when one of its sides does.
		go func() {
			_, _ = io.Copy(far, c)
			_ = far.Close()
		}()
		_, _ = io.Copy(c, far)
	})
	verify := "grpc_ssl_verify on; grpc_ssl_trusted_certificate " + rootFile(t, root) + ";"
	for _, k := range []struct {
		text, want, log string
	}{
		{"upstream u { server " + b.addr + "; keepalive 4; } " + calling("grpcs://u", "grpc_ssl_name backend.x;", verify), "0", ""},
		{calling("grpcs://"+b.addr, "grpc_ssl_name other.x;", verify), "", "error: upstream SSL certificate does not match \"other.x\" while SSL handshaking to upstream\n"},
	} {
		c := caller{open(t, k.text, "/"), t}
		for range 3 {
			c.g.log = &phasetest.Log{}
			body := message(strings.Repeat("long", 50_000))
			r, client, _ := c.call(grpctest.Unary, "", body)
			if got := trailer(r, "grpc-status"); got != k.want || c.g.log.Messages() != k.log || k.want == "0" && client.Body() != string(body) {
				t.Errorf("%s: got grpc-status %q, %d bytes, log %q", k.text, got, len(client.Body()), c.g.log.Messages())
			}
		}
	}
	eventually(t, func() bool { return seen.conns.Load() >= 4 })
	if got, alpn := seen.conns.Load(), seen.alpn.Load(); got != 4 || alpn != "h2" {
		t.Errorf("got %d connections that spoke %v, want 1 that was kept and 3 that were refused, of h2", got, alpn)
	}
}

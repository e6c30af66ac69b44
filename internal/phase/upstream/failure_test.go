package upstream

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestConnectFails(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "none")
	g := open(t, simple("http://unix:"+sock+":/u/"), "/")
	r, _, next := g.get(t, "/q")
	if want := "crit: connect() to unix:" + sock + " failed (2: No such file or directory) while connecting to upstream\n"; g.log.Messages() != want {
		t.Errorf("log: got %q, want %q", g.log.Messages(), want)
	}
	if !strings.Contains(g.log.Text(), `, upstream: "http://unix:`+sock+`:/u/q"`) {
		t.Errorf("log: got %s, want the upstream's URL in it", g.log.Text())
	}
	if next != phase.Fail || r.Response.Status != 502 || string(r.ProxyHost) != "localhost" || len(r.ProxyPort) != 0 {
		t.Errorf("got %v %d %q %q", next, r.Response.Status, r.ProxyHost, r.ProxyPort)
	}
	if a := r.Attempts[0]; a.Connect != -1 || a.Header != -1 || a.Sent != 0 || a.Status != 502 {
		t.Errorf("attempt: %+v", a)
	}
}

func TestEveryPeerFailsThenNoneIsAlive(t *testing.T) {
	a, b := closedPort(t), closedPort(t)
	g := open(t, "upstream dead { server "+a+"; server "+b+"; }"+simple("http://dead"), "/")
	r, _, _ := g.get(t, "/x")
	var want strings.Builder
	for range 2 {
		want.WriteString("error: connect() failed (111: Connection refused) while connecting to upstream\n" +
			"warn: upstream server temporarily disabled while connecting to upstream\n")
	}
	if got := g.log.Messages(); got != want.String() {
		t.Errorf("log: got %q, want %q", got, want.String())
	}
	if len(r.Attempts) != 2 || string(r.Attempts[0].Addr) != a || string(r.Attempts[1].Addr) != b {
		t.Errorf("attempts: %+v", r.Attempts)
	}
	r, _, next := g.get(t, "/x")
	want.WriteString("error: no live upstreams while connecting to upstream\n")
	if got := g.log.Messages(); got != want.String() {
		t.Errorf("log: got %q, want %q", got, want.String())
	}
	if next != phase.Fail || r.Response.Status != 502 || len(r.Attempts) != 1 || string(r.Attempts[0].Addr) != "dead" || r.Attempts[0].Status != 502 {
		t.Errorf("got %v %d %+v", next, r.Response.Status, r.Attempts)
	}
	if !strings.Contains(g.log.Text(), `upstream: "http://dead/x"`) {
		t.Errorf("log: got %s, want the group's name in the URL", g.log.Text())
	}
}

func TestNextPeer(t *testing.T) {
	hang := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	rude := listen(t, func(c net.Conn, _ int) { _, _ = readRequest(c) })
	bad := listen(t, once("HELLO\r\n\r\n"))
	good := listen(t, once(ok))
	for _, c := range []struct {
		name, first, method, body string
		want                      int // status
		attempts                  int
	}{
		{"refused", closedPort(t), "GET", "", 200, 2},
		{"refused, and the request may not be repeated", closedPort(t), "POST", "abc", 200, 2},
		{"timeout", hang.addr, "GET", "", 200, 2},
		{"timeout, and the request may not be repeated", hang.addr, "POST", "abc", 504, 1},
		{"closed", rude.addr, "GET", "", 200, 2},
		{"closed with a body", rude.addr, "PUT", "abc", 200, 2},
		{"closed, and the request may not be repeated", rude.addr, "PATCH", "abc", 502, 1},
		{"invalid answer", bad.addr, "GET", "", 502, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, fmt.Sprintf("upstream u { server %s; server %s; }", c.first, good.addr)+simple("http://u", "proxy_read_timeout 50ms;"), "/")
			client := &phasetest.Client{}
			head := c.method + " /x HTTP/1.1\r\nHost: h\r\n\r\n"
			if c.body != "" {
				client.First = [][]byte{[]byte(c.body)}
				head = c.method + " /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n"
			}
			r := phasetest.Request(t, head, client, g.log)
			g.serve["/"].Serve(r)
			if r.Response.Status != c.want || len(r.Attempts) != c.attempts {
				t.Errorf("got %d after %d attempts, want %d after %d; log %s", r.Response.Status, len(r.Attempts), c.want, c.attempts, g.log.Text())
			}
		})
	}
}

func TestTimeouts(t *testing.T) {
	hang := listen(t, func(c net.Conn, _ int) { _, _ = io.ReadAll(c) })
	stall := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		_, _ = io.ReadAll(c)
	})
	g := open(t, simple("http://"+hang.addr, "proxy_read_timeout 60ms;"), "/")
	start := time.Now()
	r, _, next := g.get(t, "/")
	if d := time.Since(start); d < 60*time.Millisecond || d > 200*time.Millisecond {
		t.Errorf("waited %v, want 60ms", d)
	}
	if next != phase.Fail || r.Response.Status != 504 || r.Attempts[0].Status != 504 {
		t.Errorf("got %v %d", next, r.Response.Status)
	}
	if got, want := g.log.Messages(), "error: upstream timed out (110: Connection timed out) while reading response header from upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
	g = open(t, simple("http://"+stall.addr, "proxy_read_timeout 60ms;"), "/")
	r, c, next := g.get(t, "/")
	if next != phase.Done || !r.Response.Silent || c.Body() != "abc" {
		t.Errorf("got %v, silent %v, body %q", next, r.Response.Silent, c.Body())
	}
	if got, want := g.log.Messages(), "error: upstream timed out (110: Connection timed out) while reading upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestConnectTimeout(t *testing.T) {
	// A full backlog drops further SYNs.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	full := fillBacklog(t, ln)
	if !full {
		t.Skip("the backlog can't be filled here")
	}
	g := open(t, simple("http://"+ln.Addr().String(), "proxy_connect_timeout 80ms;"), "/")
	r, _, _ := g.get(t, "/")
	if got, want := g.log.Messages(), "error: upstream timed out (110: Connection timed out) while connecting to upstream\n"; got != want || r.Response.Status != 504 {
		t.Errorf("got %d, log %q, want 504, %q", r.Response.Status, got, want)
	}
}

func TestReset(t *testing.T) {
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	g := open(t, simple("http://"+b.addr), "/")
	g.get(t, "/")
	if got, want := g.log.Messages(), "error: recv() failed (104: Connection reset by peer) while reading response header from upstream\n"; got != want {
		t.Errorf("log: got %q, want %q", got, want)
	}
}

func TestClientLeaves(t *testing.T) {
	closed := make(chan time.Time, 1)
	part := ""
	b := listen(t, func(c net.Conn, _ int) {
		_, _ = readRequest(c)
		_, _ = io.WriteString(c, part)
		_, _ = c.Read(make([]byte, 1))
		closed <- time.Now()
	})
	for _, c := range []struct {
		name, part string
		status     int
		log        string
	}{
		{"before the answer", "", 499, "sending request to upstream"},
		{"within the head", "HTTP/1.1 200 OK\r\nConte", 499, "reading response header from upstream"},
		{"within the body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", 200, "reading upstream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			part = c.part
			g := open(t, simple("http://"+b.addr), "/")
			client := &phasetest.Client{}
			r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
			left := time.Now().Add(50 * time.Millisecond)
			time.AfterFunc(50*time.Millisecond, client.Leave)
			if got := g.serve["/"].Serve(r); got != phase.Done || !r.Response.Silent || r.Response.Status != c.status {
				t.Errorf("got %v, silent %v, status %d; want Done, silent, %d", got, r.Response.Silent, r.Response.Status, c.status)
			}
			if d := (<-closed).Sub(left); d > 100*time.Millisecond {
				t.Errorf("the upstream connection was closed after %v, want at most 100ms", d)
			}
			want := "info: epoll_wait() reported that client prematurely closed connection, so upstream connection is closed too while " + c.log + "\n"
			if got := g.log.Messages(); got != want {
				t.Errorf("log: got %q, want %q", got, want)
			}
		})
	}
	t.Run("before it began", func(t *testing.T) {
		g := open(t, simple("http://"+b.addr), "/")
		client := &phasetest.Client{}
		client.Leave()
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
		if g.serve["/"].Serve(r); r.Response.Status != 499 {
			t.Errorf("got %d, want 499", r.Response.Status)
		}
	})
	t.Run("while connecting", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		if !fillBacklog(t, ln) {
			t.Skip("the backlog can't be filled here")
		}
		g := open(t, simple("http://"+ln.Addr().String()), "/")
		client := &phasetest.Client{}
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
		time.AfterFunc(50*time.Millisecond, client.Leave)
		start := time.Now()
		g.serve["/"].Serve(r)
		if d := time.Since(start); r.Response.Status != 499 || d > 150*time.Millisecond {
			t.Errorf("got %d after %v, want 499 after 50ms; log %s", r.Response.Status, d, g.log.Text())
		}
	})
}

func TestVariablesThatLeadNowhere(t *testing.T) {
	for _, c := range []struct {
		host   string
		status int
		log    string
	}{
		{"nonesuch.x", 502, "error: no resolver defined to resolve nonesuch.x\n"},
		{"x:99999", 500, "error: invalid port in upstream \"x:99999\"\n"},
	} {
		t.Run(c.host, func(t *testing.T) {
			g := open(t, "map $http_x $wanted { default "+c.host+"; }"+simple("http://$wanted"), "/")
			r, _, next := g.get(t, "/")
			if next != phase.Fail || r.Response.Status != c.status || g.log.Messages() != c.log {
				t.Errorf("got %v %d %q, want %d %q", next, r.Response.Status, g.log.Messages(), c.status, c.log)
			}
		})
	}
}

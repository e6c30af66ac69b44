package upstream

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
)

// kept is a server that keeps connections to one backend.
func kept(addr string) string {
	return "upstream u { server " + addr + "; keepalive 4; }" +
		simple("http://u", `proxy_http_version 1.1; proxy_set_header Connection "";`)
}

func TestConnectionsAreKept(t *testing.T) {
	for _, c := range []struct {
		name, conf, answer string
		keeps              bool
	}{
		{"keepalive", "kept", ok, true},
		{"chunked", "kept", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", true},
		{"no keepalive", "plain", ok, false},
		{"the peer closes", "kept", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", false},
		{"HTTP/1.0", "kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", false},
		{"more than asked for", "kept", ok + "MORE", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var conns atomic.Int32
			b := listen(t, func(nc net.Conn, n int) {
				conns.Add(1)
				replies(c.answer)(nc, n)
			})
			text := kept(b.addr)
			if c.conf == "plain" {
				text = simple("http://"+b.addr, `proxy_http_version 1.1; proxy_set_header Connection "";`)
			}
			g := open(t, text, "/")
			for range 5 {
				if r, _, next := g.get(t, "/"); next != phase.Done || r.Response.Status != 200 {
					t.Fatalf("got %v %d, log %s", next, r.Response.Status, g.log.Text())
				}
			}
			want := int32(5)
			if c.keeps {
				want = 1
			}
			if got := conns.Load(); got != want {
				t.Errorf("got %d connections, want %d", got, want)
			}
		})
	}
}

// A connection that the backend closed while it was idle is not used, and no client learns of it.
func TestClosedKeptConnection(t *testing.T) {
	for _, c := range []struct {
		name   string
		pause  time.Duration
		method string
	}{
		{"noticed by a look", 40 * time.Millisecond, "GET"},
		{"noticed by a look before what may not be repeated", 5 * time.Millisecond, "POST"},
		{"noticed by its death", 0, "GET"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := listen(t, once(ok))
			g := open(t, kept(b.addr), "/")
			for range 20 {
				r := phasetest.Request(t, c.method+" / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
				if g.serve["/"].Serve(r); r.Response.Status != 200 || len(r.Attempts) != 1 {
					t.Fatalf("got %d after %d attempts, log %s", r.Response.Status, len(r.Attempts), g.log.Text())
				}
				time.Sleep(c.pause)
			}
			if g.log.Text() != "" {
				t.Errorf("log: got %s, want nothing", g.log.Text())
			}
		})
	}
}

// What a peer sends behind an answer is not the next client's, however soon that one comes. (docs/differences.md has the
// case that is left: a whole answer, alone, behind one that came in one piece.)
func TestNobodyGetsWhatCameUnasked(t *testing.T) {
	for _, c := range []struct{ name, method, first, stray string }{
		{"the end of a body", "GET", ok, "EVIL"},
		{"behind pieces", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("x", 20000), "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nEVIL"},
		{"the body of a HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nEVIL"},
		{"the body of a 304", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nEVIL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			turn := make(chan bool)
			b := listen(t, func(nc net.Conn, n int) {
				for first := n == 0; ; first = false {
					if _, err := readRequest(nc); err != nil {
						return
					}
					if !first {
						_, _ = io.WriteString(nc, ok)
						continue
					}
					_, _ = io.WriteString(nc, c.first)
					<-turn
					_, _ = io.WriteString(nc, c.stray)
					turn <- true
				}
			})
			g := open(t, kept(b.addr), "/")
			r := phasetest.Request(t, c.method+" / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
			g.serve["/"].Serve(r)
			turn <- true
			<-turn
			client := &phasetest.Client{}
			r = phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
			g.serve["/"].Serve(r)
			if got := client.Body(); r.Response.Status != 200 || got != "ok" || strings.Contains(got, "EVIL") {
				t.Errorf("got %d and %q, want an answer of its own; log %s", r.Response.Status, got, g.log.Text())
			}
		})
	}
}

// A peer that takes the request and dies without a word is asked once more, not for ever.
func TestKeptConnectionDiesTwice(t *testing.T) {
	var conns atomic.Int32
	b := listen(t, func(c net.Conn, n int) {
		conns.Add(1)
		if _, err := readRequest(c); err == nil && n == 0 {
			_, _ = io.WriteString(c, ok)
			_, _ = readRequest(c)
		}
	})
	g := open(t, kept(b.addr), "/")
	g.get(t, "/")
	r, _, next := g.get(t, "/")
	if next != phase.Fail || r.Response.Status != 502 || conns.Load() != 2 {
		t.Errorf("got %v %d with %d connections, want 502 with 2", next, r.Response.Status, conns.Load())
	}
}

func TestIdleIsBoundedAndEnds(t *testing.T) {
	now := limitgate.Time(0)
	k := &idle{max: 2, timeout: time.Hour, requests: 10, age: time.Minute, now: func() limitgate.Time { return now }}
	p, other := &peer{unix: "a"}, &peer{unix: "b"}
	make1 := func(p *peer) (*conn, net.Conn) {
		a, b := net.Pipe()
		return &conn{nc: pipe{a}, peer: p, opened: now, used: 1}, b
	}
	isClosed := func(far net.Conn) bool {
		_ = far.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := far.Read(make([]byte, 1))
		return err == io.EOF
	}
	a, farA := make1(p)
	b, farB := make1(other)
	c, farC := make1(p)
	k.put(a, now)
	k.put(b, now)
	k.put(c, now)
	if !isClosed(farA) || isClosed(farB) || isClosed(farC) {
		t.Error("a full cache must close the connection that has been idle longest")
	}
	if got := k.take(p, false, ""); got != c {
		t.Errorf("take: got %p, want the one put last for this peer, %p", got, c)
	}
	if got := k.take(p, false, ""); got != nil {
		t.Errorf("take: got %p, want none", got)
	}
	c.used = 10
	k.put(c, now)
	if !isClosed(farC) {
		t.Error("a connection that served its number of requests must be closed")
	}
	d, farD := make1(p)
	k.put(d, now+limitgate.Time(2*time.Minute))
	if !isClosed(farD) {
		t.Error("a connection past its age must be closed")
	}
	now += limitgate.Time(time.Hour)
	k.expire()
	if !isClosed(farB) || len(k.conns) != 0 {
		t.Error("a connection idle for too long must be closed")
	}
	k.close()
	e, farE := make1(p)
	k.put(e, now)
	if !isClosed(farE) {
		t.Error("a closed cache must keep nothing")
	}
}

// pipe makes a net.Pipe end a socket.
type pipe struct{ net.Conn }

func (p pipe) CloseWrite() error { return p.Close() }

func TestCloseOfTheSet(t *testing.T) {
	eof := make(chan bool, 1)
	b := listen(t, func(c net.Conn, _ int) {
		replies(ok)(c, 0)
		eof <- true
	})
	g := open(t, kept(b.addr), "/")
	g.get(t, "/")
	g.set.Close()
	select {
	case <-eof:
	case <-time.After(time.Second):
		t.Error("an idle connection outlived its set")
	}
}

func TestManyAtOnce(t *testing.T) {
	b := listen(t, replies(ok))
	g := open(t, kept(b.addr), "/")
	var wg sync.WaitGroup
	var good atomic.Int32
	for range 8 {
		// Owned by the test: ends after its requests.
		wg.Go(func() {
			for range 100 {
				c := &phasetest.Client{}
				r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", c, g.log)
				if g.serve["/"].Serve(r); r.Response.Status == 200 && c.Body() == "ok" {
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if good.Load() != 800 {
		t.Errorf("got %d good answers, want 800; log %s", good.Load(), g.log.Text())
	}
}

// A proxied request on a kept connection allocates nothing.
func TestKeptRequestAllocatesNothing(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	answer := []byte(ok)
	b := listen(t, func(c net.Conn, _ int) {
		p := make([]byte, 4096)
		for {
			n, err := c.Read(p)
			if err != nil {
				return
			}
			if bytes.HasSuffix(p[:n], []byte("\r\n\r\n")) {
				_, _ = c.Write(answer)
			}
		}
	})
	g := open(t, strings.Replace(kept(b.addr), "proxy_pass", "proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr; proxy_pass", 1), "/")
	raw := "GET /x?y HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nAccept: */*\r\n\r\n"
	c := &phasetest.Client{}
	r := phasetest.Request(t, raw, c, nil)
	first := *r
	h := g.serve["/"]
	serve := func() {
		c.Recycle()
		r.Reset()
		r.Line, r.Method, r.Target, r.URI, r.Args, r.Host = first.Line, first.Method, first.Target, first.URI, first.Args, first.Host
		r.Headers, r.ClientAddr, r.Settings, r.Minor, r.Major = first.Headers, first.ClientAddr, first.Settings, 1, 1
		if h.Serve(r); r.Response.Status != 200 {
			t.Fatalf("got %d, want 200", r.Response.Status)
		}
	}
	for range 10 {
		serve()
	}
	runtime.GC()
	serve()
	if n := testing.AllocsPerRun(500, serve); n >= 1 {
		t.Errorf("got %v allocations a request, want 0", n)
	}
}

func BenchmarkKeptRequest(b *testing.B) {
	answer := []byte(ok)
	be := listen(b, func(c net.Conn, _ int) {
		p := make([]byte, 4096)
		for {
			if _, err := c.Read(p); err != nil {
				return
			}
			_, _ = c.Write(answer)
		}
	})
	g := open(b, kept(be.addr), "/")
	c := &phasetest.Client{}
	r := phasetest.Request(b, "GET /x?y HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nAccept: */*\r\n\r\n", c, nil)
	first := *r
	b.ReportAllocs()
	for b.Loop() {
		c.Recycle()
		r.Reset()
		r.Line, r.Method, r.Target, r.URI, r.Args, r.Host = first.Line, first.Method, first.Target, first.URI, first.Args, first.Host
		r.Headers, r.ClientAddr, r.Settings = first.Headers, first.ClientAddr, first.Settings
		g.serve["/"].Serve(r)
	}
}

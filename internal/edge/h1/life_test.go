package h1

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/request"
)

func TestShutdown(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s, srv, addr := open(t, wrap, nil)
		idle, active, fresh := dial(t, addr), dial(t, addr), dial(t, addr)
		idle.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
		idle.response()
		active.send("GET /sleep?300ms HTTP/1.1\r\nHost: h\r\n\r\n")
		eventually(t, time.Second, "three connections", func() bool { st := srv.Stats(); return st.Active == 3 && st.Writing == 1 })
		began := time.Now()
		if err := s.ln.Close(); err != nil {
			t.Error(err)
		}
		done := make(chan error, 1)
		go func() { done <- srv.Shutdown(t.Context()) }()
		idle.eof()
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("idle connection closed after %v, want at once", d)
		}
		time.Sleep(50 * time.Millisecond)
		fresh.send("GET /late HTTP/1.1\r\nHost: h\r\n\r\n") // came before the end, and is served
		for _, c := range []*client{fresh, active} {
			if head, _ := c.response(); !strings.Contains(head, "Connection: close\r\n") {
				t.Errorf("while draining: %s", head)
			}
			c.eof()
		}
		if err := <-done; err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestShutdownGivesUp(t *testing.T) {
	_, srv, addr := open(t, nil, nil)
	c := dial(t, addr)
	c.send("GET /sleep?10s HTTP/1.1\r\nHost: h\r\n\r\n")
	eventually(t, time.Second, "a request", func() bool { return srv.Stats().Writing == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := srv.Shutdown(ctx); err != context.DeadlineExceeded {
		t.Errorf("Shutdown: got %v, want %v", err, context.DeadlineExceeded)
	}
}

// Close ends whatever a connection is doing; the cleanup of open closes and counts.
func TestCloseCutsOff(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, srv, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				if string(r.URI) == "/endless" {
					r.Response.Status = 200
					_ = r.SendHead()
					for r.SendBody(make([]byte, 10000)) == nil {
					}
					return
				}
				demo(r)
			}
		})
		for _, send := range []string{"", "GET /sl", "GET /sleep?10s HTTP/1.1\r\nHost: h\r\n\r\n", "GET /endless HTTP/1.1\r\nHost: h\r\n\r\n",
			"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"} {
			dial(t, addr).send(send)
		}
		eventually(t, time.Second, "all states", func() bool { st := srv.Stats(); return st.Active == 6 && st.Writing == 3 })
		began := time.Now()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("Close took %v", d)
		}
		srv.watch, _ = openWatcher() // the cleanup closes again
	})
}

func TestLimit(t *testing.T) {
	s := newSite(demo)
	srv, addr := startWith(t, Config{Source: s, MaxConns: 2}, nil)
	const get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
	var cs []*client
	for range 3 {
		c := dial(t, addr)
		c.send(get)
		cs = append(cs, c)
	}
	cs[0].response()
	cs[1].response()
	time.Sleep(20 * time.Millisecond)
	if st := srv.Stats(); st.Active != 2 {
		t.Errorf("at the limit: %+v, want 2 active", st)
	}
	_ = cs[0].Close()
	cs[2].response()
	late := dial(t, addr)
	late.send(get)
	srv.SetLimit(3)
	late.response()
}

// pipeEnd is a peer for a tunnel.
type pipeEnd struct{ *net.TCPConn }

func (p pipeEnd) Interrupt() { _ = p.SetDeadline(longAgo()) }

func TestTunnel(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		back, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = back.Close() })
		go func() { // ends with back; echoes in upper case, and ends nothing by itself unless asked
			for {
				c, err := back.Accept()
				if err != nil {
					return
				}
				t.Cleanup(func() { _ = c.Close() })
				buf := make([]byte, 100)
				for {
					n, err := c.Read(buf)
					_, _ = io.WriteString(c, strings.ToUpper(string(buf[:n])))
					if err != nil {
						break
					}
					if string(buf[:n]) == "bye" {
						_ = c.Close()
					}
				}
			}
		}()
		ended := make(chan error, 1)
		_, srv, addr := open(t, wrap, func(s *site) {
			s.serve = func(r *request.Request) {
				up, err := net.Dial("tcp", back.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				r.Response.Status = 101
				r.AddHeader([]byte("Upgrade"), []byte("echo"))
				_ = r.SendHead()
				ended <- r.Stream.Tunnel(pipeEnd{up.(*net.TCPConn)})
			}
		})
		const upgrade = "GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
		c := dial(t, addr)
		c.send(upgrade + "first")
		wantHead(t, c.head(), "HTTP/1.1 101 Switching Protocols"[:len("HTTP/1.1 101 ")], "Server: limitgate/1.0", "Date: D", "Connection: upgrade", "Upgrade: echo")
		if got := c.take(5); got != "FIRST" {
			t.Errorf("got %q", got)
		}
		c.send("second")
		if got := c.take(6); got != "SECOND" {
			t.Errorf("got %q", got)
		}
		over := func(how string) error {
			t.Helper()
			select {
			case err := <-ended:
				eventually(t, time.Second, "the end", func() bool { return srv.Stats().Active == 0 })
				return err
			case <-time.After(time.Second):
				t.Fatalf("%s: the tunnel goes on", how)
				return nil
			}
		}
		// Either side ends it, whatever the other does: nobody holds a place for one who has gone.
		_ = c.Conn.(*net.TCPConn).CloseWrite()
		if err := over("the client says no more"); err != nil {
			t.Errorf("the client says no more: got %v, want nil", err)
		}
		c.eof()

		c = dial(t, addr)
		c.send(upgrade + "bye")
		c.head()
		if got := c.take(3); got != "BYE" {
			t.Errorf("got %q", got)
		}
		if err := over("the peer closes"); err != nil {
			t.Errorf("the peer closes: got %v, want nil", err)
		}
		c.eof()

		c = dial(t, addr)
		c.send(upgrade)
		c.head()
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		if err := over("the client breaks off"); err == nil {
			t.Error("the client breaks off: got nil, want why")
		}
	})
}

// Drain ends the connections of one listener and leaves the others alone.
func TestDrain(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, srv, first := open(t, wrap, nil)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(ln, 1) }() // ends with ln
		const get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
		stays, idle, active := dial(t, first), dial(t, ln.Addr().String()), dial(t, ln.Addr().String())
		for _, c := range []*client{stays, idle} {
			c.send(get)
			c.response()
		}
		active.send("GET /sleep?100ms HTTP/1.1\r\nHost: h\r\n\r\n")
		eventually(t, time.Second, "a request", func() bool { return srv.Stats().Writing == 1 })
		_ = ln.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		srv.Drain(1)
		idle.eof()
		if head, _ := active.response(); !strings.Contains(head, "Connection: close\r\n") {
			t.Errorf("of the drained listener: %s", head)
		}
		active.eof()
		stays.send(get)
		if head, _ := stays.response(); !strings.Contains(head, "Connection: keep-alive\r\n") {
			t.Errorf("of the other listener: %s", head)
		}
	})
}

// changing is a source whose program is replaced while it runs.
type changing struct {
	now  atomic.Pointer[site]
	held sync.Map // *site -> *atomic.Int64
}

func (c *changing) count(s *site) *atomic.Int64 {
	n, _ := c.held.LoadOrStore(s, new(atomic.Int64))
	return n.(*atomic.Int64)
}

func (c *changing) Acquire() edge.Program {
	s := c.now.Load()
	c.count(s).Add(1)
	return s
}

func (c *changing) Release(p edge.Program) { c.count(p.(*site)).Add(-1) }

// A kept connection goes on with the new program; a request under way keeps the one it began with.
func TestReload(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		enter, leave := make(chan bool), make(chan bool)
		before := newSite(func(r *request.Request) {
			if string(r.URI) == "/hold" {
				enter <- true
				<-leave
			}
			answerText(r, 200, "before")
		})
		after := newSite(func(r *request.Request) { answerText(r, 200, "after") })
		src := new(changing)
		src.now.Store(before)
		_, addr := startWith(t, Config{Source: src}, wrap)
		kept, held := dial(t, addr), dial(t, addr)
		kept.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		kept.response()
		held.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
		<-enter
		src.now.Store(after)
		eventually(t, time.Second, "the request under way alone holds the old program", func() bool { return src.count(before).Load() == 1 })
		leave <- true
		if _, body := held.response(); body != "before" {
			t.Errorf("under way: got %q", body)
		}
		for _, c := range []*client{kept, held} {
			c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			if _, body := c.response(); body != "after" {
				t.Errorf("after the reload: got %q", body)
			}
		}
		eventually(t, time.Second, "nothing holds a program", func() bool { return src.count(before).Load()+src.count(after).Load() == 0 })
	})
}

// A connection that was accepted when the server began to end is served, whoever is faster: none is cut off before it has sent a byte.
func TestShutdownServesWhatWasAccepted(t *testing.T) {
	for range 20 {
		s, srv, addr := open(t, nil, nil)
		clients := make([]*client, 8)
		for i := range clients {
			clients[i] = dial(t, addr)
			clients[i].send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
		}
		eventually(t, time.Second, "all accepted", func() bool {
			srv.mu.Lock()
			defer srv.mu.Unlock()
			return srv.open == len(clients)+1 // and the place of the next one
		})
		if err := s.ln.Close(); err != nil {
			t.Fatal(err)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range clients {
			if head, _ := c.response(); !strings.HasPrefix(head, "HTTP/1.1 200") {
				t.Fatalf("got %q", head)
			}
		}
	}
}

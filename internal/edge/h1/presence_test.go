package h1

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// ways a client leaves.
var leaving = map[string]func(c *client){
	"close": func(c *client) { _ = c.Close() },
	"half":  func(c *client) { _ = c.Conn.(*net.TCPConn).CloseWrite() },
	"reset": func(c *client) { _ = c.Conn.(*net.TCPConn).SetLinger(0); _ = c.Close() },
}

func TestClientLeavesWhileDelayed(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		for name, leave := range leaving {
			s := newSite(nil)
			woke := make(chan time.Time, 1)
			var stayed atomic.Bool
			s.serve = func(r *request.Request) {
				stayed.Store(r.Stream.Sleep(10 * time.Second))
				woke <- time.Now()
				r.Leave(499)
			}
			srv, addr := startWith(t, Config{Source: s}, wrap)
			c := dial(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			eventually(t, time.Second, "a request", func() bool { return srv.Stats().Writing == 1 })
			time.Sleep(30 * time.Millisecond)
			began := time.Now()
			leave(c)
			d := (<-woke).Sub(began)
			if stayed.Load() || d > 100*time.Millisecond {
				t.Errorf("%s: noticed after %v (stayed %v), want within 100ms", name, d, stayed.Load())
			}
			eventually(t, time.Second, "the end", func() bool { return srv.Stats().Active == 0 })
		}
	})
}

type canceler chan struct{}

func (c canceler) Cancel() { close(c) }

func TestClientLeavesWhileAwaited(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		for name, leave := range leaving {
			s := newSite(nil)
			noticed := make(chan time.Time, 1)
			s.serve = func(r *request.Request) {
				gone := make(canceler)
				if !r.Stream.Await(gone) {
					t.Errorf("%s: Await says the client has left", name)
				}
				select {
				case <-gone:
				case <-time.After(5 * time.Second):
				}
				noticed <- time.Now()
				if !r.Stream.Await(nil) || r.Stream.Await(gone) {
					t.Errorf("%s: Await after the client left", name)
				}
				r.Leave(499)
			}
			srv, addr := startWith(t, Config{Source: s}, wrap)
			c := dial(t, addr)
			c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
			eventually(t, time.Second, "a request", func() bool { return srv.Stats().Writing == 1 })
			if wrap == nil && name == "half" {
				leave(c) // at once
			}
			time.Sleep(5 * time.Millisecond)
			began := time.Now()
			leave(c)
			if d := (<-noticed).Sub(began); d > 100*time.Millisecond {
				t.Errorf("%s: noticed after %v, want within 100ms", name, d)
			}
		}
	})
}

// What a client sends while its request waits is kept, and the connection goes on as before.
func TestClientStaysWhileAwaited(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		_, _, addr := open(t, wrap, nil)
		c := dial(t, addr)
		for range 3 {
			c.send("GET /sleep?60ms HTTP/1.1\r\nHost: h\r\n\r\n")
			time.Sleep(30 * time.Millisecond)
			c.send("GET /sleep?1ms HTTP/1.1\r\nHost: h\r\n\r\nGET /x HT")
			time.Sleep(10 * time.Millisecond)
			c.send("TP/1.1\r\nHost: h\r\n\r\n")
			for _, want := range []string{"slept\n", "slept\n", "hello /x\n"} {
				if _, body := c.response(); body != want {
					t.Errorf("got %q, want %q", body, want)
				}
			}
		}
	})
}

// Await and its end race with the client's leaving; nobody may be canceled after Await(nil).
func TestAwaitRaces(t *testing.T) {
	bothWays(t, func(t *testing.T, wrap func(net.Conn) net.Conn) {
		s := newSite(func(r *request.Request) {
			var over, late atomic.Bool
			r.Stream.Await(cancelFunc(func() { late.Store(over.Load()) }))
			time.Sleep(time.Duration(r.Conn.Serial%5) * 6 * time.Millisecond)
			r.Stream.Await(nil)
			over.Store(true)
			time.Sleep(time.Millisecond)
			if late.Load() {
				t.Error("canceled after Await(nil)")
			}
			answerText(r, 200, "")
		})
		srv, addr := startWith(t, Config{Source: s}, wrap)
		for i := range 60 {
			c := dial(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
			time.Sleep(time.Duration(i%7) * time.Millisecond)
			_ = c.Close()
		}
		eventually(t, 2*time.Second, "all ends", func() bool { st := srv.Stats(); return st.Accepted == 60 && st.Active == 0 })
	})
}

type cancelFunc func()

func (f cancelFunc) Cancel() { f() }

var _ request.Canceler = cancelFunc(nil)

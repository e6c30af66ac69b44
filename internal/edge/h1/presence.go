package h1

import (
	"sync"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/request"
)

// presence knows whether the client is still there while its request waits. A watcher tells it where the platform has one;
// else an attendant reads the connection once a wait has lasted a while.
type presence struct {
	watched  bool // in the server's watcher
	tried    bool
	wake     chan struct{} // of Sleep
	timer    *time.Timer   // of Sleep
	attended attendant

	mu     sync.Mutex // guards gone and cancel
	gone   bool
	cancel request.Canceler
}

// leave notes that the client has left and ends the wait under way. Any goroutine may call it.
func (p *presence) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	if c := p.cancel; c != nil {
		p.cancel = nil
		c.Cancel()
	}
}

// expect names who is to be told when the client leaves, and reports false when it has left already.
func (p *presence) expect(who request.Canceler) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone && who != nil {
		p.cancel = nil
		return false
	}
	p.cancel = who
	return true
}

// watch sees to it that leave is called when the client leaves during the wait that begins.
func (p *presence) watch(c *conn) {
	if !p.tried {
		p.tried = true
		if sc := socket(c); sc != nil {
			p.watched = c.srv.watch.add(c, sc)
		}
	}
	if p.watched {
		return
	}
	if c.x.body.allHere() { // else the connection's next bytes are the body's
		p.attended.begin(c)
	}
}

// rest ends the attendant's work: the connection's goroutine wants to read, or the wait is over.
func (p *presence) rest(c *conn) {
	if !p.watched {
		p.attended.end(c)
	}
}

// close forgets the connection.
func (p *presence) close(c *conn) {
	p.rest(c)
	if p.watched {
		c.srv.watch.remove(c)
	}
}

// socket returns the socket below a connection, nil where there is none.
func socket(c *conn) syscall.Conn {
	if sc, ok := c.nc.(syscall.Conn); ok {
		return sc
	}
	if t, ok := c.nc.(netConner); ok { // TLS
		sc, _ := t.NetConn().(syscall.Conn)
		return sc
	}
	return nil
}

// Await implements request.Stream. c is called with a lock held that Await takes, so Cancel must not wait for the caller.
func (x *exchange) Await(who request.Canceler) bool {
	p := &x.c.presence
	if who == nil {
		p.rest(x.c)
		x.awaited, x.stale = false, true
		return p.expect(nil)
	}
	if !p.expect(who) {
		return false
	}
	x.awaited = true
	p.watch(x.c)
	return true
}

// Sleep implements request.Stream.
func (x *exchange) Sleep(d time.Duration) bool {
	c := x.c
	p := &c.presence
	if p.wake == nil {
		p.wake = make(chan struct{}, 1)
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	defer p.timer.Stop()
	if s := x.r.Staller; s != nil {
		s.Stall()
		defer s.Resume()
	}
	if !x.Await(sleeper(p.wake)) {
		return false
	}
	stay := true
	select {
	case <-p.timer.C:
	case <-p.wake:
		stay = false
	}
	x.Await(nil)
	select {
	case <-p.wake: // the client left as the timer went off
		stay = false
	default:
	}
	return stay
}

// sleeper is the Canceler of Sleep.
type sleeper chan struct{}

// Cancel ends the sleep.
func (s sleeper) Cancel() {
	select {
	case s <- struct{}{}:
	default:
	}
}

package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// mostMirrors is how many copies of requests are under way at one time, for one configuration. Where a mirror does not keep up,
// further ones are left out: what it is shown is the request's affair last of all.
const mostMirrors = 1024

// mirrors are the copies of requests that are under way.
type mirrors struct {
	pool sync.Pool // of *mirrored

	mu    sync.Mutex // guards what follows, and the list and the waits of its members
	first *mirrored
	n     int
	cut   bool       // they wait for nothing any more
	none  *sync.Cond // n is 0
}

func newMirrors() *mirrors {
	m := &mirrors{}
	m.none = sync.NewCond(&m.mu)
	m.pool.New = func() any {
		c := &mirrored{of: m}
		c.r.Stream = c
		return c
	}
	return m
}

// mirrored is a copy of a request, a subrequest that nobody waits for, with its Stream.
type mirrored struct {
	dropped
	r    request.Request
	conn request.Conn
	of   *mirrors
	p    *Program
	then *mirrored // the next copy of the same request, which nobody has begun to serve

	next, prev *mirrored
	waits      request.Canceler
}

var _ request.Stream = (*mirrored)(nil)

// Mirror implements mirror.Sender.
func (p *Program) Mirror(r *request.Request, paths [][]byte) {
	if p.requestID != nil { // the copies have the same
		id, _ := p.requestID(r, r.Scratch())
		r.Claim(id[:0])
	}
	var first, last *mirrored
	for _, path := range paths {
		c := p.mirrors.begin()
		if c == nil {
			r.Logf(errorlog.Warn, `%d mirrors are under way, "%s" is left out`, mostMirrors, path)
			continue
		}
		c.p, c.then = p, nil
		c.r.Reset()
		r.Follow(&c.r, &c.conn, path)
		if last == nil {
			first = c
		} else {
			last.then = c
		}
		last = c
	}
	if first != nil {
		// Owned by p.mirrors, which Close waits for: ends with the answers, or when Close cuts the waits short.
		go first.run()
	}
}

// run serves copies of a request, as far as no wait of theirs has sent others on.
func (c *mirrored) run() {
	for c != nil {
		c.serve()
		next := c.then
		c.of.end(c)
		c = next
	}
}

// serve serves the copy.
func (c *mirrored) serve() {
	defer c.r.CloseBody()
	defer c.p.settle(&c.r)
	c.p.serveSub(&c.r)
}

// yield lets the next copy begin.
func (c *mirrored) yield() {
	if next := c.then; next != nil {
		c.then = nil
		// Owned as the first one is.
		go next.run()
	}
}

// Await implements request.Stream: there is no client to leave.
func (c *mirrored) Await(who request.Canceler) bool {
	c.yield()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.cut && who != nil {
		c.waits = nil
		return false
	}
	c.waits = who
	return true
}

// Sleep implements request.Stream.
func (c *mirrored) Sleep(d time.Duration) bool {
	woken := make(wake, 1)
	if !c.Await(woken) {
		return false
	}
	defer c.Await(nil)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-woken:
		return false
	}
}

// wake is the Canceler of a sleep.
type wake chan struct{}

// Cancel ends the sleep.
func (w wake) Cancel() { w <- struct{}{} }

// begin returns a copy to fill, or nil where too many are under way.
func (m *mirrors) begin() *mirrored {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n >= mostMirrors || m.cut {
		return nil
	}
	m.n++
	c := m.pool.Get().(*mirrored)
	if c.next, c.prev = m.first, nil; c.next != nil {
		c.next.prev = c
	}
	m.first = c
	return c
}

// end takes a copy back.
func (m *mirrors) end(c *mirrored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.prev == nil {
		m.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	c.next, c.prev, c.p, c.then = nil, nil, nil, nil
	m.pool.Put(c)
	if m.n--; m.n == 0 {
		m.none.Broadcast()
	}
}

// cutOff ends all waits, and those to come.
func (m *mirrors) cutOff() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut = true
	for c := m.first; c != nil; c = c.next {
		if w := c.waits; w != nil {
			c.waits = nil
			w.Cancel()
		}
	}
}

// Drain waits for the copies of requests that are under way, and cuts them off once ctx is done. None begins any more then.
func (p *Program) Drain(ctx context.Context) {
	m := p.mirrors
	stop := context.AfterFunc(ctx, m.cutOff)
	defer stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.n > 0 {
		m.none.Wait()
	}
}

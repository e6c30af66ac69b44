package upstream

import (
	"sync"
	"time"

	"github.com/limitgate/limitgate"
)

// idle is the kept connections of a group: the last one put is the first one taken, so that a quiet time closes what is
// not needed. It owns the connections in it and a timer that ends those nobody takes. Its lock is never held over I/O: closing a
// connection says so to its peer.
type idle struct {
	max      int
	timeout  time.Duration // of an idle connection
	requests int           // on one connection
	age      time.Duration // of a connection
	now      func() limitgate.Time

	mu     sync.Mutex // guards what follows
	conns  []*conn    // oldest first
	timer  *time.Timer
	closed bool
}

// take returns the connection to p's address that was put last, for calls or for other requests, with a key of TLS; nil when
// there is none.
func (k *idle) take(p *peer, calls bool, key string) *conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := len(k.conns) - 1; i >= 0; i-- {
		c := k.conns[i]
		if (c.link != nil) != calls || c.key != key || c.peer != p && (c.peer.addr != p.addr || c.peer.unix != p.unix) {
			continue
		}
		copy(k.conns[i:], k.conns[i+1:])
		k.conns[len(k.conns)-1] = nil
		k.conns = k.conns[:len(k.conns)-1]
		c.peer = p
		return c
	}
	return nil
}

// put keeps c, which is between two requests, or closes it where it has served long enough. A full cache closes the one
// that has been idle longest.
func (k *idle) put(c *conn, now limitgate.Time) {
	if c.used >= k.requests || time.Duration(now-c.opened) > k.age {
		c.close()
		return
	}
	c.since = now
	var drop *conn
	k.mu.Lock()
	switch {
	case k.closed:
		drop = c
	case len(k.conns) >= k.max:
		drop = k.conns[0]
		copy(k.conns, k.conns[1:])
		k.conns[len(k.conns)-1] = c
	default:
		k.conns = append(k.conns, c)
		k.arm(k.timeout)
	}
	k.mu.Unlock()
	if drop != nil {
		drop.close()
	}
}

// arm starts the timer unless it runs. The lock is held.
func (k *idle) arm(d time.Duration) {
	if k.timer == nil {
		k.timer = time.AfterFunc(d, k.expire)
	}
}

// expire closes what has been idle for too long and comes back for the rest.
func (k *idle) expire() {
	for _, c := range k.overdue() {
		c.close()
	}
}

// overdue takes out what has been idle for too long.
func (k *idle) overdue() (over []*conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = nil
	if k.closed {
		return nil
	}
	now, n := k.now(), 0
	for n < len(k.conns) && time.Duration(now-k.conns[n].since) >= k.timeout {
		n++
	}
	over = append(over, k.conns[:n]...)
	rest := copy(k.conns, k.conns[n:])
	clear(k.conns[rest:])
	k.conns = k.conns[:rest]
	if rest > 0 {
		k.arm(k.timeout - time.Duration(now-k.conns[0].since))
	}
	return over
}

// close closes every connection; those in use are closed when they come back.
func (k *idle) close() {
	k.mu.Lock()
	k.closed = true
	if k.timer != nil {
		k.timer.Stop()
	}
	conns := k.conns
	k.conns = nil
	k.mu.Unlock()
	for _, c := range conns {
		c.close()
	}
}

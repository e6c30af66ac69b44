package h1

import (
	"net"
	"sync"
	"time"
)

// attendAfter is how long a wait goes on before somebody looks after the client: a request faster than that costs nothing.
const attendAfter = 20 * time.Millisecond

// netConner is a connection on top of another, like *tls.Conn.
type netConner interface{ NetConn() net.Conn }

// attendant finds out that a client has left where no watcher can: it reads the connection while a request waits, in its
// goroutine's place. What it reads is kept as input. It can't see the end of a client that has sent more than fits.
type attendant struct {
	timer *time.Timer
	armed bool // timer may have fired; the connection's goroutine only

	mu   sync.Mutex    // guards on
	on   bool          // begin was called and end was not
	done chan struct{} // closed when the reading goroutine has ended, nil when there is none
}

// begin starts attending to c some time from now.
func (a *attendant) begin(c *conn) {
	if a.armed {
		return
	}
	a.mu.Lock()
	a.on = true
	a.mu.Unlock()
	a.armed = true
	if a.timer == nil {
		a.timer = time.AfterFunc(attendAfter, func() { a.look(c) })
	} else {
		a.timer.Reset(attendAfter)
	}
}

// look reads until end stops it. It runs in the timer's goroutine, which end waits for.
func (a *attendant) look(c *conn) {
	a.mu.Lock()
	if !a.on || a.done != nil { // late, or second after a late one
		a.mu.Unlock()
		return
	}
	a.done = make(chan struct{})
	defer close(a.done)
	// No deadline may be left from before. end sets one in the past, and holds the lock while it looks for done.
	_ = c.nc.SetReadDeadline(time.Time{})
	a.mu.Unlock()
	for c.in.w < len(c.in.buf) {
		n, err := c.tc.Read(c.in.buf[c.in.w:])
		c.in.w += n
		if err != nil {
			if !isTimeout(err) {
				c.presence.leave()
			}
			return
		}
	}
}

// end takes the connection back from the attendant.
func (a *attendant) end(c *conn) {
	if !a.armed {
		return
	}
	a.armed = false
	a.timer.Stop()
	a.mu.Lock()
	a.on = false
	done := a.done
	a.done = nil
	if done != nil {
		_ = c.nc.SetReadDeadline(longAgo())
	}
	a.mu.Unlock()
	if done != nil {
		<-done
		_ = c.nc.SetReadDeadline(time.Time{})
		c.rdl.at = 0
	}
}

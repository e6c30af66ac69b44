package upstream

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
)

// tunnel is an upstream connection after 101, as the edge copies from it and to it. It ends itself when nothing came from
// either side for proxy_read_timeout.
type tunnel struct {
	x      *exchange
	head   []byte      // what came behind the head
	cut    atomic.Bool // Interrupt was called
	active atomic.Int64
	sent   atomic.Int64
	got    atomic.Int64
}

// tunnel passes a 101 on and joins both connections.
func (x *exchange) tunnel() phase.Next {
	r := x.r
	x.pump.finish()
	x.unwait()
	if r.SendHead() != nil {
		return x.broken()
	}
	t := &tunnel{x: x, head: x.in[x.start:x.end]}
	t.active.Store(int64(x.set.now()))
	x.c.line.writer(nil, 0)
	_ = x.c.nc.SetDeadline(time.Time{}) // the reads below tell of a closed connection
	if err := r.Stream.Tunnel(t); errors.Is(err, errTimeout) {
		x.logf(errorlog.Error, "%s while proxying upgraded connection", timedOut)
	}
	a := x.attempt()
	a.Sent += t.sent.Load()
	a.Received += t.got.Load() // it is no body: nginx counts none of it as one
	x.endAttempt()
	x.giveBack(false)
	x.drop()
	r.Response.Close = true
	return phase.Done
}

// Read reads what the upstream sent.
func (t *tunnel) Read(p []byte) (int, error) {
	if len(t.head) > 0 {
		n := copy(p, t.head)
		t.head = t.head[n:]
		return n, nil
	}
	x := t.x
	for {
		end := limitgate.Time(t.active.Load()) + limitgate.Time(x.h.readTimeout)
		left := time.Duration(end - x.set.now())
		if left <= 0 {
			return 0, errTimeout
		}
		if err := x.c.nc.SetReadDeadline(time.Now().Add(left)); err != nil {
			return 0, err
		}
		if t.cut.Load() { // looked at after arming: Interrupt says so first
			return 0, errLeft
		}
		n, err := x.c.nc.Read(p)
		if n > 0 {
			t.active.Store(int64(x.set.now()))
			t.got.Add(int64(n))
			return n, nil
		}
		if !isTimeout(err) {
			return 0, err
		}
	}
}

// Write writes what the client sent.
func (t *tunnel) Write(p []byte) (int, error) {
	n, err := t.x.c.nc.Write(p)
	t.active.Store(int64(t.x.set.now()))
	t.sent.Add(int64(n))
	return n, err
}

// Interrupt ends reads and writes.
func (t *tunnel) Interrupt() {
	t.cut.Store(true)
	t.x.c.interrupt()
}

// Close closes the connection.
func (t *tunnel) Close() error {
	t.x.c.hangUp()
	return nil
}

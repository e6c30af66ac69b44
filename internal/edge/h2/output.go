package h2

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
)

// outputSize is how much may wait to be sent before bodies wait too.
const outputSize = 64 << 10

// output is what is to be sent on a connection. The connection's lock guards it.
type output struct {
	buf     []byte
	spare   []byte
	writing bool // somebody sends what was in buf
	err     error
	raw     syscall.RawConn // nil: nobody can send without waiting
	queue   []*stream       // that wait to send a piece of a body
}

// now makes of a length of time the one that instants are told in.
func now(d time.Duration) limitgate.Time { return limitgate.Time(d) }

// sentBytes counts frames that are on their way out.
func (c *conn) sentBytes(total, payload int) {
	c.outTotal += int64(total)
	c.outPayload += int64(payload)
}

// flush sends what can be sent without waiting, and leaves the rest to a goroutine that may wait. c is locked before and after,
// but not meanwhile.
func (c *conn) flush() {
	o := &c.out
	if o.writing || len(o.buf) == 0 || o.err != nil {
		return
	}
	o.writing = true
	for len(o.buf) > 0 && o.err == nil {
		b := o.buf
		o.buf, o.spare = o.spare[:0], nil
		if o.raw == nil {
			// Owned by c, which waits for it; ends when everything is sent or the client takes nothing any more.
			go c.write(b, 0)
			return
		}
		c.mu.Unlock()
		n, err := try(o.raw, b)
		if err == nil && n < len(b) {
			// As above.
			go c.write(b, n)
			c.mu.Lock()
			return
		}
		c.mu.Lock()
		c.wrote(b, err)
	}
	o.writing = false
}

// wrote notes the end of a write. c is locked.
func (c *conn) wrote(b []byte, err error) {
	o := &c.out
	if cap(b) <= 2*outputSize {
		o.spare = b[:0]
	}
	if err != nil && o.err == nil {
		o.err = err
		for _, s := range c.streams {
			s.leave()
		}
		if !c.over {
			c.wake()
			c.killed = true
		}
	}
	c.grant()
}

// write sends b, of which n bytes are sent, and what comes after it, waiting where it must.
func (c *conn) write(b []byte, n int) {
	for {
		err := c.writeAll(b[n:])
		c.mu.Lock()
		c.wrote(b, err)
		o := &c.out
		if len(o.buf) == 0 || o.err != nil {
			o.writing = false
			c.settle()
			c.mu.Unlock()
			return
		}
		b, n = o.buf, 0
		o.buf, o.spare = o.spare[:0], nil
		c.mu.Unlock()
	}
}

// errSendTimeout is returned for a client that takes nothing for send_timeout.
var errSendTimeout = errors.New("sending to client: timed out")

// writeAll sends b. Where the socket takes nothing for send_timeout it gives up.
func (c *conn) writeAll(b []byte) error {
	nc := c.link.Socket
	own := c.link.Conn == nc // else what is between keeps the time
	most := len(b)
	if !own {
		most = c.head.Record
	}
	for len(b) > 0 {
		if own && !c.limitWrite() {
			return errSendTimeout
		}
		n, err := c.link.Conn.Write(b[:min(len(b), most)])
		b = b[n:]
		if err != nil && (n == 0 || !isTimeout(err) || !own) {
			return err
		}
	}
	if own {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.killed {
			_ = nc.SetWriteDeadline(time.Time{}) // for those who send without waiting
		}
	}
	return nil
}

// limitWrite gives the client send_timeout to take more. It reports false for a connection that was cut off.
func (c *conn) limitWrite() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed {
		return false
	}
	if t := c.head.SendTimeout; t > 0 {
		_ = c.link.Socket.SetWriteDeadline(time.Now().Add(t)) // a dead socket shows at the write
	}
	return true
}

// room reports whether a piece of a body may be sent, as far as the connection goes. c is locked.
func (c *conn) room() bool { return c.send.Room() > 0 && len(c.out.buf) < outputSize }

// grant lets the first of those that wait send, if there is room for it. A head needs no window. c is locked.
func (c *conn) grant() {
	if len(c.out.buf) >= outputSize {
		return
	}
	for _, s := range c.out.queue {
		if s.headless || c.send.Room() > 0 {
			c.dequeue(s)
			s.wakeSender()
			return
		}
	}
}

// enqueue makes a stream wait for its turn. c is locked.
func (c *conn) enqueue(s *stream) {
	s.queued = true
	c.out.queue = append(c.out.queue, s)
}

// dequeue ends a stream's wait for its turn. c is locked.
func (c *conn) dequeue(s *stream) {
	s.queued = false
	if i := slices.Index(c.out.queue, s); i >= 0 {
		c.out.queue = slices.Delete(c.out.queue, i, i+1)
	}
}

// makeRoom waits until a head may be sent: a client that asks and reads nothing would have all its answers kept. c is locked before
// and after, but not meanwhile.
func (s *stream) makeRoom() error {
	c := s.c
	for {
		switch {
		case s.gone || s.answer.closed || c.out.err != nil:
			c.grant()
			s.err = errGone
			return s.err
		case len(c.out.buf) < outputSize:
			return nil
		}
		s.headless = true
		ok := s.wait()
		s.headless = false
		if !ok {
			c.grant()
			return s.expired()
		}
	}
}

// send sends a piece of the body, in as many frames as windows and sizes ask for.
func (s *stream) send(p []byte, end bool) error {
	c, a := s.c, &s.answer
	c.mu.Lock()
	defer c.mu.Unlock()
	turn := false // it was s's turn to send
	for {
		if s.gone || a.closed || c.out.err != nil {
			c.grant()
			s.err = errGone
			return s.err
		}
		if len(p) > 0 && (s.window.Room() == 0 || !c.room() || !turn && len(c.out.queue) > 0) {
			if !s.wait() {
				c.grant()
				return s.expired()
			}
			turn = true
			continue
		}
		n := min(len(p), s.window.Room(), c.send.Room(), s.scope().ChunkSize, c.frameSize)
		last := end && n == len(p)
		s.window.Take(n)
		c.send.Take(n)
		flags := http2.Flags(0)
		if last {
			flags = http2.FlagDataEndStream
		}
		c.out.buf = append(h2.AppendHeader(c.out.buf, n, http2.FrameData, flags, s.id), p[:n]...)
		c.sentBytes(h2.HeaderLen+n, n)
		a.sent += int64(h2.HeaderLen + n)
		a.headSize += h2.HeaderLen
		a.ended, a.closed = last, last
		if p = p[n:]; len(p) == 0 {
			c.grant()
			return nil
		}
		if len(c.out.buf) >= outputSize {
			c.flush()
		}
		if len(c.out.queue) > 0 {
			c.grant()
			turn = false
		}
	}
}

// wait waits until s may try to send again, for send_timeout. c is locked before and after, but not meanwhile.
func (s *stream) wait() bool {
	c := s.c
	if (s.headless || s.window.Room() > 0) && !s.queued {
		c.enqueue(s)
	}
	c.flush()
	c.grant()
	c.mu.Unlock()
	s.aside()
	if w := s.r.Staller; w != nil {
		w.Stall()
		defer w.Resume()
	}
	t := s.clock(s.scope().SendTimeout)
	ok := true
	select {
	case <-s.sender:
	case <-t.C:
		ok = false
	}
	t.Stop()
	c.mu.Lock()
	if s.queued {
		c.dequeue(s)
	}
	return ok
}

// expired says that the client took nothing for too long. c is locked.
func (s *stream) expired() error {
	s.err, s.timedOut = errSendTimeout, true
	s.c.mu.Unlock()
	defer s.c.mu.Lock()
	s.r.Logf(errorlog.Info, "client timed out (110: Connection timed out) while sending to client")
	return s.err
}

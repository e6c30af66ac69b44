package upstream

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h2link"
)

// socket is what net gives for TCP and for unix sockets.
type socket interface {
	net.Conn
	CloseWrite() error
}

// conn is one connection to a peer. It is used by one exchange at a time; interrupt may come from any goroutine.
type conn struct {
	nc     socket
	peer   *peer
	used   int            // requests so far, the current one included
	opened limitgate.Time // when it was connected
	since  limitgate.Time // when it became idle

	// Something may follow the last answer that is none of its own: it had to be without a body, which not every peer knows, or
	// came in pieces, of which the one read last need not be the last. What came in one piece had no more.
	doubtful bool

	rd, wr deadline
	raw    rawConn // the quick way, where the platform has one

	line *cable       // below TLS; nil: the connection is not encrypted
	key  string       // of TLS: whose requests may use it
	link *h2link.Link // what it is used through, where it is one for calls; nil: HTTP/1
}

// deadline is a socket deadline that is set only when none is armed that fires early enough: most requests find one. It
// may fire before the wait in hand is over; whoever waits looks at the clock and arms it again.
type deadline struct {
	at limitgate.Time // 0: not armed
}

// due reports whether the deadline must be armed so that a wait that ends at end is cut short there.
func (d *deadline) due(end limitgate.Time) bool {
	if d.at != 0 && d.at <= end {
		return false
	}
	d.at = end
	return true
}

// close closes the connection. The peer is told of a call that is not over.
func (c *conn) close() {
	if c.link != nil {
		c.link.End()
	}
	c.hangUp()
}

// spent reports whether a kept connection can't carry another request.
func (c *conn) spent() bool {
	if c.link != nil {
		return !c.link.Usable()
	}
	return c.dead() || c.buffered()
}

// interrupt ends the reads and writes that wait, and those that will.
func (c *conn) interrupt() {
	if c.link != nil {
		c.link.Interrupt()
		return
	}
	_ = c.nc.SetDeadline(time.Unix(1, 0)) // of a closed connection: ended anyway
}

// interruptWrite ends the writes alone.
func (c *conn) interruptWrite() {
	if c.link != nil {
		c.link.InterruptWrite()
		return
	}
	_ = c.nc.SetWriteDeadline(time.Unix(1, 0)) // likewise
}

// isTimeout reports whether a deadline fired, rather than the connection failed.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// errTimeout is what the waits below return when the time they were given is over.
var errTimeout = errors.New("upstream timed out")

// errLeft is what they return when the client has left.
var errLeft = errors.New("client left")

// waiter is the clock of an exchange and whether its client has left.
type waiter struct {
	now  func() limitgate.Time
	left func() bool
}

// read reads what is there into b, or waits for it until limit has passed.
func (c *conn) read(w *waiter, b []byte, limit time.Duration) (int, error) {
	end := w.now() + limitgate.Time(limit)
	for {
		if c.rd.due(end) {
			_ = c.nc.SetReadDeadline(time.Now().Add(time.Duration(end - w.now()))) // the read tells of a closed connection
		}
		if w.left() { // looked at after arming: whoever interrupts says so first
			return 0, errLeft
		}
		n, err := c.nc.Read(b)
		if n > 0 {
			return n, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // in the middle of what TLS sends at a time
			err = io.EOF
		}
		if !isTimeout(err) {
			if err == nil {
				err = io.ErrNoProgress
			}
			return 0, err
		}
		c.rd.at = 0
		if !w.left() && w.now() >= end {
			return 0, errTimeout
		}
	}
}

// write writes all of b, giving up when nothing could be written for limit.
func (c *conn) write(w *waiter, b []byte, limit time.Duration) (int, error) {
	if c.line != nil {
		c.line.writer(w, limit)
		return c.nc.Write(b)
	}
	return c.push(c.nc, w, b, limit)
}

// push is write on a socket.
func (c *conn) push(nc socket, w *waiter, b []byte, limit time.Duration) (int, error) {
	total := 0
	end := w.now() + limitgate.Time(limit)
	for {
		if c.wr.due(end) {
			_ = nc.SetWriteDeadline(time.Now().Add(time.Duration(end - w.now()))) // the write tells of a closed connection
		}
		if w.left() {
			return total, errLeft
		}
		n, err := nc.Write(b[total:])
		if total += n; err == nil {
			return total, nil
		}
		if !isTimeout(err) {
			return total, err
		}
		c.wr.at = 0
		if n > 0 {
			end = w.now() + limitgate.Time(limit)
		} else if !w.left() && w.now() >= end {
			return total, errTimeout
		}
	}
}

// writeRead is roundTrip the ordinary way.
func (c *conn) writeRead(w *waiter, out, in []byte, sendLimit, readLimit time.Duration) (sent, n int, err error) {
	if sent, err = c.write(w, out, sendLimit); err != nil {
		return sent, 0, &writeError{err}
	}
	n, err = c.read(w, in, readLimit)
	return sent, n, err
}

// writeError is a failure of sending, where the log must tell it from one of reading.
type writeError struct{ err error }

func (e *writeError) Error() string { return "writing to upstream: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

package h1

import (
	"errors"
	"net"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// outputSize is what a response buffers; direct is how large a piece must be to be sent from where it is rather than copied
// behind what is buffered; chunkOverhead is more than the framing of a chunk takes.
const (
	outputSize    = 16 << 10
	direct        = 8 << 10
	chunkOverhead = 20
)

// errSendTimeout is returned for a client that takes nothing for send_timeout.
var errSendTimeout = errors.New("sending to client: timed out")

// sendError remembers that the client can't be written to any more, and logs it as nginx does.
func (x *exchange) sendError(err error) error {
	if err == nil || x.err != nil {
		return x.err
	}
	x.err = err
	switch {
	case x.c.killed():
	case isTimeout(err) || errors.Is(err, errSendTimeout):
		x.timedOut = true
		x.r.Logf(errorlog.Info, "client timed out (110: Connection timed out) while sending to client")
	default:
		if x.r.Logs(errorlog.Info) {
			x.r.Logf(errorlog.Info, "send() failed (%s) while sending to client", errorlog.Errno(err))
		}
	}
	return err
}

// writeAll sends three pieces as one where the platform can.
func (c *conn) writeAll(a, p []byte, tail string) error {
	if c.raw.ready {
		n, err := c.raw.writev(a, p, tail)
		c.sent += int64(n)
		if err != nil {
			return err
		}
		for _, b := range [...][]byte{a, p} {
			gone := min(n, len(b))
			n -= gone
			if gone == len(b) {
				continue
			}
			if err := c.write(b[gone:]); err != nil {
				return err
			}
		}
		if n < len(tail) {
			return c.write([]byte(tail[n:]))
		}
		return nil
	}
	if c.tc != c.nc {
		for _, b := range [...][]byte{a, p, []byte(tail)} {
			if err := c.write(b); err != nil {
				return err
			}
		}
		return nil
	}
	var v net.Buffers = make(net.Buffers, 0, 3)
	for _, b := range [...][]byte{a, p, []byte(tail)} {
		if len(b) > 0 {
			v = append(v, b)
		}
	}
	if s := c.x.r.Staller; s != nil {
		s.Stall() // it is not known whether writing waits
		defer s.Resume()
	}
	for len(v) > 0 {
		c.armWrite()
		n, err := v.WriteTo(c.nc)
		c.sent += n
		if err != nil && (n == 0 || !isTimeout(err) || c.killed()) {
			return err
		}
	}
	return nil
}

// write sends b. Where the socket takes nothing for send_timeout it gives up.
func (c *conn) write(b []byte) error {
	if c.raw.ready {
		n, err := c.raw.write(b)
		c.sent += int64(n)
		if err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
		c.x.stale = true
		return c.writeSlowly(b)
	}
	if s := c.x.r.Staller; s != nil {
		s.Stall()
		defer s.Resume()
	}
	most := len(b)
	if c.tc != c.nc {
		most = c.x.settings.Record
	}
	for len(b) > 0 {
		if c.tc == c.nc { // else wire does, where TLS lets only one write at a time
			c.armWrite()
		}
		n, err := c.tc.Write(b[:min(len(b), most)])
		c.sent += int64(n)
		b = b[n:]
		// A deadline in the middle of a large piece is no silence: the client took something.
		if err != nil && (n == 0 || !isTimeout(err) || c.killed()) {
			return err
		}
	}
	return nil
}

// armWrite gives the client send_timeout to take more. It may give a little more: see deadline.
func (c *conn) armWrite() {
	t := c.wait // of a handshake
	if c.x != nil {
		t = c.x.scope().SendTimeout
	}
	if t <= 0 {
		return
	}
	now := c.srv.cfg.Now()
	if c.wdl.due(now+limitgate.Time(t), t) {
		_ = c.nc.SetWriteDeadline(time.Now().Add(time.Duration(c.wdl.at - now))) // a dead socket shows at the write
	}
	if c.killed() {
		_ = c.nc.SetWriteDeadline(longAgo())
	}
}

package h2

import (
	"errors"
	"io"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/request"
)

// errDone ends reading where nothing more is to be read: the connection drains, or was cut off.
var errDone = errors.New("reading from client: done")

// input is a connection as its framer reads it.
type input conn

// Read implements io.Reader.
func (i *input) Read(p []byte) (int, error) {
	c := (*conn)(i)
	if len(c.in) == 0 {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.in)
	c.in = c.in[n:]
	return n, nil
}

// fill waits for bytes. What was to be sent is sent before.
func (c *conn) fill() error {
	c.guard.Stop()
	c.newStreams = 0
	c.blockedAt = c.srv.cfg.Now()
	c.mu.Lock()
	c.flush()
	c.learn()
	c.mu.Unlock()
	for {
		if !c.arm() {
			return errDone
		}
		n, err := c.link.Conn.Read(c.own[:])
		if n > 0 {
			c.in = c.own[:n]
			c.guard.Reset(graceTime)
			return c.count.read(n)
		}
		if err == nil {
			continue
		}
		if !isTimeout(err) {
			return err
		}
		if expired := c.expire(); expired != nil {
			return expired
		}
	}
}

// learn counts what was sent since the reader looked. c is locked, and the reader asks.
func (c *conn) learn() {
	t := &c.count
	t.total += c.outTotal
	t.payload += c.outPayload
	t.resets = max(0, t.resets-c.answered)
	if c.outPayload > 0 {
		t.idle = 0
	}
	c.outTotal, c.outPayload, c.answered = 0, 0, 0
}

// begun reports whether a frame or a head is there in part. The reader asks.
func (c *conn) begun() bool { return c.inside || c.block.id != 0 }

// patience is until when the client may say nothing; 0: for ever. c is locked, and the reader asks.
func (c *conn) patience() (until limitgate.Time, t time.Duration) {
	switch {
	case c.block.stream != nil || c.begun() && c.live == 0:
		t = c.head.HeaderTimeout
		return c.blockedAt + limitgate.Time(t), t
	case c.live == 0:
		t = c.head.KeepaliveIdle
		return c.idleSince + limitgate.Time(t), t
	}
	return 0, 0
}

// arm sets the deadline of the read that follows, where the one that stands would come too late. It reports false where there is
// nothing to read for.
func (c *conn) arm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed || c.goaway && c.live == 0 {
		return false
	}
	c.rearm(c.patience())
	return true
}

// rearm sets the deadline of a read for a wait of a length that is over at an instant. c is locked.
func (c *conn) rearm(until limitgate.Time, t time.Duration) {
	if until == 0 || c.deadline != 0 && c.deadline <= until+limitgate.Time(t)/4 {
		return
	}
	c.deadline = until + limitgate.Time(t)/8
	_ = c.link.Socket.SetReadDeadline(time.Now().Add(time.Duration(c.deadline - c.srv.cfg.Now()))) // a dead socket shows at the read
}

// expire decides what the end of the time for a read means: nothing, where it was set for an earlier wait.
func (c *conn) expire() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = 0
	_ = c.link.Socket.SetReadDeadline(time.Time{}) // as above
	until, _ := c.patience()
	switch {
	case c.killed || c.goaway && c.live == 0:
		return errDone
	case until == 0 || c.srv.cfg.Now() < until:
		return nil
	case c.block.stream != nil:
		// The rest of the head is nobody's; the connection lives on, with as much time again.
		c.out.buf = h2.AppendReset(c.out.buf, c.block.id, http2.ErrCodeProtocol)
		c.flush()
		s := c.block.stream
		c.block.stream = nil
		c.blockedAt = c.srv.cfg.Now()
		s.timedOut = true
		c.drop(s, request.Fault{Status: 408, Log: "client timed out (110: Connection timed out) while processing HTTP/2 connection"})
		return nil
	case c.begun():
		return errTimeout
	}
	return errIdle
}

var (
	errTimeout = errors.New("reading a frame: timed out")
	errIdle    = errors.New("reading a frame: none came")
)

// stopped says what the end of reading means.
func (c *conn) stopped(err error) turn {
	switch {
	case errors.Is(err, errDone):
		return finished
	case errors.Is(err, errFlood):
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	case errors.Is(err, errTimeout):
		return c.fail(http2.ErrCodeProtocol, "client timed out (110: Connection timed out)")
	case errors.Is(err, errIdle):
		return c.fail(http2.ErrCodeNo, "")
	}
	c.mu.Lock()
	busy := (c.inside || c.live > 0) && !c.killed
	c.mu.Unlock()
	if !busy {
		return finished
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		c.log(errorlog.Info, "client prematurely closed connection")
	} else {
		c.log(errorlog.Info, "recv() failed ("+errorlog.Errno(err)+")")
	}
	return finished
}

// clientPreface is what a client says first.
const clientPreface = http2.ClientPreface

// preface reads what a client says first. It reports false where it is something else.
func (c *conn) preface() bool {
	c.inside = true
	var b [len(clientPreface)]byte
	if _, err := io.ReadFull((*input)(c), b[:]); err != nil {
		c.inside = !errors.Is(err, io.EOF)
		c.stopped(err)
		return false
	}
	if string(b[:]) != clientPreface {
		c.fail(http2.ErrCodeProtocol, "")
		return false
	}
	c.inside = false
	return true
}

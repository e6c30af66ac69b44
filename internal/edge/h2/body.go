package h2

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/request"
)

// readWindow is how much of a body the client may send ahead once somebody reads it; narrowWindow is how much it may where
// mostWide bodies of the connection are read already. One that hundreds are sent on is slow for none of them, and keeps less memory.
const (
	readWindow   = 256 << 10
	narrowWindow = 64 << 10
	mostWide     = 16
)

// mostKept is how much memory of a body a stream keeps for the next one.
const mostKept = 64 << 10

// body is the body of a request on its way in. All of it is guarded by the connection's lock; piece is the reader's of the body
// until it asks for the next.
type body struct {
	flow    h2.Inflow
	bytes   []byte // that came and were not given out
	piece   []byte // given out
	spare   []byte
	got     int64
	closed  bool // nothing more comes
	asked   bool
	expects bool // the client waits for 100 Continue
	aborted bool
	err     error
	came    chan struct{} // one may be waiting for more
}

func (b *body) reset(flow h2.Inflow) {
	bytes, spare, came := b.bytes[:0], b.spare[:0], b.came
	*b = body{flow: flow, came: came}
	if cap(bytes)+cap(spare) <= mostKept {
		b.bytes, b.spare = bytes, spare
	}
}

// receive takes bytes of a body, or its end.
func (c *conn) receive(id uint32, p []byte, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.streams[id]
	if s == nil || s.in.closed {
		return
	}
	b := &s.in
	b.got += int64(len(p))
	s.length.Add(int64(len(p)))
	b.expects = false
	switch {
	case s.declared >= 0 && b.got > s.declared:
		b.refuse(&request.BodyError{Status: 400, Level: errorlog.Info, Log: "client intended to send body data larger than declared"})
	case end && s.declared >= 0 && b.got != s.declared:
		b.refuse(&request.BodyError{Status: 400, Level: errorlog.Info, Log: fmt.Sprintf(
			"client prematurely closed stream: only %d out of %d bytes of request body received", b.got, s.declared)})
	case b.err != nil || b.aborted || s.answer.closed:
		if n := b.flow.Used(len(p)); n > 0 && !end && !s.answer.closed {
			c.out.buf = h2.AppendWindowUpdate(c.out.buf, id, n)
		}
	default:
		b.bytes = append(b.bytes, p...)
	}
	b.closed = b.closed || end
	poke(b.came)
}

// refuse notes that the body can't be used.
func (b *body) refuse(err error) {
	if b.err == nil {
		b.err = err
	}
	b.bytes = b.bytes[:0]
}

// errAborted is what ReadBody returns after AbortBody.
var errAborted = errors.New("reading the request body: aborted")

// ReadBody implements request.Stream.
func (s *stream) ReadBody() ([]byte, error) {
	c, b := s.c, &s.in
	c.mu.Lock()
	defer c.mu.Unlock()
	if !b.asked {
		b.asked = true
		s.admit()
	}
	if n := len(b.piece); n > 0 {
		b.spare, b.piece = b.piece[:0], nil
		if up := b.flow.Used(n); up > 0 && !b.closed {
			c.out.buf = h2.AppendWindowUpdate(c.out.buf, s.id, up)
			c.flush()
		}
	}
	for {
		limit := s.scope().MaxBody
		switch {
		case b.aborted:
			return nil, errAborted
		case b.err == nil && limit > 0 && s.declared < 0 && b.got > limit:
			b.refuse(&request.BodyError{Status: 413, Level: errorlog.Error,
				Log: fmt.Sprintf("client intended to send too large chunked body: %d bytes", b.got)})
		}
		switch {
		case b.err != nil:
			return nil, b.err
		case len(b.bytes) > 0:
			b.piece, b.bytes = b.bytes, b.spare[:0]
			return b.piece, nil
		case b.closed && !s.gone:
			return nil, io.EOF
		case s.gone:
			b.err = &request.BodyError{Status: 499, Level: errorlog.Info, Log: "client prematurely closed stream"}
			return nil, b.err
		}
		if !s.await() {
			b.err = &request.BodyError{Status: 408, Level: errorlog.Info}
			s.timedOut = true
		}
	}
}

// admit checks the announced length, opens the window, and answers a client that waits to be told to go on. c is locked.
func (s *stream) admit() {
	b := &s.in
	if n := s.scope().MaxBody; n > 0 && s.declared > n {
		b.refuse(&request.BodyError{Status: 413, Level: errorlog.Error,
			Log: fmt.Sprintf("client intended to send too large body: %d bytes", s.declared)})
		return
	}
	if b.closed || s.gone {
		return
	}
	out := &s.c.out
	if b.expects && b.got == 0 && !s.r.Response.Sent {
		out.buf = h2.AppendBlock(out.buf, h2.AppendStatus(nil, 100), s.id, false, s.c.frameSize)
	}
	if n := b.flow.Grow(s.ahead()); n > 0 {
		out.buf = h2.AppendWindowUpdate(out.buf, s.id, n)
	}
	s.c.flush()
}

// ahead is how much of the body the client may send ahead. c is locked.
func (s *stream) ahead() uint32 {
	switch {
	case s.declared >= 0 && s.declared <= s.in.flow.Size():
		return 0 // there is room for all of it
	case s.c.wide >= mostWide:
		return narrowWindow
	}
	s.wide = true
	s.c.wide++
	return readWindow
}

// await waits for more of the body, for client_body_timeout. c is locked before and after, but not meanwhile.
func (s *stream) await() bool {
	s.c.mu.Unlock()
	defer s.c.mu.Lock()
	s.aside()
	t := time.NewTimer(s.scope().BodyTimeout)
	defer t.Stop()
	select {
	case <-s.in.came:
		return true
	case <-t.C:
		return false
	}
}

// AbortBody implements request.Stream.
func (s *stream) AbortBody() {
	s.c.mu.Lock()
	s.in.aborted = true
	poke(s.in.came)
	s.c.mu.Unlock()
}

// BodyDone implements request.Stream.
func (s *stream) BodyDone() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.in.closed && len(s.in.bytes) == 0 && s.in.err == nil
}

// BodyHere implements request.Stream.
func (s *stream) BodyHere() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return len(s.in.bytes) > 0
}

// RequestLength implements request.Stream.
func (s *stream) RequestLength() int64 { return s.length.Load() }

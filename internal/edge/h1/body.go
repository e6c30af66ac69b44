package h1

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// bodySize is how much of a request body is read at once, once what came with the head is used up.
const bodySize = 16 << 10

// bodyReader reads the request body. What came with the head is taken from the connection's input; the rest is read into a
// buffer of its own, so that the head stays where the request's slices point.
type bodyReader struct {
	x       *exchange
	frame   h1.Body
	piece   []byte // read and not yet given out
	err     error  // instead of the next piece
	taken   int64  // bytes of the body on the wire, framing included
	given   int64  // bytes of the body itself
	asked   bool   // ReadBody was called
	expects bool   // the client waits for 100 Continue
	own     *[bodySize]byte
	win     window // of own
}

func (b *bodyReader) reset() { *b = bodyReader{} }

func (b *bodyReader) begin(x *exchange) {
	b.x = x
	if b.frame = x.head.Body(); !b.frame.Done() {
		b.expects = x.head.Has(h1.HeaderExpect) && x.head.Expect100(x.c.in.rest())
	}
}

// here reports whether the whole body is in memory. It looks with a copy of the framing and takes nothing.
func (b *bodyReader) here() bool {
	f := b.frame
	if n := f.Remaining(); n >= 0 {
		return n <= int64(len(b.x.c.in.rest()))
	}
	in := b.x.c.in.rest()
	for !f.Done() {
		skip, data, err := f.Next(in)
		if err != nil {
			return true // reading won't get further than here
		}
		if skip+data == 0 {
			return false
		}
		in = in[skip+data:]
	}
	return true
}

// over reports whether the body was read to its end.
func (b *bodyReader) over() bool { return b.frame.Done() && len(b.piece) == 0 }

// broken reports whether no more of the body can be read.
func (b *bodyReader) broken() bool { return b.err != nil }

// source is where the next bytes of the body are.
func (b *bodyReader) source() *window {
	if b.own != nil {
		return &b.win
	}
	return &b.x.c.in
}

// settle takes the next piece from memory, if there is one.
func (b *bodyReader) settle() {
	for len(b.piece) == 0 && b.err == nil && !b.frame.Done() {
		w := b.source()
		skip, data, err := b.frame.Next(w.rest())
		b.piece = w.buf[w.r+skip : w.r+skip+data]
		w.r += skip + data
		b.taken += int64(skip + data)
		b.given += int64(data)
		if err != nil {
			b.err = &request.BodyError{Status: 400, Level: errorlog.Error, Log: "client sent invalid chunked body"}
		}
		if skip+data == 0 {
			return
		}
	}
}

// skipHere forgets what is in memory of a body nobody asked for, because whether it ends there, or is broken, decides
// about the connection.
func (b *bodyReader) skipHere() {
	for b.settle(); len(b.piece) > 0; b.settle() {
		b.piece = nil
	}
}

// ReadBody implements request.Stream.
func (x *exchange) ReadBody() ([]byte, error) {
	b := &x.body
	if !b.asked {
		b.asked = true
		if err := b.admit(); err != nil {
			return nil, err
		}
	}
	for {
		b.settle()
		if n := b.x.scope().MaxBody; n > 0 && b.given > n && x.r.BodyLength < 0 && b.err == nil {
			b.err = &request.BodyError{Status: 413, Level: errorlog.Error,
				Log: fmt.Sprintf("client intended to send too large chunked body: %d+%d bytes", b.given-int64(len(b.piece)), len(b.piece))}
		}
		if b.err != nil {
			return nil, b.err
		}
		if p := b.piece; len(p) > 0 {
			b.piece = nil
			return p, nil
		}
		if b.frame.Done() {
			return nil, io.EOF
		}
		if err := b.fill(x.scope()); err != nil {
			b.err = err
			return nil, err
		}
	}
}

// admit checks the announced length and answers a client that waits to be told to go on.
func (b *bodyReader) admit() error {
	x := b.x
	if b.x == nil {
		return nil // a fault: there is no body
	}
	if n := x.scope().MaxBody; n > 0 && x.r.BodyLength > n {
		b.err = &request.BodyError{Status: 413, Level: errorlog.Error,
			Log: fmt.Sprintf("client intended to send too large body: %d bytes", x.r.BodyLength)}
		return b.err
	}
	if !b.expects || b.taken > 0 || len(x.c.in.rest()) > 0 {
		return nil
	}
	b.expects = false
	if err := x.c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
		x.err = err
		b.err = &request.BodyError{Status: 400, Level: errorlog.Info, Log: "client prematurely closed connection"}
	}
	return b.err
}

// fill reads more of the body, waiting for client_body_timeout.
func (b *bodyReader) fill(s *request.Settings) error {
	x := b.x
	x.c.presence.rest(x.c)
	x.stale = true
	x.c.await(x.srv.cfg.Now(), s.BodyTimeout)
	n, err := b.more()
	if n > 0 {
		return nil
	}
	// As in nginx the client gets no answer: it has left, or is taken for gone.
	x.mute = true
	if isTimeout(err) {
		return &request.BodyError{Status: 408, Level: errorlog.Info}
	}
	if errors.Is(err, io.EOF) {
		return &request.BodyError{Status: 400, Level: errorlog.Info, Log: "client prematurely closed connection"}
	}
	return &request.BodyError{Status: 400, Level: errorlog.Info, Log: "recv() failed (" + errnoText(err) + ")"}
}

// more reads once into the body's buffer, never beyond a body whose length is known.
func (b *bodyReader) more() (int, error) {
	if b.own == nil {
		b.own = b.x.srv.bodies.Get().(*[bodySize]byte)
		b.win = window{buf: b.own[:]}
	}
	b.win.r, b.win.w = 0, 0
	room := int64(bodySize)
	if n := b.frame.Remaining(); n >= 0 {
		room = min(room, n)
	}
	n, err := b.x.c.read(b.win.buf[:room])
	b.win.w = n
	return n, err
}

// drop reads and forgets what the client still sends of a request that is answered, so that another can follow: for
// lingering_time in all, lingering_timeout between reads (ngx_http_discarded_request_body_handler).
func (b *bodyReader) drop(s *request.Settings) bool {
	x := b.x
	end := x.srv.cfg.Now() + limitgate.Time(s.LingeringTime)
	x.stale = true
	for {
		b.piece = nil
		b.settle()
		if b.err != nil {
			return false
		}
		if b.over() {
			return true
		}
		if len(b.piece) > 0 {
			continue
		}
		now := x.srv.cfg.Now()
		if now >= end || x.srv.killed.Load() {
			return false
		}
		x.c.await(now, min(s.LingeringTimeout, time.Duration(end-now)))
		if _, err := b.more(); err != nil {
			return false
		}
	}
}

// release returns the body's buffer; bytes behind the body are the next request's.
func (b *bodyReader) release(s *Server) {
	if b.own == nil {
		return
	}
	if rest := b.win.rest(); len(rest) > 0 {
		in := &b.x.c.in
		if len(in.buf) < len(rest) {
			in.buf = make([]byte, len(rest))
		}
		in.r, in.w = 0, copy(in.buf, rest)
	}
	s.bodies.Put(b.own)
	b.own = nil
}

// BodyDone implements request.Stream.
func (x *exchange) BodyDone() bool {
	x.body.settle()
	return x.body.over()
}

// BodyHere implements request.Stream.
func (x *exchange) BodyHere() bool {
	x.body.settle()
	return len(x.body.piece) > 0
}

// RequestLength implements request.Stream.
func (x *exchange) RequestLength() int64 { return x.headSize + x.body.taken }

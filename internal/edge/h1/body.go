package h1

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// bodySize is how much of a request body is read at once, once what came with the head is used up.
const bodySize = 16 << 10

// bodyReader reads the request body. What came with the head is taken from the connection's input; the rest is read into a
// buffer of its own, so that the head stays where the request's slices point. Another goroutine than the connection's may be
// in ReadBody, BodyDone and BodyHere while that one sends the answer.
type bodyReader struct {
	x       *exchange    // nil where there is no body
	expects bool         // the client waits for 100 Continue; set before anybody reads
	told    bool         // it was told to go on; guarded by x.sending
	taken   atomic.Int64 // bytes of the body on the wire, framing included
	aborted atomic.Bool  // AbortBody was called

	mu    sync.Mutex // guards what follows, but for own and win while a goroutine reads into them
	frame h1.Body
	piece []byte // read and not yet given out
	err   error  // instead of the next piece
	bad   bool   // the framing is broken: nothing behind it can be understood
	given int64  // bytes of the body itself
	asked bool   // ReadBody was called
	own   *[bodySize]byte
	win   window // of own
}

func (b *bodyReader) reset() {
	if b.x != nil {
		*b = bodyReader{}
	}
}

func (b *bodyReader) begin(x *exchange) {
	b.expects, b.told = x.head.Has(header.Expect) && x.head.Expect100(x.c.in.rest()), false
	if b.frame = x.head.Body(); !b.frame.Done() {
		b.x = x
	}
}

// here reports whether the whole body is in memory. It looks with a copy of the framing and takes nothing.
func (b *bodyReader) here() bool {
	if b.x == nil {
		return true
	}
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
func (b *bodyReader) over() bool {
	if b.x == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frame.Done() && len(b.piece) == 0
}

// allHere reports whether no byte of the body is left on the wire.
func (b *bodyReader) allHere() bool {
	if b.x == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return b.frame.Done()
}

// broken reports whether the end of the body can't be found.
func (b *bodyReader) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bad
}

// source is where the next bytes of the body are.
func (b *bodyReader) source() *window {
	if b.own != nil {
		return &b.win
	}
	return &b.x.c.in
}

// settle takes the next piece from memory, if there is one. b is locked.
func (b *bodyReader) settle() {
	for len(b.piece) == 0 && b.err == nil && !b.frame.Done() {
		w := b.source()
		skip, data, err := b.frame.Next(w.rest())
		b.piece = w.buf[w.r+skip : w.r+skip+data]
		w.r += skip + data
		b.taken.Add(int64(skip + data))
		b.given += int64(data)
		if err != nil {
			b.bad = true
			b.err = &request.BodyError{Status: 400, Level: errorlog.Error, Log: "client sent invalid chunked body"}
		}
		if skip+data == 0 {
			return
		}
	}
}

// skipHere forgets what is in memory of a body nobody asked for, because whether it ends there, or is broken, decides
// about the connection. It reports whether the body is sound so far.
func (b *bodyReader) skipHere() bool {
	if b.x == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asked {
		for b.settle(); len(b.piece) > 0; b.settle() {
			b.piece = nil
		}
	}
	return b.err == nil
}

// errAborted is what ReadBody returns after AbortBody.
var errAborted = errors.New("reading the request body: aborted")

// ReadBody implements request.Stream.
func (x *exchange) ReadBody() ([]byte, error) {
	b := &x.body
	if b.x == nil {
		return nil, io.EOF
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.asked {
		b.asked = true
		if b.err == nil { // otherwise BodyHere has met what breaks it
			b.err = b.admit()
		}
	}
	for {
		if b.aborted.Load() {
			return nil, errAborted
		}
		b.settle()
		// A chunk counts as soon as its size is known, so that a client is not let send what is refused anyway.
		if n, whole := x.scope().MaxBody, b.given+b.frame.Ahead(); n > 0 && whole > n && x.r.BodyLength < 0 && b.err == nil {
			before := b.given - int64(len(b.piece))
			b.err = &request.BodyError{Status: 413, Level: errorlog.Error, Log: fmt.Sprintf(
				"client intended to send too large chunked body: %d+%d bytes", before, whole-before)}
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
			return nil, err
		}
	}
}

// AbortBody implements request.Stream.
func (x *exchange) AbortBody() {
	if x.body.x != nil {
		x.body.aborted.Store(true)
		_ = x.c.nc.SetReadDeadline(longAgo()) // a dead socket ends the read as well
	}
}

// admit checks the announced length and answers a client that waits to be told to go on.
func (b *bodyReader) admit() error {
	x := b.x
	if n := x.scope().MaxBody; n > 0 && x.r.BodyLength > n {
		return &request.BodyError{Status: 413, Level: errorlog.Error,
			Log: fmt.Sprintf("client intended to send too large body: %d bytes", x.r.BodyLength)}
	}
	if !b.expects { // one that sends its body all the same is told too, as in nginx
		return nil
	}
	return x.sayContinue()
}

// sayContinue tells the client to go on, once, unless the answer is on its way, which makes that pointless.
func (x *exchange) sayContinue() error {
	x.sending.Lock()
	defer x.sending.Unlock()
	if x.r.Response.Sent || x.body.told {
		return nil
	}
	x.body.told = true
	if x.c.write([]byte("HTTP/1.1 100 Continue\r\n\r\n")) != nil {
		x.mute.Store(true)
		return &request.BodyError{Status: 400, Level: errorlog.Info, Log: "client prematurely closed connection"}
	}
	return nil
}

// untouched reports whether nobody has asked for the body, and nothing of it has come. There may be none: nginx tells a client
// that waits for nothing to go on as well.
func (b *bodyReader) untouched() bool {
	if b.x == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.asked && b.taken.Load() == 0 && len(b.x.c.in.rest()) == 0
}

// fill reads more of the body, waiting for client_body_timeout. b is locked before and after, but not meanwhile.
func (b *bodyReader) fill(s *request.Settings) error {
	x := b.x
	x.c.await(x.srv.cfg.Now(), s.BodyTimeout)
	if b.aborted.Load() { // as in arm: look behind our own deadline
		_ = x.c.nc.SetReadDeadline(longAgo())
	}
	n, err := b.more()
	if n > 0 {
		return nil
	}
	if b.aborted.Load() && isTimeout(err) {
		return errAborted
	}
	// As in nginx the client gets no answer: it has left, or is taken for gone.
	x.mute.Store(true)
	e := &request.BodyError{Status: 400, Level: errorlog.Info}
	switch {
	case isTimeout(err):
		e.Status, x.timedOut = 408, true
	case errors.Is(err, io.EOF):
		e.Log = "client prematurely closed connection"
	default:
		e.Log = "recv() failed (" + errorlog.Errno(err) + ")"
	}
	b.err = e
	return e
}

// more reads once into the body's buffer, never beyond a body whose length is known. b is locked before and after, but not
// meanwhile.
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
	b.mu.Unlock()
	n, err := b.x.c.read(b.win.buf[:room])
	b.mu.Lock()
	b.win.w = n
	return n, err
}

// drop reads and forgets what the client still sends of a request that is answered, so that another can follow: for
// lingering_time in all, lingering_timeout between reads (ngx_http_discarded_request_body_handler).
func (b *bodyReader) drop(s *request.Settings) bool {
	x := b.x
	end := x.srv.cfg.Now() + limitgate.Time(s.LingeringTime)
	x.stale = true
	if b.aborted.Swap(false) {
		x.c.rdl.at = 0 // the socket's deadline has passed
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		b.piece = nil
		b.settle()
		if b.err != nil {
			return false
		}
		if len(b.piece) > 0 {
			continue
		}
		if b.frame.Done() {
			return true
		}
		now := x.srv.cfg.Now()
		if now >= end || x.c.killed() {
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
	if b.x != nil && b.aborted.Load() {
		b.x.c.rdl.at = 0 // the socket's deadline has passed
	}
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
	b := &x.body
	if b.x == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return b.frame.Done() && len(b.piece) == 0
}

// BodyHere implements request.Stream.
func (x *exchange) BodyHere() bool {
	b := &x.body
	if b.x == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return len(b.piece) > 0 || b.err != nil
}

// RequestLength implements request.Stream.
func (x *exchange) RequestLength() int64 { return x.headSize + x.body.taken.Load() }

package h2

import (
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/request"
)

// stream is one request and its answer: the engine's half of a request.Request, and its Stream. The goroutine that serves the
// request owns it but for the marked part; it lends its memory to one request at a time.
type stream struct {
	c        *conn
	id       uint32
	opened   limitgate.Time
	r        request.Request
	info     request.Conn
	prog     edge.Program
	settings *request.HeadSettings
	head     head
	declared int64 // Content-Length, -1 without one
	length   atomic.Int64
	inline   uint64 // the number under which the goroutine has the reader's part; 0: it has not
	timedOut bool   // the client was too slow
	answer   answer
	err      error // the client can't be written to
	timer    *time.Timer

	// Guarded by c.mu.
	in       body
	window   h2.Window
	gone     bool // the client does without the answer
	queued   bool // in the connection's queue
	headless bool // it waits to send its head
	leaving  bool // its client took it back, and the connection counts it
	wide     bool // its body has a large window
	called   request.Canceler
	sender   chan struct{} // one may be waiting to send, for room
	wake     chan struct{} // of Sleep
}

var _ request.Stream = (*stream)(nil)

func newStream() *stream {
	s := &stream{sender: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	s.in.came = make(chan struct{}, 1)
	s.r.Stream = s
	return s
}

// begin readies s for a request whose head is about to be read. It reports false where the program does not serve the
// connection's address any more. c is locked, and the caller is its reader.
func (s *stream) begin(c *conn, id uint32) bool {
	s.prog = c.srv.cfg.Source.Acquire()
	info := c.link.Info
	s.settings = s.prog.Head(info)
	if s.settings == nil || (s.settings.TLS != nil) != (info.TLS != nil) {
		c.srv.cfg.Source.Release(s.prog)
		s.prog, s.settings = nil, nil
		return false
	}
	info.Requests++
	s.c, s.id = c, id
	s.info = *info // other streams change it
	s.r.Conn = &s.info
	s.r.Reset()
	s.head.reset()
	s.declared = -1
	s.length.Store(0)
	s.inline, s.timedOut, s.err = 0, false, nil
	s.answer.reset()
	s.in.reset(h2.NewInflow(uint32(c.head.Preread)))
	s.window = h2.NewWindow(c.began)
	s.gone, s.queued, s.headless, s.leaving, s.wide, s.called = false, false, false, false, false, nil
	for _, ch := range [...]chan struct{}{s.sender, s.wake, s.in.came} {
		select {
		case <-ch:
		default:
		}
	}
	s.opened = c.srv.cfg.Now()
	s.r.Start = s.opened
	return true
}

// serve serves a request on the reader's goroutine, and says whether that is the reader still.
func (c *conn) serve(s *stream) turn {
	c.served++
	n := c.served // s may be another request's before it is asked for
	s.inline = n
	c.serving.Store(n)
	c.run(s)
	if c.serving.CompareAndSwap(n, 0) {
		return goOn
	}
	return passed
}

// drop serves a request whose head will not be completed, so that it is logged. c is locked, and the caller is its reader.
func (c *conn) drop(s *stream, why request.Fault) {
	s.r.Now = c.srv.cfg.Now()
	s.r.Major, s.r.ClientAddr = 2, s.info.PeerAddr
	s.r.Fault = why
	s.in.closed, s.answer.closed = true, true // it was told
	// Owned by c, ends with the request, which c waits for.
	go c.run(s)
}

// run carries a request through the program, whatever becomes of it.
func (c *conn) run(s *stream) {
	defer func() {
		if v := recover(); v != nil {
			c.logPanic(v, debug.Stack(), s)
			s.finish(false) // the program may have left a goroutine behind that uses s
			return
		}
		s.finish(true)
	}()
	s.prog.Serve(&s.r)
}

// finish ends the stream. It gives its memory back where that is used by nobody else.
func (s *stream) finish(reuse bool) {
	c := s.c
	s.prog, s.settings = s.release(), nil
	c.mu.Lock()
	delete(c.streams, s.id)
	if s.queued {
		c.dequeue(s)
	}
	s.last()
	c.live--
	s.part()
	if s.answer.done && !s.gone {
		c.answered++
	}
	reader := s.inline != 0 && c.serving.Load() == s.inline
	if !reader {
		c.flush()
	}
	if c.live == 0 {
		c.idleSince = c.srv.cfg.Now()
		if !reader && !c.over && !c.goaway {
			c.rearm(c.idleSince+now(c.head.KeepaliveIdle), c.head.KeepaliveIdle)
		}
	}
	c.link.Host.Ended()
	c.settle()
	c.mu.Unlock()
	s.answer.release(c.srv)
	if reuse {
		s.c = nil
		c.srv.streams.Put(s)
	}
}

// part gives back what s has of the connection besides its place. c is locked.
func (s *stream) part() {
	c := s.c
	if s.wide {
		c.wide--
	}
	if s.leaving {
		if c.leaving--; c.leaving == 0 {
			poke(c.left)
		}
	}
}

// last tells the client what it does not know yet: that no answer comes, or that the rest of its body is for nobody. c is locked.
func (s *stream) last() {
	if s.gone || s.c.over {
		return
	}
	switch {
	case !s.answer.closed && (s.timedOut || s.r.Response.Status == 444): // as in nginx, for which either is a time-out
		s.terminate(http2.ErrCodeProtocol)
	case !s.answer.closed:
		s.terminate(http2.ErrCodeInternal)
	case !s.in.closed:
		s.terminate(http2.ErrCodeNo)
	}
}

// release lets the program go.
func (s *stream) release() edge.Program {
	s.c.srv.cfg.Source.Release(s.prog)
	return nil
}

// terminate ends the stream from our side. c is locked.
func (s *stream) terminate(code http2.ErrCode) {
	s.c.out.buf = h2.AppendReset(s.c.out.buf, s.id, code)
	s.in.closed, s.answer.closed = true, true
	s.leave()
}

// leave notes that the client does without the answer, and ends whatever the request waits for. c is locked.
func (s *stream) leave() {
	if s.gone {
		return
	}
	s.gone = true
	if w := s.called; w != nil {
		s.called = nil
		w.Cancel()
	}
	poke(s.sender)
	poke(s.in.came)
}

// wakeSender wakes who waits to send on the stream. c is locked.
func (s *stream) wakeSender() { poke(s.sender) }

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// aside gives the reader's part to another goroutine, where this one has it: a wait begins.
func (s *stream) aside() {
	n := s.inline
	if n == 0 {
		return
	}
	s.inline = 0
	c := s.c
	if c.serving.CompareAndSwap(n, 0) {
		// Owned by c, ends when the connection does or with the reader's part.
		go c.read()
	}
}

// errGone is what a stream returns whose client does without the answer.
var errGone = errors.New("sending to client: the stream was reset")

// Await implements request.Stream. w is called with a lock held that Await takes.
func (s *stream) Await(w request.Canceler) bool {
	c := s.c
	c.mu.Lock()
	if w == nil {
		s.called = nil
		c.mu.Unlock()
		return true
	}
	if s.gone {
		c.mu.Unlock()
		return false
	}
	s.called = w
	c.mu.Unlock()
	s.aside()
	return true
}

// Sleep implements request.Stream.
func (s *stream) Sleep(d time.Duration) bool {
	if w := s.r.Staller; w != nil {
		w.Stall()
		defer w.Resume()
	}
	if !s.Await(sleeper(s.wake)) {
		return false
	}
	t := s.clock(d)
	defer t.Stop()
	stay := true
	select {
	case <-t.C:
	case <-s.wake:
		stay = false
	}
	s.Await(nil)
	select {
	case <-s.wake: // the client left as the timer went off
		stay = false
	default:
	}
	return stay
}

// clock returns the stream's timer, set.
func (s *stream) clock(d time.Duration) *time.Timer {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	return s.timer
}

// sleeper is the Canceler of Sleep.
type sleeper chan struct{}

// Cancel ends the sleep.
func (s sleeper) Cancel() { poke(s) }

// Tunnel implements request.Stream. A stream is never taken out of HTTP: nothing of HTTP/2 asks for it.
func (s *stream) Tunnel(peer request.Tunneled) error {
	_ = peer.Close()
	return errors.New("opening a tunnel: HTTP/2 has none")
}

// scope returns the directives that apply to the request.
func (s *stream) scope() *request.Settings {
	if s.r.Settings != nil {
		return s.r.Settings
	}
	return &defaults
}

// defaults are nginx's, for a program that found no scope for a request.
var defaults = request.Settings{SendTimeout: time.Minute, BodyTimeout: time.Minute, MaxBody: 1 << 20, ChunkSize: 8 << 10}

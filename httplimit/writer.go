package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/admit"
)

// tracker sees how a response goes. It is made for one request and not used again: a handler may keep it.
type tracker struct {
	http.ResponseWriter
	middleware *Middleware
	request    *http.Request
	visit      *admit.Visit // nil: it has ended
	status     int
	bytes      int64
	hijacked   bool
}

// The forms of a tracker: what a handler finds by asking for an interface is what the response can do.
type (
	flusher  struct{ *tracker }
	pusher   struct{ flusher }
	hijacker struct{ flusher }
	sender   struct{ hijacker }
)

var (
	_ http.Flusher  = flusher{}
	_ http.Pusher   = pusher{}
	_ http.Hijacker = hijacker{}
	_ io.ReaderFrom = sender{}
)

// writer is the tracker in the form that fits.
func (t *tracker) writer() http.ResponseWriter {
	f := flusher{t}
	switch {
	case can[http.Hijacker](t.ResponseWriter):
		if _, ok := t.ResponseWriter.(io.ReaderFrom); ok {
			return sender{hijacker{f}}
		}
		return hijacker{f}
	case can[http.Pusher](t.ResponseWriter):
		return pusher{f}
	case can[http.Flusher](t.ResponseWriter) || can[flushError](t.ResponseWriter):
		return f
	}
	return t
}

type flushError interface{ FlushError() error }

// can tells whether w, or what it wraps, is an I.
func can[I any](w http.ResponseWriter) bool {
	_, ok := find[I](w)
	return ok
}

func find[I any](w http.ResponseWriter) (I, bool) {
	for {
		if i, ok := w.(I); ok {
			return i, true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			var none I
			return none, false
		}
		w = u.Unwrap()
	}
}

// Unwrap lets http.ResponseController reach what is wrapped.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// WriteHeader implements http.ResponseWriter. Those before the final one are passed on and not remembered.
func (t *tracker) WriteHeader(status int) {
	if t.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		t.status = status
	}
	t.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (t *tracker) Write(b []byte) (int, error) {
	t.begin()
	n, err := t.ResponseWriter.Write(b)
	t.bytes += int64(n)
	return n, err
}

func (t *tracker) begin() {
	if t.status == 0 {
		t.status = http.StatusOK
	}
}

// end is the status of a response whose handler returned, or panicked.
func (t *tracker) end(returned bool) int {
	switch {
	case t.hijacked:
		return http.StatusSwitchingProtocols
	case t.status == 0 && !returned:
		return http.StatusInternalServerError
	case t.status == 0:
		return http.StatusOK
	}
	return t.status
}

// Flush implements http.Flusher.
func (f flusher) Flush() {
	// The interface has no way to tell of a client who left; the next write will.
	_ = f.FlushError()
}

// FlushError flushes and tells whether that worked.
func (f flusher) FlushError() error {
	f.begin()
	return http.NewResponseController(f.ResponseWriter).Flush()
}

// Push implements http.Pusher.
func (p pusher) Push(target string, opts *http.PushOptions) error {
	if inner, ok := find[http.Pusher](p.ResponseWriter); ok {
		return inner.Push(target, opts)
	}
	return http.ErrNotSupported
}

// ReadFrom implements io.ReaderFrom, by which files are sent without copying.
func (s sender) ReadFrom(r io.Reader) (int64, error) {
	s.begin()
	n, err := s.ResponseWriter.(io.ReaderFrom).ReadFrom(r)
	s.bytes += n
	return n, err
}

// Hijack implements http.Hijacker. The places are held from there on until the connection is closed.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.hijacked = true
	if h.visit == nil || !h.visit.Holds() {
		return c, rw, nil
	}
	held := &heldConn{Conn: c, tracker: h.tracker}
	if half, ok := c.(halfCloser); ok {
		return &halfConn{held, half}, rw, nil
	}
	return held, rw, nil
}

// heldConn gives places back when it is closed.
type heldConn struct {
	net.Conn
	tracker *tracker
	closed  atomic.Bool
}

// Close implements net.Conn.
func (c *heldConn) Close() error {
	err := c.Conn.Close()
	if !c.closed.Swap(true) {
		r := c.tracker.request
		c.tracker.middleware.told(r, c.tracker.visit.Release(r.Context()))
	}
	return err
}

type halfCloser interface{ CloseWrite() error }

// halfConn is one that can close one direction.
type halfConn struct {
	*heldConn
	halfCloser
}

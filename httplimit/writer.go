package httplimit

import (
	"bufio"
	"errors"
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

// What a response may be able to do beyond http.ResponseWriter, by which a handler finds out: by asking for an interface. Each is a part of
// the tracker's shape exactly if the writer below has it, but for hijacking, which has to be seen also where it is done through Unwrap.
type (
	flushes  struct{ t *tracker }
	hijacks  struct{ t *tracker }
	sends    struct{ t *tracker }
	pushes   struct{ t *tracker }
	notifies struct{ t *tracker }
	texts    struct{ t *tracker }
)

// The interfaces that they stand for, where package http has none, or none that is not deprecated: gin's Stream needs the first.
type (
	closeNotifier interface{ CloseNotify() <-chan bool }
	readerFrom    interface{ io.ReaderFrom }
	stringWriter  interface{ io.StringWriter }
)

var (
	_ http.Flusher  = flushes{}
	_ http.Hijacker = hijacks{}
	_ io.ReaderFrom = sends{}
	_ http.Pusher   = pushes{}
	_ closeNotifier = notifies{}
	_ stringWriter  = texts{}
)

// is tells whether w is an I.
func is[I any](w http.ResponseWriter) bool {
	_, ok := w.(I)
	return ok
}

// can tells whether w, or what it wraps, is an I.
func can[I any](w http.ResponseWriter) bool {
	for !is[I](w) {
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
	return true
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

// FlushError flushes and tells whether that worked, for http.ResponseController.
func (t *tracker) FlushError() error {
	err := http.NewResponseController(t.ResponseWriter).Flush()
	if !errors.Is(err, http.ErrNotSupported) {
		t.begin()
	}
	return err
}

// Flush implements http.Flusher.
func (f flushes) Flush() {
	f.t.begin()
	f.t.ResponseWriter.(http.Flusher).Flush()
}

// Push implements http.Pusher.
func (p pushes) Push(target string, opts *http.PushOptions) error {
	return p.t.ResponseWriter.(http.Pusher).Push(target, opts)
}

// CloseNotify implements http.CloseNotifier.
func (n notifies) CloseNotify() <-chan bool { return n.t.ResponseWriter.(closeNotifier).CloseNotify() }

// ReadFrom implements io.ReaderFrom, by which files are sent without copying.
func (s sends) ReadFrom(r io.Reader) (int64, error) {
	s.t.begin()
	n, err := s.t.ResponseWriter.(io.ReaderFrom).ReadFrom(r)
	s.t.bytes += n
	return n, err
}

// WriteString implements io.StringWriter, by which a text is written without copying.
func (x texts) WriteString(text string) (int, error) {
	x.t.begin()
	n, err := x.t.ResponseWriter.(io.StringWriter).WriteString(text)
	x.t.bytes += int64(n)
	return n, err
}

// Hijack implements http.Hijacker. The places are held from there on until the connection is closed.
func (h hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t := h.t
	c, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	t.hijacked = true
	if t.visit == nil || !t.visit.Holds() {
		return c, rw, nil
	}
	held := &heldConn{Conn: c, tracker: t}
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

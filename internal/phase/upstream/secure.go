package upstream

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// cable is the socket below TLS. A write that TLS has begun must not end half way, or nothing can follow: so the time limits of
// writing are kept here, by what the socket takes.
type cable struct {
	socket
	c      *conn
	by     atomic.Pointer[waiter] // who writes; nil: the socket's own deadlines count
	limit  atomic.Int64           // of that, a time.Duration
	ending atomic.Bool            // only the end of TLS is still to be said
}

// closeTimeout is how long the end of TLS may take to be said to a peer that takes nothing.
const closeTimeout = 20 * time.Millisecond

// Write implements net.Conn.
func (l *cable) Write(b []byte) (int, error) {
	w := l.by.Load()
	if w == nil || l.ending.Load() {
		return l.socket.Write(b)
	}
	return l.c.push(l.socket, w, b, time.Duration(l.limit.Load()))
}

// SetWriteDeadline implements net.Conn. crypto/tls gives its last word five seconds.
func (l *cable) SetWriteDeadline(t time.Time) error {
	if l.ending.Load() {
		t = time.Now().Add(closeTimeout)
	}
	return l.socket.SetWriteDeadline(t)
}

// writer says whose time limit writes keep from now on; nil: none.
func (l *cable) writer(w *waiter, limit time.Duration) {
	if l != nil {
		l.limit.Store(int64(limit))
		l.by.Store(w)
	}
}

// buffered reports whether something was read of a kept connection that nobody has asked for. It does not wait.
func (c *conn) buffered() bool {
	if c.line == nil {
		return false
	}
	c.rd.at = 0
	if c.nc.SetReadDeadline(time.Unix(1, 0)) != nil {
		return true
	}
	var b [1]byte
	_, err := c.nc.Read(b[:])
	return !isTimeout(err)
}

// hangUp closes the connection; one that is encrypted says so first.
func (c *conn) hangUp() {
	if c.line != nil {
		c.line.ending.Store(true)
	}
	_ = c.nc.Close() // nothing more is expected of it
}

// shakeError is a failure of TLS, where the log must tell it from one of connecting.
type shakeError struct{ err error }

func (e *shakeError) Error() string { return "SSL handshaking to upstream: " + e.err.Error() }
func (e *shakeError) Unwrap() error { return e.err }

// secure makes a connection one that is encrypted. Where that fails it is closed.
func (c *conn) secure(ctx context.Context, h *tlsconf.Handshake, now time.Time) error {
	c.line = &cable{socket: c.nc, c: c}
	t, err := h.Shake(ctx, c.line, string(c.peer.name), now)
	if err != nil {
		_ = c.line.Close() // the fault is another one
		return &shakeError{err}
	}
	c.nc, c.key = t, h.Key()
	return nil
}

// prepare finds how the request shakes hands with peers, if it does.
func (x *exchange) prepare() {
	x.shake = nil
	if !x.place.secure {
		return
	}
	host := x.r.ProxyHost
	if x.h.calls != nil {
		host = x.place.host
	}
	x.shake = x.h.tls.Prepare(x.r, host)
}

const shaking = " while SSL handshaking to upstream"

// shakeFault says why there is no encrypted connection (ngx_http_upstream_ssl_handshake).
func (x *exchange) shakeFault(ctx context.Context, err error) *fault {
	f := &fault{level: errorlog.Error, doing: shaking}
	var untrusted *tlsconf.UntrustedError
	var unread *tlsconf.LoadError
	var e syscall.Errno
	switch {
	case x.gone.Load():
		f.kind = faultLeft
	case errors.As(err, &untrusted):
		f.log = untrusted.Error()
	case errors.As(err, &unread): // nginx has connected, and does not shake hands yet
		f.kind, f.named, f.log, f.doing = faultOurs, true, unread.Error(), connecting
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || isTimeout(err):
		f.kind, f.log = faultTimeout, timedOut
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		f.log = "peer closed connection in SSL handshake"
	case errors.As(err, &e):
		f.log = "peer closed connection in SSL handshake (" + errorlog.Errno(e) + ")"
	default:
		f.log = "SSL_do_handshake() failed (SSL: " + openssl.HandshakeFailure(errors.Unwrap(err)) + ")"
	}
	return f
}

// failure is what the log says of a read or a write that failed. call is that of a socket.
func (x *exchange) failure(call string, err error) string {
	var e syscall.Errno
	if x.shake == nil || errors.As(err, &e) {
		return call + " failed (" + errorlog.Errno(err) + ")"
	}
	if call == "recv()" {
		call = "SSL_read()"
	} else {
		call = "SSL_write()"
	}
	return call + " failed (SSL: " + openssl.HandshakeFailure(err) + ")"
}

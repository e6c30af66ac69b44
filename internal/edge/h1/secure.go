package h1

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/openssl"
	"github.com/limitgate/limitgate/internal/request"
)

// wire is the socket below TLS: it gives back what was read before anybody knew that it was TLS, and keeps the time limits of
// writing by what the socket takes, not by what TLS sends at a time.
type wire struct {
	net.Conn
	c     *conn
	first []byte
}

// Info tells who is there, for certificates that depend on it.
func (w *wire) Info() *request.Conn { return &w.c.info }

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	if len(w.first) > 0 {
		n := copy(p, w.first)
		w.first = w.first[n:]
		return n, nil
	}
	return w.Conn.Read(p)
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	for n := 0; ; {
		if !w.c.ending {
			w.c.armWrite()
		}
		m, err := w.Conn.Write(p[n:])
		n += m
		if n == len(p) || err != nil && (m == 0 || !isTimeout(err) || w.c.killed()) {
			return n, err
		}
	}
}

// secure shakes hands with a client of an address that speaks TLS. A client that does not is served as it is: the program
// tells it so. It reports false where the connection is to be closed.
func (c *conn) secure(config *tls.Config) bool {
	c.hailed = true
	if !c.firstBytes() {
		return false
	}
	// A record of a handshake, or a hello of SSLv2.
	if first := c.in.rest()[0]; first != 0x16 && first&0x80 == 0 {
		return true
	}
	w := &wire{Conn: c.nc, c: c, first: append([]byte(nil), c.in.rest()...)}
	c.in.r = c.in.w
	c.detach()
	t := tls.Server(w, config)
	c.crypt = t
	if err := t.Handshake(); err != nil {
		c.logHandshake(err)
		return false
	}
	if c.info.TLS == nil { // who has chosen the server may know more
		c.info.TLS = &request.TLS{}
	}
	describe(c.info.TLS, t.ConnectionState())
	c.tc = t
	return true
}

// describe notes what came of a handshake.
func describe(to *request.TLS, state tls.ConnectionState) {
	to.ServerName, to.Protocol, to.Cipher = state.ServerName, openssl.VersionName(state.Version), openssl.CipherName(state.CipherSuite)
	to.Curve, to.ALPN, to.Reused, to.Peer = openssl.GroupName(state.CurveID), state.NegotiatedProtocol, state.DidResume, state.PeerCertificates
	if len(to.Peer) > 0 {
		to.ID = openssl.Identify(to.Peer[0])
	}
}

// firstBytes waits for something to tell TLS by.
func (c *conn) firstBytes() bool {
	for c.attach(); c.in.r == c.in.w; {
		c.room()
		n, err := c.read(c.in.buf[c.in.w:])
		c.in.w += n
		if err != nil {
			c.logHandshake(err)
			return false
		}
	}
	return true
}

// reset reports whether a connection was broken off by the client.
func reset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// logHandshake tells why there is no encrypted connection, as nginx does.
func (c *conn) logHandshake(err error) {
	const doing = " while SSL handshaking"
	if c.killed() || c.draining() && isTimeout(err) {
		return
	}
	var unusable interface{ LoadFailure() string }
	switch {
	case isTimeout(err):
		c.logAlone(errorlog.Info, "client timed out (110: Connection timed out)"+doing)
	case errors.Is(err, io.EOF) && c.crypt == nil:
		c.logAlone(errorlog.Info, "client closed connection"+doing)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		c.logAlone(errorlog.Info, "peer closed connection in SSL handshake"+doing)
	case reset(err):
		c.logAlone(errorlog.Info, "peer closed connection in SSL handshake ("+errorlog.Errno(err)+")"+doing)
	case errors.As(err, &unusable):
		c.logAlone(errorlog.Error, unusable.LoadFailure()+doing)
	case strings.Contains(err.Error(), "no certificates configured"): // which is how a server refuses
		c.logAlone(errorlog.Info, "handshake rejected"+doing)
	default:
		c.logAlone(errorlog.Info, "SSL_do_handshake() failed (SSL: "+openssl.HandshakeFailure(err)+")"+doing)
	}
}

// shutWrite ends our side: TLS first, then the socket.
func (c *conn) shutWrite() bool {
	if c.tc != c.nc {
		_ = c.crypt.CloseWrite() // a client that has left is seen by the next line
	}
	cw, ok := c.nc.(interface{ CloseWrite() error })
	return ok && cw.CloseWrite() == nil
}

// closeTimeout is how long the end of TLS may take to be said to a client that takes nothing.
const closeTimeout = time.Second

// hangUp closes the connection. One that is encrypted says so first, unless it was cut off.
func (c *conn) hangUp() {
	if c.reset {
		if tcp, ok := c.nc.(interface{ SetLinger(sec int) error }); ok {
			_ = tcp.SetLinger(0) // or it ends like others
		}
	} else if c.tc != c.nc && !c.killed() {
		c.ending = true
		_ = c.nc.SetWriteDeadline(time.Now().Add(closeTimeout))
		_ = c.crypt.CloseWrite() // the client may have left
	}
	_ = c.nc.Close() // nothing can be done about it, and nobody is told
}

package h1

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// inputSize is what a connection's input buffer starts with; only large heads need more.
const inputSize = 4096

// window is a buffer of which [r, w) is not used yet.
type window struct {
	buf  []byte
	r, w int
}

func (b *window) rest() []byte { return b.buf[b.r:b.w] }

// connState is what a connection is doing, for the counters and for who wants to end it.
type connState uint32

const (
	fresh   connState = iota // has not sent a byte yet
	idle                     // between requests
	reading                  // in a head
	writing                  // a request is being served
	closed
)

// conn is one client connection. All but the marked fields belong to the goroutine in run.
type conn struct {
	srv    *Server
	nc     net.Conn  // the socket: deadlines and events are its
	tc     net.Conn  // what bytes go through: nc, or TLS on it
	crypt  *tls.Conn // nil: nobody spoke TLS
	hailed bool      // it came to an address that speaks TLS
	ending bool      // the end of TLS is being said: no more time for it
	at     net.Addr  // of the listener
	info   request.Conn
	raw    raw
	in     window
	x      *exchange // nil while idle

	state   atomic.Uint32 // a connState; read by any goroutine
	rdl     deadline
	wdl     deadline
	began   limitgate.Time // of the wait that the read deadline is for
	wait    time.Duration
	sent    int64 // bytes ever written
	idleFor time.Duration
	log     *errorlog.Log // of the last request, for what happens between requests
	linger  *request.Settings
	piped   bool // the next request's first bytes came with the last
	strayed bool // stray has happened
	reset   bool // it is to end with a reset: reset_timedout_connection

	presence presence
	taken    atomic.Pointer[taken] // set once another engine serves it
	leaving  atomic.Bool           // its listener is gone: no other request follows
	cut      atomic.Bool           // it waits for nothing any more
	opened   uint64                // the server's turn when it was accepted
	turn     atomic.Uint64         // and when its last request began

	next, prev *conn // guarded by srv.mu
}

func newConn(s *Server, nc net.Conn, at net.Addr, listener int) *conn {
	c := &conn{srv: s, nc: nc, tc: nc, at: at}
	c.info = request.Conn{Serial: s.serial.Add(1), Start: s.cfg.Now(), Listener: listener}
	c.opened = s.turn.Load()
	c.turn.Store(c.opened)
	c.info.PeerAddr = addrPort(nc.RemoteAddr())
	c.info.LocalAddr = addrPort(nc.LocalAddr())
	if a, ok := at.(*net.UnixAddr); ok {
		c.info.UnixPath = a.Name
	}
	return c
}

// run serves the connection from its first byte to its end.
func (c *conn) run() {
	defer c.end()
	p := c.srv.cfg.Source.Acquire()
	head := p.Head(&c.info)
	if head == nil {
		c.srv.cfg.Source.Release(p)
		return
	}
	timeout, proxied, secure := head.HeaderTimeout, head.ProxyProtocol, head.TLS
	c.log = head.ErrorLog
	c.srv.cfg.Source.Release(p)

	c.await(c.info.Start, timeout)
	if proxied && !c.readProxyHeader() || secure != nil && !c.secure(secure) {
		return
	}
	if speaks, ended := c.speaksHTTP2(head.HTTP2, secure != nil); speaks || ended {
		if speaks {
			c.handOver(head)
		}
		return
	}
	if c.tc == c.nc {
		c.raw.open(c)
	}
	switch {
	case c.advance(false) == finished: // of what came with the header
	case c.raw.ready:
		c.runReady()
	default:
		c.runPortable()
	}
	if c.linger != nil {
		c.lingerClose()
	}
}

// end closes the connection whatever way run came to its end, a panic in the program included.
func (c *conn) end() {
	if v := recover(); v != nil {
		c.logPanic(v, debug.Stack())
		if c.x != nil {
			c.x.releaseProgram()
			c.x = nil // the program may have left a goroutine behind that uses it
		}
	}
	c.enter(closed)
	c.presence.close(c)
	if c.x != nil {
		c.x.abandon()
		c.detach()
	}
	c.hangUp()
	c.srv.remove(c)
}

// logPanic writes one line that names the request and one with the stack.
func (c *conn) logPanic(v any, stack []byte) {
	msg := fmt.Sprintf("panic while serving a request: %v", v)
	frames := "stack: " + strings.NewReplacer("\n\t", " ", "\n", "; ").Replace(strings.TrimSpace(string(stack)))
	if x := c.x; x != nil && x.r.Settings != nil {
		x.r.Logf(errorlog.Alert, "%s", msg)
		x.r.Settings.ErrorLog.Write(errorlog.Alert, c.info.Serial, frames)
		return
	}
	c.log.Write(errorlog.Alert, c.info.Serial, msg)
	c.log.Write(errorlog.Alert, c.info.Serial, frames)
}

// enter changes the connection's state and the server's counts.
func (c *conn) enter(to connState) {
	from := connState(c.state.Load())
	if from == to {
		return
	}
	c.state.Store(uint32(to))
	switch from {
	case reading:
		c.srv.reading.Add(-1)
	case writing:
		c.srv.writing.Add(-1)
	}
	switch to {
	case reading:
		c.srv.reading.Add(1)
	case writing:
		c.srv.writing.Add(1)
	}
}

// await sets the time at which a wait for bytes that began at an instant is over.
func (c *conn) await(began limitgate.Time, t time.Duration) {
	c.began, c.wait = began, t
	c.arm()
}

// longAgo is a deadline that ends any wait.
func longAgo() time.Time { return time.Unix(1, 0) }

// arm sets the read deadline where the one that stands won't do. Whoever ends the wait from outside raises a flag first
// and sets a deadline then, so looking at the flags behind our own misses neither.
func (c *conn) arm() {
	need := c.began + limitgate.Time(c.wait)
	if c.rdl.due(need, c.wait) {
		_ = c.nc.SetReadDeadline(time.Now().Add(time.Duration(c.rdl.at - c.srv.cfg.Now()))) // a dead socket shows at the read
	}
	if c.draining() {
		c.drain()
		if c.killed() {
			_ = c.nc.SetDeadline(longAgo())
		}
	}
}

// draining reports whether the connection takes no other request.
func (c *conn) draining() bool { return c.leaving.Load() || c.srv.draining.Load() }

// drain ends the connection's wait if it has no request under way. Any goroutine may call it once draining holds.
func (c *conn) drain() {
	if t := c.taken.Load(); t != nil {
		t.Drain()
		return
	}
	switch connState(c.state.Load()) {
	case idle:
		_ = c.nc.SetReadDeadline(longAgo())
	case fresh:
		_ = c.nc.SetReadDeadline(time.Now().Add(firstRequestGrace))
	}
}

// killed reports whether the connection waits for nothing any more, alone or with all others.
func (c *conn) killed() bool { return c.cut.Load() || c.srv.killed.Load() }

// kill ends every wait of the connection. Any goroutine may call it once killed holds.
func (c *conn) kill() {
	if t := c.taken.Load(); t != nil {
		t.Kill()
	}
	c.presence.leave()
	_ = c.nc.SetDeadline(longAgo())
}

// stray reports whether a read ended because of a deadline that was meant for an earlier state of the connection: a
// request came while the server began to drain. The wait then goes on.
func (c *conn) stray(err error) bool {
	if !isTimeout(err) || !c.draining() || c.killed() || c.strayed || c.x != nil && c.x.body.aborted.Load() {
		return false
	}
	s := connState(c.state.Load())
	if s != reading && s != writing {
		return false
	}
	c.strayed, c.rdl.at = true, 0
	c.arm()
	return true
}

// read reads once the portable way, within the time await has set.
func (c *conn) read(p []byte) (int, error) {
	for {
		n, err := c.tc.Read(p)
		if n > 0 {
			return n, nil
		}
		if err == nil || c.stray(err) {
			continue
		}
		return 0, err
	}
}

// runPortable serves requests on any net.Conn.
func (c *conn) runPortable() {
	for {
		c.attach()
		c.room()
		n, err := c.read(c.in.buf[c.in.w:])
		c.in.w += n
		if err != nil {
			c.lost(err)
			return
		}
		if c.advance(false) == finished {
			return
		}
	}
}

// progress is how far advance came.
type progress uint8

const (
	hungry   progress = iota // everything that is here was used: more bytes are needed
	finished                 // the connection is to be closed
	apart                    // a request is read that can't be served without reading more
)

// advance reads and serves what the input buffer holds. ready says that the caller is inside the poll loop, where nobody
// else may read the socket.
func (c *conn) advance(ready bool) progress {
	for c.in.r < c.in.w {
		x := c.attach()
		if !x.begun && !x.begin() {
			return finished
		}
		if !x.parse() {
			if x.head.Started() {
				c.enter(reading)
			}
			c.await(c.headStart(), x.settings.HeaderTimeout)
			return hungry
		}
		if ready && !x.whole() {
			return apart
		}
		if !c.serveRequest() {
			return finished
		}
		c.piped = true
	}
	c.in.r, c.in.w, c.piped = 0, 0, false
	if c.info.Requests == 0 {
		return hungry // nothing was here yet
	}
	now := c.x.clock()
	c.detach()
	c.enter(idle)
	if c.draining() {
		return finished
	}
	c.await(now, c.idleFor)
	return hungry
}

// headStart is when the time for the current head began: for the first request with the connection.
func (c *conn) headStart() limitgate.Time {
	if c.info.Requests <= 1 {
		return c.info.Start
	}
	return c.x.r.Start
}

// lost deals with the end of reading between requests or inside a head: what was begun is served as a fault, so that it is
// logged, and nginx answers nothing.
func (c *conn) lost(err error) {
	x := c.x
	if x == nil || !x.begun || !x.head.Started() {
		c.logIdleEnd(err)
		return
	}
	if c.killed() {
		return
	}
	x.mute.Store(true)
	x.truncated()
	x.r.Fault = request.Fault{Status: 400, Log: "client prematurely closed connection while " + x.head.Reading()}
	switch {
	case isTimeout(err):
		x.timedOut = true
		x.r.Fault = request.Fault{Status: 408, Log: "client timed out (110: Connection timed out) while " + x.head.Reading()}
	case !errors.Is(err, io.EOF):
		x.r.Fault.Log = "recv() failed (" + errorlog.Errno(err) + ") while " + x.head.Reading()
	}
	c.serveRequest()
}

// logIdleEnd says what nginx says of a connection that ends without a request under way.
func (c *conn) logIdleEnd(err error) {
	if !c.log.On(errorlog.Info) || c.draining() {
		return
	}
	state := connState(c.state.Load())
	switch {
	case state == idle && errors.Is(err, io.EOF):
		c.log.Write(errorlog.Info, c.info.Serial, "client "+c.clientName()+" closed keepalive connection")
	case state == fresh && errors.Is(err, io.EOF):
		c.logAlone(errorlog.Info, "client closed connection while waiting for request")
	case state == fresh && isTimeout(err):
		c.logAlone(errorlog.Info, "client timed out (110: Connection timed out) while waiting for request")
	}
}

// logAlone logs an event before the first request, as nginx does: with the client and the address it came to.
func (c *conn) logAlone(level errorlog.Level, msg string) {
	if c.log.On(level) {
		c.log.Write(level, c.info.Serial, msg+", client: "+c.clientName()+", server: "+c.serverName())
	}
}

func (c *conn) clientName() string { return string(request.AppendAddr(nil, c.info.PeerAddr.Addr())) }

// serverName is how nginx's log names a listener: its address.
func (c *conn) serverName() string {
	if u, ok := c.at.(*net.UnixAddr); ok {
		return "unix:" + u.Name
	}
	return c.at.String()
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// attach gives the connection an exchange, and with it input memory.
func (c *conn) attach() *exchange {
	if c.x == nil {
		c.x = c.srv.exchanges.Get().(*exchange)
		c.x.attach(c)
	}
	return c.x
}

// detach returns both. All input was used, and nothing of a request may be in use.
func (c *conn) detach() {
	c.x.detach()
	c.srv.exchanges.Put(c.x)
	c.x = nil
}

// room makes place for at least one more byte of input. A head that was parsed in part may move, as its parser allows; one
// that is complete never needs more room.
func (c *conn) room() {
	if c.in.w < len(c.in.buf) {
		return
	}
	keep := c.in.buf[c.in.r:c.in.w]
	if c.in.r < len(c.in.buf)/2 {
		c.in.buf = make([]byte, 2*len(c.in.buf))
	}
	c.in.w = copy(c.in.buf, keep)
	c.in.r = 0
}

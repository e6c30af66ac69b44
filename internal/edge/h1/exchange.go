package h1

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// exchange is one request and its answer: the engine's half of a request.Request, and its Stream. It lends its memory to
// one connection at a time.
type exchange struct {
	srv *Server
	c   *conn
	r   request.Request
	in  [inputSize]byte // what the connection's input begins with

	prog     edge.Program // held from begin to the end of the answer
	settings *request.HeadSettings
	rules    h1.Rules
	ruled    *request.HeadSettings // whose rules these are
	head     h1.Request
	begun    bool
	resumed  bool // the head did not come in one piece
	now      limitgate.Time
	stale    bool  // now was read before a wait
	sentAt   int64 // c.sent when the request began
	headSize int64

	body   bodyReader
	answer answer

	mute     atomic.Bool // the client gets nothing (more)
	timedOut bool        // the client was too slow
	awaited  bool        // Await was called and not taken back
	err      error       // the client can't be written to

	// sending is held where 100 Continue and the answer's head could meet: they may come from two goroutines.
	sending sync.Mutex
}

var _ request.Stream = (*exchange)(nil)

func newExchange(s *Server) *exchange {
	x := &exchange{srv: s}
	x.r.Stream = x
	return x
}

func (x *exchange) attach(c *conn) {
	x.c = c
	c.in = window{buf: x.in[:]}
	x.r.Conn = &c.info
}

func (x *exchange) detach() {
	x.c.in = window{}
	x.c, x.r.Conn = nil, nil
	x.begun = false
}

// abandon gives back what a request that never came to its end holds.
func (x *exchange) abandon() {
	x.answer.release(x.srv)
	x.body.release(x.srv)
	x.releaseProgram()
}

func (x *exchange) releaseProgram() {
	if x.prog != nil {
		x.srv.cfg.Source.Release(x.prog)
		x.prog, x.settings = nil, nil
	}
}

// clock returns the time, read anew only when something was waited for since the last reading.
func (x *exchange) clock() limitgate.Time {
	if x.stale {
		x.now, x.stale = x.srv.cfg.Now(), false
	}
	return x.now
}

// begin readies x for the request whose first byte is here. It reports false where the program does not serve the
// connection's address, or speaks TLS there since a reload: an idle connection whose listener went away may get a byte before
// it sees its end.
func (x *exchange) begin() bool {
	c := x.c
	if turn := x.srv.turn.Load(); c.turn.Load() != turn {
		c.turn.Store(turn)
	}
	x.prog = x.srv.cfg.Source.Acquire()
	x.settings = x.prog.Head(&c.info)
	if x.settings == nil || x.settings.TLS != nil && !c.hailed {
		x.releaseProgram()
		return false
	}
	if x.settings != x.ruled {
		s := x.settings
		x.ruled = s
		x.rules = h1.Rules{
			FirstBuffer: s.HeaderBuffer, LargeBuffer: s.LargeSize, LargeBuffers: s.LargeBuffers,
			Underscores: s.Underscores, KeepInvalid: !s.IgnoreInvalid, KeepSlashes: !s.MergeSlashes,
		}
	}
	x.r.Reset()
	x.head.Reset()
	x.begun, x.resumed, x.awaited, x.stale, x.timedOut, x.err = true, false, false, false, false, nil
	x.mute.Store(false)
	x.now = x.srv.cfg.Now()
	x.r.Start = x.now
	x.r.Pipelined = c.piped
	x.sentAt, x.headSize = c.sent, 0
	x.answer.reset()
	x.body.reset()
	c.info.Requests++
	return true
}

// parse goes on reading the head and reports whether it is complete, or can't become a request.
func (x *exchange) parse() bool {
	c := x.c
	b := c.in.rest()
	done, err := x.head.Parse(b, &x.rules)
	if err == nil && !done {
		x.resumed = true
		return false
	}
	if x.resumed {
		x.now = x.srv.cfg.Now()
	}
	x.translate(b)
	x.headSize = int64(x.head.Length())
	if err != nil {
		x.r.Fault = request.Fault{Status: h1.Status(err), Log: err.Error()}
		c.in.r = c.in.w
		return true
	}
	x.noteDropped(b)
	x.body.begin(x)
	c.in.r += x.head.Size()
	return true
}

// truncated readies the request of a head that will not be completed.
func (x *exchange) truncated() {
	x.now = x.srv.cfg.Now()
	x.translate(x.c.in.rest())
	x.headSize = int64(x.head.Length())
	x.c.in.r = x.c.in.w
}

// translate fills the request from the parsed head. The request's slices point into b and the parser.
func (x *exchange) translate(b []byte) {
	x.r.Now = x.now
	x.r.ClientAddr = x.c.info.PeerAddr
	edge.Translate(&x.r, &x.head, b)
}

// noteDropped leaves what is to be said of lines that were left out to the program, which knows who is asked.
func (x *exchange) noteDropped(b []byte) {
	if len(x.head.Dropped) == 0 || !x.settings.ErrorLog.On(errorlog.Info) {
		return
	}
	for i := range x.head.Dropped {
		x.r.Dropped = append(x.r.Dropped, x.head.DropMessage(b, i))
	}
}

// whole reports whether the request can be served without reading more of the connection.
func (x *exchange) whole() bool {
	if x.r.Fault.Status != 0 {
		return true
	}
	return x.body.here() && !x.head.Has(header.Upgrade)
}

// serveRequest carries one request through the program and reports whether the connection may carry another.
func (c *conn) serveRequest() bool {
	x := c.x
	c.enter(writing)
	c.srv.requests.Add(1)
	x.prog.Serve(&x.r)
	c.presence.rest(c)
	if x.awaited {
		x.Await(nil)
	}
	more := x.finish()
	x.answer.release(c.srv)
	x.body.release(c.srv)
	x.releaseProgram()
	x.begun = false
	return more
}

// finish decides what becomes of the connection, as ngx_http_finalize_connection does.
func (x *exchange) finish() bool {
	c, r := x.c, &x.r
	s := x.scope()
	c.log = s.ErrorLog
	if c.log == nil {
		c.log = x.settings.ErrorLog
	}
	c.idleFor = s.KeepaliveTimeout
	c.reset = s.ResetTimedout && (x.timedOut || r.Response.Silent && r.Response.Status == 444)
	if r.Response.Silent || x.mute.Load() || x.err != nil || !r.Response.Sent || !x.answer.done {
		return false
	}
	if x.answer.keep && !x.body.over() {
		x.answer.keep = x.body.drop(s)
		if !x.answer.keep {
			return false
		}
	}
	if x.answer.keep && !c.draining() {
		return true
	}
	// After a fault some of the client's bytes are most likely unread.
	open := r.Response.Linger || r.Fault.Status != 0 || c.in.r < c.in.w || !x.body.over() && !x.body.broken()
	if s.LingeringClose == request.LingerAlways || s.LingeringClose == request.LingerOn && open {
		c.linger = s
	}
	return false
}

// scope returns the directives that apply to the request.
func (x *exchange) scope() *request.Settings {
	if x.r.Settings != nil {
		return x.r.Settings
	}
	return &defaults
}

// defaults are nginx's, for a program that found no scope for a request.
var defaults = request.Settings{
	SendTimeout: 60 * time.Second, BodyTimeout: 60 * time.Second, KeepaliveTimeout: 75 * time.Second, KeepaliveRequests: 1000,
	KeepaliveTime: time.Hour, LingeringTime: 30 * time.Second, LingeringTimeout: 5 * time.Second, MaxBody: 1 << 20,
}

// addrPort returns the address of one end of a connection; of a unix socket there is none.
func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort()
	}
	return netip.AddrPort{}
}

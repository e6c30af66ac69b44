package h2

import (
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/request"
)

// inputSize is how much is read at once; tableSize is the table of header compression, on both sides.
const (
	inputSize = 16 << 10
	tableSize = 4 << 10
)

// graceTime is how long a request may keep the reader's part: longer than nearly every one takes that waits for nothing.
const graceTime = time.Millisecond

// conn is one client connection. The first group belongs to whoever has the reader's part.
type conn struct {
	srv  *Server
	link *edge.Link
	head *request.HeadSettings // when the connection began

	own        *[inputSize]byte
	in         []byte // read and not used yet, in own
	frames     *http2.Framer
	fields     *h2.Decoder
	block      block   // the head that is being read
	lead       [6]byte // what stands before the fields of a HEADERS frame
	inside     bool    // a frame was begun
	blockedAt  limitgate.Time
	served     uint64 // requests
	newStreams int    // since bytes were read last
	tookBack   bool   // a stream, since a request was served last
	count      tally

	serving atomic.Uint64 // the number of the request that the reader is serving; 0: none
	guard   *time.Timer   // takes the reader's part from one that serves for long

	mu         sync.Mutex // guards what follows, and the same part of all streams
	streams    map[uint32]*stream
	lastID     uint32 // of streams, the last that was looked at
	highest    uint32 // the last of all
	live       int    // requests under way
	send       h2.Window
	began      uint32 // where the windows of streams begin
	frameSize  int    // that the client takes
	inflow     h2.Inflow
	out        output
	goaway     bool // no other request is taken
	killed     bool
	over       bool // nobody reads any more
	rotten     bool // it ended with an error that the client was told of
	ended      bool // done is closed
	idleSince  limitgate.Time
	deadline   limitgate.Time // of reading; 0: none
	done       chan struct{}  // closed when nothing is under way and nobody reads
	told       bool           // a flood was logged
	answered   int            // requests since the reader looked, while it counts those that were taken back
	outTotal   int64          // bytes sent, and those of use, since the reader looked
	outPayload int64
	wide       int           // bodies with a large window
	leaving    int           // streams that were taken back, and whose requests have not ended
	left       chan struct{} // the last of these has
}

func newConn(s *Server, l *edge.Link) *conn {
	c := &conn{
		srv: s, link: l, streams: make(map[uint32]*stream), send: h2.NewWindow(h2.DefaultWindow), began: h2.DefaultWindow,
		frameSize: h2.MinFrameSize, inflow: h2.NewInflow(h2.MaxWindow), done: make(chan struct{}), left: make(chan struct{}, 1),
	}
	c.frames = http2.NewFramer(nil, (*input)(c))
	c.frames.SetReuseFrames()
	c.frames.SetMaxReadFrameSize(h2.MaxFrameSize)
	c.fields = h2.NewDecoder(tableSize, c.field)
	c.guard = time.AfterFunc(time.Hour, c.relieve)
	c.guard.Stop()
	if l.Conn == l.Socket {
		if sc, ok := l.Socket.(syscall.Conn); ok {
			c.out.raw, _ = sc.SyscallConn()
		}
	}
	return c
}

// Serve implements edge.Taken.
func (c *conn) Serve() bool {
	p := c.srv.cfg.Source.Acquire()
	c.head = p.Head(c.link.Info)
	c.srv.cfg.Source.Release(p)
	if c.head == nil {
		return false
	}
	now := c.srv.cfg.Now()
	c.blockedAt = now
	c.count.begin(c.head)
	c.own = c.srv.inputs.Get().(*[inputSize]byte)
	if first := c.link.First; len(first) <= inputSize {
		c.in = c.own[:copy(c.own[:], first)]
	} else {
		c.in = first
	}
	c.mu.Lock()
	c.idleSince = now
	c.out.buf = h2.AppendSettings(c.out.buf,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(c.head.MaxStreams)},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(c.head.Preread)},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: h2.MaxFrameSize})
	c.out.buf = h2.AppendWindowUpdate(c.out.buf, 0, h2.MaxWindow-h2.DefaultWindow)
	c.flush()
	c.mu.Unlock()
	if c.preface() {
		c.read()
	} else {
		c.leave()
	}
	<-c.done
	c.guard.Stop()
	return c.finish()
}

// finish says the last words, and reports whether the client may still be sending.
func (c *conn) finish() bool {
	c.srv.inputs.Put(c.own)
	c.own, c.in = nil, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	return (c.goaway || c.rotten) && !c.killed && c.out.err == nil
}

// read has the reader's part until the connection ends or a request has taken the goroutine for itself.
func (c *conn) read() {
	defer c.rescue()
	for {
		switch c.frame() {
		case goOn:
		case passed:
			return
		case finished:
			c.leave()
			return
		}
	}
}

// turn is how it goes on after a frame.
type turn uint8

const (
	goOn     turn = iota
	passed        // another goroutine reads
	finished      // the connection is to end
)

// rescue ends the connection after a panic of the reader's own.
func (c *conn) rescue() {
	if v := recover(); v != nil {
		c.logPanic(v, debug.Stack(), nil)
		c.leave()
	}
}

// logPanic writes one line that names the request, where there is one, and one with the stack.
func (c *conn) logPanic(v any, stack []byte, s *stream) {
	msg := fmt.Sprintf("panic while serving a request: %v", v)
	frames := "stack: " + strings.NewReplacer("\n\t", " ", "\n", "; ").Replace(strings.TrimSpace(string(stack)))
	if s != nil && s.r.Settings != nil {
		s.r.Logf(errorlog.Alert, "%s", msg)
	} else {
		c.link.Host.Log(errorlog.Alert, msg)
	}
	c.link.Host.Log(errorlog.Alert, frames)
}

// relieve gives the reader's part of one that serves a request for long to another goroutine.
func (c *conn) relieve() {
	if n := c.serving.Load(); n != 0 && c.serving.CompareAndSwap(n, 0) {
		c.guard.Reset(graceTime) // for what else came in the same read
		// Owned by c, ends when the connection does or with the reader's part.
		go c.read()
	}
}

// leave ends the reader's part: whatever is under way is told that its client has left.
func (c *conn) leave() {
	c.guard.Stop()
	c.mu.Lock()
	c.over = true
	for _, s := range c.streams {
		s.leave()
	}
	if s := c.block.stream; s != nil {
		c.block.stream = nil
		c.drop(s, request.Fault{Status: 400})
	}
	c.flush()
	c.settle()
	c.mu.Unlock()
}

// settle sees whether the connection has come to its end. c is locked.
func (c *conn) settle() {
	switch {
	case c.ended || c.live > 0:
	case c.over:
		if !c.out.writing {
			c.ended = true
			close(c.done)
		}
	case c.goaway:
		c.wake()
	}
}

// wake ends the reader's wait. c is locked.
func (c *conn) wake() {
	c.deadline = 1
	_ = c.link.Socket.SetReadDeadline(longAgo()) // a dead socket ends the read as well
}

func longAgo() time.Time { return time.Unix(1, 0) }

// Drain implements edge.Taken.
func (c *conn) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goaway || c.over {
		return
	}
	c.sayGoAway(http2.ErrCodeNo)
	c.settle()
}

// sayGoAway tells the client that no other stream is served. c is locked.
func (c *conn) sayGoAway(code http2.ErrCode) {
	c.goaway = true
	c.out.buf = h2.AppendGoAway(c.out.buf, c.lastID, code)
	c.flush()
}

// Kill implements edge.Taken.
func (c *conn) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	for _, s := range c.streams {
		s.leave()
	}
}

// fail ends the connection for what the client did, in nginx's words; "" was said already.
func (c *conn) fail(code http2.ErrCode, msg string) turn {
	if msg != "" {
		c.log(errorlog.Info, msg)
	}
	c.mu.Lock()
	c.sayGoAway(code)
	c.rotten = true
	c.mu.Unlock()
	return finished
}

// failf is fail with a message that is made.
func (c *conn) failf(code http2.ErrCode, format string, args ...any) turn {
	return c.fail(code, fmt.Sprintf(format, args...))
}

func (c *conn) log(level errorlog.Level, msg string) {
	c.link.Host.Log(level, msg+" while processing HTTP/2 connection")
}

// logf is log with a message that is made, where somebody wants to know.
func (c *conn) logf(level errorlog.Level, format string, args ...any) {
	if c.head.ErrorLog.On(level) {
		c.log(level, fmt.Sprintf(format, args...))
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

package h2link

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/h2"
)

const (
	maxFrame     = h2.MinFrameSize // of payload: what every peer takes, and all that this one takes
	streamWindow = 256 << 10       // what the peer may send ahead of whoever takes it
	maxControl   = 32 << 10        // frames that answer the peer's, and could not be sent yet
	readBuffer   = 8 << 10
)

// Link is one connection. One goroutine at a time begins a stream on it, takes its answer and ends it; one other may write the
// stream's body meanwhile; Interrupt may come from any.
type Link struct {
	nc     net.Conn
	wake   chan struct{} // something came for who takes the answer, or Interrupt was called
	grant  chan struct{} // the same for who writes the body
	timer  *time.Timer   // of who takes the answer
	halt   atomic.Bool   // no more of the body is written
	writes atomic.Bool   // a piece of it is being written
	taken  int           // bytes of the piece that Data returned last
	give   []byte        // its memory, of which Data makes use again

	sent     atomic.Int64
	received atomic.Int64

	r       *bufio.Reader // used by read alone, like all down to field
	in      *http2.Framer
	decoder *hpack.Decoder
	payload [maxFrame]byte
	block   block

	wmu    sync.Mutex  // guards what follows, and writing
	out    []byte      // frames to write now
	greets bool        // the preface is not out yet
	broken atomic.Bool // a frame may be out in part: nothing can be sent any more; any goroutine looks

	mu      sync.Mutex // guards what follows; it may be taken with wmu held
	control []byte     // frames that answer the peer's
	stream  stream
	last    uint32    // identifier of the newest stream
	window  h2.Window // what the peer takes on the connection
	first   uint32    // what it takes of a new stream
	room    h2.Window // what the peer may send on the connection
	busy    bool      // more came together with what was read: it may spoil the end of an answer
	going   bool      // it takes no more streams
	fault   *Fault    // why nothing can be read any more
}

// stream is the one in hand.
type stream struct {
	open    bool
	limit   int       // bytes of a head or of trailers
	window  h2.Window // what the peer takes of it
	room    h2.Window // what it may send
	owed    int       // what it may send again, and was not told so
	head    *Head
	data    []byte
	trailer []hpack.HeaderField
	closed  bool // our side: the body is out
	ended   bool // its side
	reset   bool // by it, behind the end
	fault   *Fault
}

// New makes a link of a connection to a peer that speaks HTTP/2. Close ends it.
func New(nc net.Conn) *Link {
	l := &Link{
		nc: nc, wake: make(chan struct{}, 1), grant: make(chan struct{}, 1), greets: true,
		window: h2.NewWindow(h2.DefaultWindow), first: h2.DefaultWindow, room: h2.NewWindow(h2.MaxWindow),
		r: bufio.NewReaderSize(nc, readBuffer),
	}
	l.timer = time.NewTimer(time.Hour)
	l.timer.Stop()
	l.in = http2.NewFramer(nil, l.r)
	l.in.AllowIllegalReads = true // they are judged here
	l.in.SetMaxReadFrameSize(maxFrame)
	l.decoder = hpack.NewDecoder(4096, l.field)
	// Owned by the link: ends when the connection is closed, or has a fault.
	go l.read()
	return l
}

// Close closes the connection. Whoever waits on it gets an error.
func (l *Link) Close() { _ = l.nc.Close() } // nothing more is expected of it

// Usable reports whether another stream can begin.
func (l *Link) Usable() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.broken.Load() && l.fault == nil && !l.going && !l.stream.open && l.last < h2.MaxWindow-2
}

// Sent is how many bytes were written so far.
func (l *Link) Sent() int64 { return l.sent.Load() }

// Received is how many bytes were read so far.
func (l *Link) Received() int64 { return l.received.Load() }

// Interrupt makes whoever waits ask again whether to wait on.
func (l *Link) Interrupt() {
	poke(l.wake)
	poke(l.grant)
}

// InterruptWrite ends the writing of the stream's body. Where it comes in the middle of a frame, that was the connection's last.
func (l *Link) InterruptWrite() {
	l.halt.Store(true) // before the look: whoever writes arms, and then looks at it
	poke(l.grant)
	if l.writes.Load() {
		_ = l.nc.SetWriteDeadline(time.Unix(1, 0)) // of a closed connection: ended anyway
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

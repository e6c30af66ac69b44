package otlp

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/span"
)

// Config says where spans go and how.
type Config struct {
	Endpoint  string      // HOST:PORT
	TLS       *tls.Config // nil: in plain text
	Headers   [][2]string // of each call
	Resource  [][2]string // attributes of all spans
	Version   string      // ours
	Interval  time.Duration
	BatchSize int // spans
	Batches   int
	Stats     *Stats
	Say       func(level errorlog.Level, line string) // what is worth a line in the error log
	Patience  Patience
}

// Patience is how long things may take; the zero value is that of OTLP.
type Patience struct {
	Call  time.Duration // one call; 0: 10s
	First time.Duration // the wait behind the first call that failed; it doubles with each; 0: 500ms
	Most  time.Duration // the longest wait; 0: 10s
	Age   time.Duration // after which a batch that was not taken is given up; 0: 1m
	Flush time.Duration // what waits at the end; 0: 1s
	Told  time.Duration // between two lines in the error log; 0: 1m
}

func (p Patience) complete() Patience {
	for _, d := range []struct {
		of      *time.Duration
		without time.Duration
	}{{&p.Call, 10 * time.Second}, {&p.First, 500 * time.Millisecond}, {&p.Most, 10 * time.Second}, {&p.Age, time.Minute}, {&p.Flush, time.Second}, {&p.Told, time.Minute}} {
		if *d.of == 0 {
			*d.of = d.without
		}
	}
	return p
}

// Stats count what became of spans. They may be shared by exporters that follow each other.
type Stats struct {
	Sent    atomic.Uint64 // that a collector took
	Dropped atomic.Uint64 // because there was no room
	Failed  atomic.Uint64 // that a collector did not take
	Waiting atomic.Int64  // now, those under way included
	Calls   atomic.Uint64 // that ended
	Faults  atomic.Uint64 // of Calls, that failed
}

// maxBytes is how much is sent with one call at most, a single span apart: collectors take 4 MB.
const maxBytes = 1 << 20

// The numbers of fields in OTLP's messages.
const (
	requestSpans = 1 // ResourceSpans of a request
	ofResource   = 1
	ofScope      = 2 // ScopeSpans of ResourceSpans
	scopeScope   = 1
	scopeSpan    = 2
)

// batch is spans that are sent together, each as a field of a ScopeSpans.
type batch struct {
	b []byte
	n int
}

// Exporter sends spans. Close ends it. It is safe for concurrent use.
type Exporter struct {
	config   Config
	conn     *grpc.ClientConn
	resource []byte
	scope    []byte
	meta     metadata.MD
	secrets  []string // of the headers, the longest first where one holds another

	ctx    context.Context // of its calls
	cancel context.CancelFunc
	wake   chan struct{} // a batch is full
	stop   chan struct{}
	over   chan struct{} // the sender has ended

	mu     sync.Mutex // guards what follows
	open   *batch     // that is being filled; nil: none
	full   []*batch   // that wait, oldest first
	free   []*batch
	made   int
	runs   bool
	closed bool

	// Of the sender alone.
	told      time.Time
	toldLost  uint64
	lastFault error
}

// New makes an exporter. It connects with the first spans.
func New(c Config) (*Exporter, error) {
	c.Patience = c.Patience.complete()
	security := insecure.NewCredentials()
	if c.TLS != nil {
		security = credentials.NewTLS(c.TLS)
	}
	conn, err := grpc.NewClient(c.Endpoint, grpc.WithTransportCredentials(security), grpc.WithUserAgent("limitgate/"+c.Version),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: c.Patience.Call,
			Backoff: backoff.Config{BaseDelay: c.Patience.First, Multiplier: 1.6, Jitter: 0.2, MaxDelay: c.Patience.Most}}))
	if err != nil {
		return nil, fmt.Errorf("preparing to send spans to %s: %w", c.Endpoint, err)
	}
	e := &Exporter{config: c, conn: conn, wake: make(chan struct{}, 1), stop: make(chan struct{}), over: make(chan struct{}), meta: metadata.MD{}}
	e.resource = span.AppendResource(nil, ofResource, c.Resource)
	e.scope = span.AppendScope(nil, scopeScope, "limitgate", c.Version)
	for _, h := range c.Headers {
		e.meta.Append(h[0], h[1])
		e.secrets = append(append(e.secrets, h[1]), strings.Fields(h[1])...)
	}
	e.toldLost = c.Stats.Dropped.Load() + c.Stats.Failed.Load()
	e.ctx, e.cancel = context.WithCancel(metadata.NewOutgoingContext(context.Background(), e.meta))
	return e, nil
}

// Add takes a copy of an encoded span, or counts it as dropped where there is no room.
func (e *Exporter) Add(span []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open != nil && len(e.open.b)+len(span) > maxBytes {
		e.fill()
	}
	if e.open == nil && !e.begin() {
		e.config.Stats.Dropped.Add(1)
		return
	}
	e.open.b = append(binary.AppendUvarint(append(e.open.b, scopeSpan<<3|2), uint64(len(span))), span...)
	e.open.n++
	e.config.Stats.Waiting.Add(1)
	if e.open.n >= e.config.BatchSize {
		e.fill()
	}
}

// begin opens a batch, if there may be one more. mu is held.
func (e *Exporter) begin() bool {
	switch n := len(e.free); {
	case e.closed:
		return false
	case n > 0:
		e.open, e.free = e.free[n-1], e.free[:n-1]
	case e.made < e.config.Batches:
		e.made++
		e.open = new(batch)
	default:
		return false
	}
	if !e.runs {
		e.runs = true
		// Owned by e, ends with Close.
		go e.run()
	}
	return true
}

// fill has the open batch wait for the sender. mu is held.
func (e *Exporter) fill() {
	e.full, e.open = append(e.full, e.open), nil
	select {
	case e.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// next is the batch that has waited longest; with all also the one that is open.
func (e *Exporter) next(all bool) *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.full) == 0 && all && e.open != nil {
		e.full, e.open = append(e.full, e.open), nil
	}
	if len(e.full) == 0 {
		return nil
	}
	b := e.full[0]
	e.full[0] = nil
	e.full = e.full[1:]
	return b
}

// done takes back a batch that was sent, or given up.
func (e *Exporter) done(b *batch) {
	e.config.Stats.Waiting.Add(-int64(b.n))
	b.b, b.n = b.b[:0], 0
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = append(e.free, b)
}

// Close sends what waits, as long as Patience lets it, and ends the exporter. What comes later is dropped.
func (e *Exporter) Close() error {
	e.mu.Lock()
	done := e.closed
	runs := e.runs && !done
	e.closed = true
	e.mu.Unlock()
	if runs {
		cut := time.AfterFunc(e.config.Patience.Flush, e.cancel)
		close(e.stop)
		<-e.over
		cut.Stop()
	}
	e.cancel()
	if done {
		return nil
	}
	if err := e.conn.Close(); err != nil {
		return fmt.Errorf("closing the connection to %s: %w", e.config.Endpoint, err)
	}
	return nil
}

package h1

import (
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// Config is what a Server is opened with.
type Config struct {
	Source edge.Source
	Now    func() limitgate.Time // never steps back
	// Product, Version and Build make the Server header: "limitgate", "limitgate/1.0", "limitgate/1.0 (build)".
	Product, Version, Build string
	// MaxConns is how many connections may be open before accepting pauses; 0: no limit.
	MaxConns int
	// HTTP2 serves the connections that speak HTTP/2; nil: nobody does, and none is offered it.
	HTTP2 edge.Taker
	// Serial counts connections where several engines share one count; nil: the server's own.
	Serial *atomic.Uint64
}

// Stats are a server's connections, as nginx's stub_status counts them.
type Stats struct {
	Accepted int64 // ever
	Requests int64 // ever
	Active   int64 // open now
	Reading  int64 // a request head is being read
	Writing  int64 // a request is being served
	Waiting  int64 // nothing is under way
}

// Server owns the connections it accepted. Its methods are safe for concurrent use.
type Server struct {
	cfg    Config
	names  [3][]byte // the Server header line for each request.Tokens
	date   atomic.Pointer[dateLine]
	serial *atomic.Uint64
	watch  *watcher // nil where the platform has none

	exchanges sync.Pool // *exchange
	outputs   sync.Pool // *[outputSize]byte
	bodies    sync.Pool // *[bodySize]byte

	draining atomic.Bool // no connection takes another request
	killed   atomic.Bool // no connection waits for anything
	turn     atomic.Uint64
	requests atomic.Int64
	reading  atomic.Int64
	writing  atomic.Int64
	more     atomic.Int64 // requests under way beside the first of a connection

	mu       sync.Mutex // guards what follows
	changed  sync.Cond  // a place became free, or the server ends
	limit    int
	open     int   // connections, and places taken for one that is being accepted
	conns    *conn // list of the open ones
	count    int64 // its length
	accepted int64
	gone     map[int]bool // listeners that were drained
}

// Open returns a server. Close must be called when it is no longer needed.
func Open(cfg Config) (*Server, error) {
	if cfg.Source == nil || cfg.Now == nil {
		return nil, errors.New("opening the HTTP/1 edge: source and clock are required")
	}
	s := &Server{cfg: cfg, serial: cfg.Serial, limit: cfg.MaxConns}
	if s.serial == nil {
		s.serial = new(atomic.Uint64)
	}
	s.names = serverLines(cfg.Product, cfg.Version, cfg.Build)
	s.changed.L = &s.mu
	s.exchanges.New = func() any { return newExchange(s) }
	s.outputs.New = func() any { return new([outputSize]byte) }
	s.bodies.New = func() any { return new([bodySize]byte) }
	var err error
	s.watch, err = openWatcher()
	return s, err
}

// SetLimit changes how many connections may be open; those above a lower limit stay.
func (s *Server) SetLimit(n int) {
	s.mu.Lock()
	s.limit = n
	s.mu.Unlock()
	s.changed.Broadcast()
}

// acceptPause is how long accepting rests after an error such as "too many open files".
const acceptPause = 500 * time.Millisecond

// Drain lets the connections of a listener end as in Shutdown: idle ones at once, others with their request. Whoever owns
// the listener closes it before.
func (s *Server) Drain(listener int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone == nil {
		s.gone = map[int]bool{}
	}
	// One that was accepted just now is not on the list yet.
	s.gone[listener] = true
	for c := s.conns; c != nil; c = c.next {
		if c.info.Listener == listener {
			c.leaving.Store(true)
			c.drain()
		}
	}
}

// Turn begins another turn, and returns its number: connections and requests from now on are told from those before. Connections
// that carry many requests at a time take no others: their clients come again, to what the new turn has to say of connections.
func (s *Server) Turn() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := s.turn.Add(1)
	for c := s.conns; c != nil; c = c.next {
		if t := c.taken.Load(); t != nil {
			t.Drain()
		}
	}
	return turn
}

// CutOff closes the connections of earlier turns, as they are. One whose request began in this turn or a later one ends with
// it.
func (s *Server) CutOff(turn uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := s.conns; c != nil; c = c.next {
		switch {
		case c.opened >= turn:
		case connState(c.state.Load()) == writing && c.turn.Load() >= turn:
			c.leaving.Store(true)
		default:
			c.cut.Store(true)
			c.kill()
		}
	}
}

// Serve accepts connections until ln is closed, and returns nil then. listener is the index of ln in the program.
func (s *Server) Serve(ln net.Listener, listener int) error {
	prepareListener(ln)
	s.mu.Lock()
	delete(s.gone, listener)
	s.mu.Unlock()
	for {
		if !s.takePlace() {
			return nil
		}
		nc, err := ln.Accept()
		if err != nil {
			s.freePlace()
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			s.logAccept(listener, err)
			time.Sleep(acceptPause)
			continue
		}
		// Owned by s, ends with the connection.
		go s.begin(nc, ln.Addr(), listener)
		runtime.Gosched() // to let it queue up before the next one comes
	}
}

// begin serves a new connection when everything that was ready before it has had its turn: it goes to the end of the
// queue, while a new goroutine runs first. A request would otherwise overtake one that came before it, or miss the place
// that a client has just left.
func (s *Server) begin(nc net.Conn, at net.Addr, listener int) {
	runtime.Gosched()
	s.serve(nc, at, listener)
}

// ServeConn serves a connection that was accepted elsewhere, and owns it until it is closed. It waits for no free place.
func (s *Server) ServeConn(nc net.Conn, listener int) {
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	s.serve(nc, nc.LocalAddr(), listener)
}

func (s *Server) serve(nc net.Conn, at net.Addr, listener int) {
	c := newConn(s, nc, at, listener)
	s.mu.Lock()
	if s.gone[listener] {
		c.leaving.Store(true)
	}
	c.next = s.conns
	if c.next != nil {
		c.next.prev = c
	}
	s.conns = c
	s.count++
	s.accepted++
	s.mu.Unlock()
	c.run()
}

// takePlace waits for a place for one more connection. It reports false when the server ends.
func (s *Server) takePlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.limit > 0 && s.open >= s.limit && !s.draining.Load() {
		s.changed.Wait()
	}
	s.open++
	if s.draining.Load() {
		s.open--
		return false
	}
	return true
}

func (s *Server) freePlace() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
	s.changed.Broadcast()
}

// remove takes an ended connection off the list.
func (s *Server) remove(c *conn) {
	s.mu.Lock()
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		s.conns = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	}
	s.count--
	s.open--
	s.mu.Unlock()
	s.changed.Broadcast()
}

func (s *Server) logAccept(listener int, err error) {
	p := s.cfg.Source.Acquire()
	defer s.cfg.Source.Release(p)
	if head := p.Head(&request.Conn{Listener: listener}); head != nil {
		head.ErrorLog.Write(errorlog.Crit, 0, "accept4() failed: "+err.Error())
	}
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	st := Stats{Accepted: s.accepted, Active: s.count}
	s.mu.Unlock()
	st.Requests = s.requests.Load()
	st.Reading = s.reading.Load()
	busy := s.writing.Load()
	st.Writing = busy + s.more.Load()
	st.Waiting = max(0, st.Active-st.Reading-busy)
	return st
}

// firstRequestGrace is how long a connection that has sent nothing yet may still do so once the server drains.
const firstRequestGrace = time.Second

// Shutdown lets the requests under way finish, closes connections as they become idle, and waits for the last or for ctx.
// Whoever owns the listeners closes them before.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.draining.Store(true)
	for c := s.conns; c != nil; c = c.next {
		c.drain()
	}
	s.mu.Unlock()
	s.changed.Broadcast()
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock() // so that the waiter is either before its check or in Wait
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	// What was accepted just now and is not on the list yet has its place already.
	for s.open > 0 && ctx.Err() == nil {
		s.changed.Wait()
	}
	if s.open > 0 {
		return ctx.Err()
	}
	return nil
}

// Close cuts off every connection, waits until their requests have ended, and frees what Open made.
func (s *Server) Close() error {
	s.mu.Lock()
	s.draining.Store(true)
	s.killed.Store(true)
	for c := s.conns; c != nil; c = c.next {
		c.kill()
	}
	s.changed.Broadcast()
	for s.count > 0 {
		s.changed.Wait()
	}
	s.mu.Unlock()
	return s.watch.close()
}

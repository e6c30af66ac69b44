package redistest

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between clients and a server and makes faults, all of which can be changed while it runs. It ends with the test.
type Proxy struct {
	// Delay is how long bytes are held before they go on, in each direction; Stagger is added to that for the requests of every
	// second connection, so that those of the others overtake them. Nanoseconds.
	Delay, Stagger atomic.Int64

	// Mute drops what the server answers. Deaf drops what clients send; with both nothing is heard from anybody though all
	// connections stand, as when a network is gone. A stream of which something was dropped is of no use any more: Cut follows.
	Mute, Deaf atomic.Bool

	// Refuse closes new connections at once.
	Refuse atomic.Bool

	// Requests and Answers count the bytes that went through, or would have.
	Requests, Answers atomic.Int64

	t      testing.TB
	target string
	ln     net.Listener

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	count int
}

// NewProxy starts a proxy to a server.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{t: t, target: target, ln: ln, conns: map[net.Conn]bool{}}
	// owned by the proxy; ends when the test closes the listener
	go p.accept()
	t.Cleanup(func() {
		ln.Close()
		p.Refuse.Store(true)
		p.Cut()
	})
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// URL is Addr for a client.
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *Proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		if p.Refuse.Load() {
			c.Close()
			continue
		}
		up, err := net.Dial("tcp", p.target)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[up] = true, true
		second := p.count%2 == 1
		p.count++
		p.mu.Unlock()
		// owned by the proxy; ends with the connections
		go p.carry(up, c, &p.Deaf, &p.Requests, second)
		// owned by the proxy; ends with the connections
		go p.carry(c, up, &p.Mute, &p.Answers, false)
	}
}

// carry copies bytes one way, each after its delay.
func (p *Proxy) carry(to, from net.Conn, drop *atomic.Bool, count *atomic.Int64, staggered bool) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 1024)
	// owned by carry; ends when that closes the channel, or its connection is closed
	go func() {
		defer to.Close()
		for q := range pieces {
			time.Sleep(time.Until(q.due))
			if _, err := to.Write(q.data); err != nil {
				for range pieces { // until the reader notices
				}
				return
			}
		}
	}()
	defer from.Close()
	defer close(pieces)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		count.Add(int64(n))
		if n > 0 && !drop.Load() {
			delay := time.Duration(p.Delay.Load())
			if staggered {
				delay += time.Duration(p.Stagger.Load())
			}
			pieces <- piece{time.Now().Add(delay), b[:n]}
		}
		if err != nil {
			return
		}
	}
}

package dns

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
)

// mostNames is how many names a cache remembers: clients may choose them.
const mostNames = 1024

// Asker is what a cache asks.
type Asker interface {
	// Ask returns the addresses of a name, or an [Error].
	Ask(ctx context.Context, name string) (Answer, error)
}

var _ Asker = (*Client)(nil)

// Cache remembers addresses for as long as they hold. Who asks for a name that somebody else is asking for waits for the same
// answer. A failure is not remembered.
type Cache struct {
	asker   Asker
	valid   time.Duration
	timeout time.Duration
	now     func() limitgate.Time
	ctx     context.Context // of the questions, which belong to nobody who waits
	cancel  context.CancelFunc
	asking  sync.WaitGroup

	mu    sync.Mutex // guards names
	names map[string]*entry
}

// entry is a name. Its fields do not change once done is closed.
type entry struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
	until limitgate.Time
}

// NewCache returns an empty cache. valid is how long an answer holds, 0 as long as it says; timeout bounds a question. It must be
// closed.
func NewCache(asker Asker, valid, timeout time.Duration, now func() limitgate.Time) *Cache {
	c := &Cache{asker: asker, valid: valid, timeout: timeout, now: now, names: map[string]*entry{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends the questions that are open. Nobody may look up anything behind it.
func (c *Cache) Close() {
	c.cancel()
	c.asking.Wait()
}

// Lookup returns the addresses of a name; whoever gets them does not change them. ctx ends waiting, which is TimedOut.
func (c *Cache) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	e := c.find(strings.ToLower(strings.TrimSuffix(name, ".")))
	select {
	case <-e.done:
		return e.addrs, e.err
	case <-ctx.Done():
		return nil, &Error{TimedOut}
	}
}

// find returns what is known of a name, or what somebody is asking, or asks.
func (c *Cache) find(name string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.names[name]
	if e != nil {
		if open(e) || e.until > c.now() {
			return e
		}
		delete(c.names, name)
	}
	c.makeRoom()
	e = &entry{done: make(chan struct{})}
	c.names[name] = e
	c.asking.Add(1)
	// Owned by the cache: ends with the answer, its timeout, or Close.
	go c.ask(name, e)
	return e
}

func open(e *entry) bool {
	select {
	case <-e.done:
		return false
	default:
		return true
	}
}

// makeRoom forgets names when there are too many: those that have run out, or else any. c is locked.
func (c *Cache) makeRoom() {
	if len(c.names) < mostNames {
		return
	}
	now := c.now()
	for name, e := range c.names {
		if !open(e) && e.until <= now {
			delete(c.names, name)
		}
	}
	for name := range c.names {
		if len(c.names) < mostNames {
			return
		}
		delete(c.names, name)
	}
}

func (c *Cache) ask(name string, e *entry) {
	defer c.asking.Done()
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	defer cancel()
	a, err := c.asker.Ask(ctx, name)
	if c.valid > 0 {
		a.TTL = c.valid
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.addrs, e.err, e.until = a.Addrs, err, c.now()+limitgate.Time(a.TTL)
	if err != nil && c.names[name] == e {
		delete(c.names, name)
	}
	close(e.done)
}

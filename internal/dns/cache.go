package dns

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
)

// Clients may choose names, and leave before there is an answer.
const (
	mostNames     = 1024 // that a cache remembers
	mostQuestions = 512  // that it asks at one time; further ones wait for their turn
)

// Asker is what a cache asks.
type Asker interface {
	// Ask returns the addresses of a name, or an [Error].
	Ask(ctx context.Context, name string) (Answer, error)
}

var _ Asker = (*Client)(nil)

// Cache remembers addresses for as long as they hold. Who asks for a name that somebody else is asking for waits for the same
// answer; a question that nobody waits for any more is dropped. A failure is not remembered.
type Cache struct {
	asker   Asker
	valid   time.Duration
	timeout time.Duration
	now     func() limitgate.Time
	ctx     context.Context // of the questions, which belong to nobody who waits
	cancel  context.CancelFunc
	turns   chan struct{} // as many as there are open questions
	asking  sync.WaitGroup

	mu     sync.Mutex // guards what follows, and waiting of entries
	names  map[string]*entry
	closed bool
}

// entry is a name. Its fields do not change once done is closed.
type entry struct {
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	until   limitgate.Time
	waiting int                // for the answer
	drop    context.CancelFunc // the question
}

// NewCache returns an empty cache. valid is how long an answer holds, 0 as long as it says; timeout bounds a question. It must be
// closed.
func NewCache(asker Asker, valid, timeout time.Duration, now func() limitgate.Time) *Cache {
	c := &Cache{asker: asker, valid: valid, timeout: timeout, now: now, names: map[string]*entry{}, turns: make(chan struct{}, mostQuestions)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends the questions that are open. What is looked up behind it and is not remembered is TimedOut.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.asking.Wait()
}

// Lookup returns the addresses of a name; whoever gets them does not change them. ctx ends waiting, which is TimedOut.
func (c *Cache) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	e := c.find(name)
	if e == nil {
		return nil, &Error{TimedOut}
	}
	select {
	case <-e.done:
		return e.addrs, e.err
	case <-ctx.Done():
		c.leave(name, e)
		return nil, &Error{TimedOut}
	}
}

// find returns what is known of a name, or what somebody is asking, or asks; nil where nobody may ask any more.
func (c *Cache) find(name string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.names[name]
	if e != nil {
		if open(e) || e.until > c.now() {
			e.waiting++
			return e
		}
		delete(c.names, name)
	}
	if c.closed {
		return nil
	}
	c.makeRoom()
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout)
	e = &entry{done: make(chan struct{}), waiting: 1, drop: cancel}
	c.names[name] = e
	c.asking.Add(1)
	// Owned by the cache: ends with the answer, its timeout, when nobody waits for it any more, or with Close.
	go c.ask(ctx, name, e)
	return e
}

// leave notes that somebody waits no longer. The last one takes the question along.
func (c *Cache) leave(name string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.waiting--; e.waiting > 0 || !open(e) {
		return
	}
	e.drop()
	if c.names[name] == e {
		delete(c.names, name)
	}
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

func (c *Cache) ask(ctx context.Context, name string, e *entry) {
	defer c.asking.Done()
	defer e.drop()
	a, err := c.put(ctx, name)
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

// put asks once it is the question's turn.
func (c *Cache) put(ctx context.Context, name string) (Answer, error) {
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
		if ctx.Err() != nil {
			return Answer{}, &Error{TimedOut}
		}
		return c.asker.Ask(ctx, name)
	case <-ctx.Done():
		return Answer{}, &Error{TimedOut}
	}
}

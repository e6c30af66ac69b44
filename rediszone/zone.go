package rediszone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

var (
	_ limitgate.Keyed = (*Zone)(nil)
	_ limitgate.Joint = (*Zone)(nil)
)

// Clock says whose time decides.
type Clock uint8

// The clocks.
const (
	ServerTime Clock = iota // the server's, in microseconds: instances need not agree on the time
	CallerTime              // that of the calls: for tests, and for what goes through a time of its own
)

// Config is what a zone is made of. Store and Name are needed.
type Config struct {
	// Store is where the states are. Zones may share it; it stays open when they are closed.
	Store *Store

	// Name tells the states of this zone from those of others in the store. Zones of one name and prefix, in whatever instance,
	// are one zone.
	Name string

	// Prefix begins all keys; DefaultPrefix if it is empty. It has no braces.
	Prefix string

	Clock Clock

	// Lease is how long places of a Conn limit stay held when the instance that holds them is gone; DefaultLease if it is 0. A
	// third of it is how often the places that are held for longer are renewed. It is of the server's time, whatever Clock says.
	Lease time.Duration
}

// Zone is a zone in Redis. It is safe for concurrent use. Make one with New, and Close it.
type Zone struct {
	store   *Store
	name    string
	prefix  string
	escaped string // name, as keys have it
	caller  bool   // the caller's time decides
	scripts *scripts

	kind  atomic.Uint32 // limitgate.Kind
	bound atomic.Pointer[limitgate.Bound]

	lease  time.Duration
	places atomic.Pointer[holder] // of a zone of places
	mu     sync.Mutex             // held where a holder is made or ended
	closed bool                   // guarded by mu
}

const (
	minLease = 10 * time.Millisecond
	maxLease = 24 * time.Hour
)

// New makes a zone. It does not ask the store for anything.
func New(c Config) (*Zone, error) {
	if c.Store == nil || c.Name == "" {
		return nil, errors.New("redis zone: needs a store and a name")
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Lease < minLease || c.Lease > maxLease {
		return nil, fmt.Errorf("redis zone %q: a lease of %v is not between %v and %v", c.Name, c.Lease, minLease, maxLease)
	}
	if err := validPrefix(c.Prefix); err != nil {
		return nil, fmt.Errorf("redis zone %q: %w", c.Name, err)
	}
	z := &Zone{
		store: c.Store, name: c.Name, prefix: c.Prefix,
		escaped: string(escape(nil, c.Name)), caller: c.Clock == CallerTime, scripts: newScripts(), lease: c.Lease,
	}
	z.bound.Store(new(limitgate.Bound))
	return z, nil
}

// Name is the name of the zone.
func (z *Zone) Name() string { return z.name }

// Kind is the kind of the zone's states; KindNone before the first limit is bound.
func (z *Zone) Kind() limitgate.Kind { return limitgate.Kind(z.kind.Load()) }

// Bind implements limitgate.Zone. It does not ask the store.
func (z *Zone) Bind(l *limitgate.Limit) error {
	if _, ok := l.Steps.(limitgate.Portable); !ok {
		return fmt.Errorf("redis zone %q: has no script for limits of type %T", z.name, l.Algorithm)
	}
	if !z.kind.CompareAndSwap(uint32(limitgate.KindNone), uint32(l.Kind)) && z.Kind() != l.Kind {
		return fmt.Errorf("redis zone %q: holds states of kind %v, which a limit of kind %v can't read; give it a zone of its own", z.name, z.Kind(), l.Kind)
	}
	if err := z.bound.Load().Join(l); err != nil {
		return fmt.Errorf("redis zone %q: %w", z.name, err)
	}
	if l.Kind == limitgate.KindConn {
		z.mu.Lock()
		defer z.mu.Unlock()
		if z.closed {
			return fmt.Errorf("redis zone %q: is closed", z.name)
		}
		if z.places.Load() == nil {
			z.places.Store(hold(z, z.lease))
		}
	}
	return nil
}

// Rebind begins a new configuration: limits bound from now on do not know of the spans of those bound before, so a
// smaller burst or a higher rate cuts the debts it finds to its own full bucket. The states stay.
func (z *Zone) Rebind() { z.bound.Store(new(limitgate.Bound)) }

// Close ends what the zone does on its own, and waits for that: places that are still held are no longer renewed, and a
// release that fails is not tried again. The client stays open.
func (z *Zone) Close() {
	z.mu.Lock()
	defer z.mu.Unlock()
	if h := z.places.Load(); h != nil && !z.closed {
		h.close()
	}
	z.closed = true
}

// Do implements limitgate.Zone. It waits for the store as long as ctx allows. When it fails because no answer came, the request
// may have been charged; it is not asked about again.
func (z *Zone) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	if m == limitgate.Reset {
		return limitgate.Decision{}, limitgate.Charge{}, z.failed("forgetting a state", z.forget(ctx, z.key(l, key)))
	}
	asks := [1]ask{z.newAsk(l, key, cost, m)}
	if err := z.decide(ctx, now, asks[:]); err != nil {
		return limitgate.Decision{}, limitgate.Charge{}, z.failed("deciding", err)
	}
	return asks[0].decision, asks[0].charge, nil
}

// forget removes a state.
func (z *Zone) forget(ctx context.Context, key string) error {
	c, err := z.store.Client()
	if err != nil {
		return err
	}
	return c.Do(ctx, c.B().Del().Key(key).Build()).Error()
}

// failed says where it was that something failed; nil if nothing did.
func (z *Zone) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store %q, zone %q: %s: %w", z.store.name, z.name, doing, err)
}

package guard

import (
	"context"
	"strings"
	"sync"

	"github.com/limitgate/limitgate"
)

// places are those that requests of this instance hold, in the store or without it: how many of each key, and where each has to
// be given back. They take as much memory as there are requests in progress.
type places struct {
	mu   sync.Mutex // guards what follows
	next uint64
	held map[string]int64 // by key
	by   map[uint64]place // by the Key of the charge that was handed out
}

// place is one that is held.
type place struct {
	key    string
	cost   limitgate.Cost
	stored bool // in the store, by the charge
	limit  *limitgate.Limit
	charge limitgate.Charge
}

func (p *places) init() { p.held, p.by = map[string]int64{}, map[uint64]place{} }

// add notes a place and gives the charge to hand out for it.
func (p *places) add(key string, one place) limitgate.Charge {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.put(strings.Clone(key), one)
}

// put is add for who holds the lock and owns the key.
func (p *places) put(key string, one place) limitgate.Charge {
	p.next++
	one.key = key
	p.by[p.next] = one
	p.held[key] += int64(one.cost)
	return limitgate.Charge{Key: p.next, Life: ours}
}

// without decides on a place without the store: by this instance's share of the places, of which it keeps its own count, one at
// least; or open. Those that were taken in the store count.
func (p *places) without(l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode, by limitgate.Fallback, n int64) (d limitgate.Decision, c limitgate.Charge) {
	conn, _ := l.Algorithm.(limitgate.Conn)
	share := limitgate.Conn{Limit: max(conn.Limit/n, 1)}.Compile()
	p.mu.Lock()
	defer p.mu.Unlock()
	_, d = share.Step(limitgate.State(p.held[key]), 0, cost, 0)
	if by == limitgate.FailOpen {
		d = limitgate.Decision{Remaining: d.Remaining}
	}
	if m == limitgate.Take && d.Admitted() {
		c = p.put(strings.Clone(key), place{cost: cost})
	}
	return d, c
}

// take gives up the place that a charge was handed out for.
func (p *places) take(c limitgate.Charge) (place, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, found := p.by[c.Key]
	if !found {
		return place{}, false
	}
	delete(p.by, c.Key)
	if p.held[one.key] -= int64(one.cost); p.held[one.key] <= 0 {
		delete(p.held, one.key)
	}
	return one, true
}

// giving is a place in the store that is still to be given back.
type giving struct {
	zone   limitgate.Zone
	limit  *limitgate.Limit
	charge limitgate.Charge
}

// maxPending bounds the places that wait for the store. Of those beyond it the store forgets by itself, when their time there
// is over.
const maxPending = 1 << 16

// release gives a place back: in the store at once if it answers, and else when it does again. One that was taken without the store
// is not in it.
func (z *Zone) release(ctx context.Context, now limitgate.Time, c limitgate.Charge) {
	one, found := z.places.take(c)
	if !found || !one.stored {
		return
	}
	z.store.giveBack(ctx, now, giving{z.inner, one.limit, one.charge})
}

// giveBack gives a place in the store back, or keeps it for later.
func (s *Store) giveBack(ctx context.Context, now limitgate.Time, g giving) {
	// Who leaves gives back what he held.
	err, _ := s.call(context.WithoutCancel(ctx), now, func(ctx context.Context) error { return g.zone.Refund(ctx, now, g.limit, g.charge) })
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) < maxPending {
		s.pending = append(s.pending, g)
	} else {
		s.unpaid.Add(1)
	}
}

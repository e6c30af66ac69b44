package memzone

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/pair"
)

var _ limitgate.Spender = (*Zone)(nil)

// Overflow is what a zone does with a new key when each of its candidate places holds a state that is in force.
type Overflow uint8

// The policies. Held places of a Conn limit are never evicted; if there are only those, the new key is refused.
const (
	Evict  Overflow = iota // forget the state that is closest to drained
	Reject                 // refuse the new key
)

// DefaultBytes is the size of a zone that names none.
const DefaultBytes = 1 << 20

// Config is what a zone is made of. The zero Config is a zone of DefaultBytes that evicts.
type Config struct {
	// Bytes is the size of the table: 16 for each place, rounded down to 128, at least 128. Count on 24 bytes for each key that
	// is limited at one time (Zone.Capacity). Keys whose states have drained need no place.
	//
	// A zone of exact logs (limitgate.Count with Windowing Log) takes 248 bytes for each key and, together, 21 stamps; in the
	// end it is 64 bytes for each 7 stamps of a key.
	Bytes    int
	Overflow Overflow

	// Seed fixes where keys lie, so that what a full zone does can be had again: for simulations and tests. 0, which is for
	// everything that strangers can reach, draws a seed for each zone.
	Seed uint64
}

// Zone is a table of states in memory. It is safe for concurrent use. Make one with New.
type Zone struct {
	seed    seed
	rejects atomic.Bool   // Overflow is Reject
	kind    atomic.Uint32 // limitgate.Kind
	table   atomic.Pointer[table]
	trail   atomic.Pointer[trail] // what became of the states in the tables before
	bound   atomic.Pointer[limitgate.Bound]
	drain   atomic.Pointer[limitgate.Limit] // the limit bound last: judges states in a resize

	resizing sync.Mutex // held by Resize, so that there is one at a time

	counters [8]counters

	logs  atomic.Pointer[logs] // of a zone of kind log, instead of the table
	lives atomic.Uint64        // numbers its logs

	gone func(h, state uint64) // tests only: told of each state that lost its slot
}

// New makes an empty zone.
func New(c Config) *Zone {
	if c.Bytes <= 0 {
		c.Bytes = DefaultBytes
	}
	z := &Zone{seed: newSeed(c.Seed)}
	z.SetOverflow(c.Overflow)
	z.table.Store(newTable(c.Bytes, 0))
	z.bound.Store(new(limitgate.Bound))
	return z
}

// SetOverflow changes what the zone does with a new key that finds no room. States and requests under way are not touched.
func (z *Zone) SetOverflow(o Overflow) { z.rejects.Store(o == Reject) }

// Overflow is what the zone does with a new key that finds no room.
func (z *Zone) Overflow() Overflow {
	if z.rejects.Load() {
		return Reject
	}
	return Evict
}

// Bytes is the size of the table now.
func (z *Zone) Bytes() int {
	if g := z.logs.Load(); g != nil {
		return g.size
	}
	return z.table.Load().bytes()
}

// Capacity is how many keys the zone holds at one time before one in 10,000 new ones finds no drained state in its candidate
// places, and the overflow policy decides: two thirds of all places. (Of a zone of logs see Config.)
func (z *Zone) Capacity() int {
	if g := z.logs.Load(); g != nil {
		return g.capacity()
	}
	return len(z.table.Load().buckets) * ways * 2 / 3
}

// Contended counts a request that limitgate.All refused because others kept moving one of its limits, the one on this zone.
func (z *Zone) Contended() { z.counters[0].contended.Add(1) }

// Kind is the kind of the zone's states; KindNone before the first limit is bound.
func (z *Zone) Kind() limitgate.Kind { return limitgate.Kind(z.kind.Load()) }

// Bind implements limitgate.Zone.
func (z *Zone) Bind(l *limitgate.Limit) error {
	k := l.Kind
	if !z.kind.CompareAndSwap(uint32(limitgate.KindNone), uint32(k)) && z.Kind() != k {
		return fmt.Errorf("memory zone: holds states of kind %v, which a limit of kind %v can't read; give it a zone of its own", z.Kind(), k)
	}
	if k == limitgate.KindLog {
		if err := z.bindLog(l); err != nil {
			return err
		}
	}
	if err := z.bound.Load().Join(l); err != nil {
		return fmt.Errorf("memory zone: %w", err)
	}
	z.drain.Store(l)
	return nil
}

// Rebind begins a new configuration: limits bound from now on do not know of the spans of those bound before, so a
// smaller burst or a higher rate cuts the debts it finds to its own full bucket. The states stay, and limits bound before go
// on as they were.
func (z *Zone) Rebind() { z.bound.Store(new(limitgate.Bound)) }

// fingerprint gives the fingerprint of a hash in its place in W0: 56 bits over an empty byte, never 0.
func fingerprint(hash uint64) uint64 {
	if h := hash & ownerMask; h != 0 {
		return h
	}
	return 1 << 8
}

// Do implements limitgate.Zone. It never fails.
func (z *Zone) Do(_ context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	h := fingerprint(z.seed.sum(key) ^ l.Salt)
	t := z.table.Load()
	b, start := t.first(h)
	p, w0, w1 := b.find(start, h)
	if p == nil || m == limitgate.Reset {
		return z.do(now, l, h, cost, m)
	}
	// Most keys lie in their first bucket, and most requests are quick.
	if m.Charges() && l.Quick(limitgate.State(w1), now, cost) {
		n, d := l.QuickStep(now)
		if !pair.CAS(p, w0, w1, w0, uint64(n)) {
			return z.do(now, l, h, cost, m)
		}
		if m == limitgate.Take {
			c = limitgate.Charge{Key: h, Life: t.life(p, w0), Before: limitgate.State(w1), After: n}
		}
		return d, c, nil
	}
	n, d := decide(l, w1, now, cost)
	switch {
	case !m.Stores(d) || !d.Admitted() && uint64(n) == w1:
	case !pair.CAS(p, w0, w1, w0, uint64(n)):
		return z.do(now, l, h, cost, m)
	case m == limitgate.Take && d.Admitted():
		c = limitgate.Charge{Key: h, Life: t.life(p, w0), Before: limitgate.State(w1), After: n}
	}
	return d, c, nil
}

// Spend implements limitgate.Spender: what most requests are, in as few steps as that takes, and otherwise do.
func (z *Zone) Spend(now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost) limitgate.Decision {
	h := (z.seed.sum(key) ^ l.Salt) & ownerMask // 0 is no fingerprint, and that of no live slot
	b, start := z.table.Load().first(h)
	if p, w0, w1 := b.find(start, h); p != nil && l.Quick(limitgate.State(w1), now, cost) {
		if n, d := l.QuickStep(now); pair.CAS(p, w0, w1, w0, uint64(n)) {
			return d
		}
	}
	d, _, _ := z.do(now, l, fingerprint(h), cost, limitgate.Spend)
	return d
}

// Warm looks at the place where the state of a key is looked for first, and so brings it near the processor: for those who know
// some keys before they ask for the first of them. What it returns means nothing. It decides and changes nothing, and it is of
// no use for windows, whose states lie elsewhere.
func (z *Zone) Warm(key string) uint64 {
	if z.logs.Load() != nil {
		return 0
	}
	b, start := z.table.Load().first(z.seed.sum(key) & ownerMask)
	return atomic.LoadUint64(&b[start].W0)
}

// do is Do for the fingerprint h where that found no state in the first bucket, or somebody was faster.
func (z *Zone) do(now limitgate.Time, l *limitgate.Limit, h uint64, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	if m == limitgate.Reset || l.Kind == limitgate.KindLog {
		return z.rare(now, l, h, cost, m)
	}
	for {
		t := z.table.Load()
		p, w0, w1 := t.find(h)
		if p == nil {
			t, p, w0, w1 = z.seek(h)
		}
		n, d := decide(l, w1, now, cost)
		// What was refused of a key that has no state leaves none; what was admitted needs a place.
		if p == nil && d.Admitted() && !m.Charges() && !z.room(t, h, now, l) {
			return limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, c, nil
		}
		if !m.Stores(d) || !d.Admitted() && (p == nil || uint64(n) == w1) {
			return d, c, nil
		}
		if injecting {
			disturb()
		}
		f := moved
		if p == nil {
			f, p, w0 = z.insert(t, h, uint64(n), now, l, !z.rejects.Load())
		} else if pair.CAS(p, w0, w1, w0, uint64(n)) {
			f = done
		}
		switch f {
		case done:
			if m == limitgate.Take && d.Admitted() {
				c = limitgate.Charge{Key: h, Life: t.life(p, w0), Before: limitgate.State(w1), After: n}
			}
			return d, c, nil
		case full:
			return limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, c, nil
		}
		z.count(h).retries.Add(1)
	}
}

// decide runs the step of a limit on a state word as it is stored here.
func decide(l *limitgate.Limit, w1 uint64, now limitgate.Time, cost limitgate.Cost) (limitgate.State, limitgate.Decision) {
	if l.Kind == limitgate.KindConn {
		return stepConn(l, w1, now, cost)
	}
	return l.Step(limitgate.State(w1), now, cost)
}

// rare does what is not the way of an ordinary request.
func (z *Zone) rare(now limitgate.Time, l *limitgate.Limit, h uint64, cost limitgate.Cost, m limitgate.Mode) (a limitgate.Decision, c limitgate.Charge, err error) {
	switch {
	case m != limitgate.Reset:
		a, c = z.doLog(now, l, h, cost, m)
	case l.Kind == limitgate.KindLog:
		z.resetLog(h)
	default:
		z.reset(h)
	}
	return a, c, nil
}

// reset empties the slot of a key: what it held is gone, and so is the life that charges name.
func (z *Zone) reset(h uint64) {
	for {
		_, p, w0, w1 := z.seek(h)
		if p == nil || pair.CAS(p, w0, w1, w0&versionMask, 0) {
			return
		}
		z.count(h).retries.Add(1)
	}
}

// seek looks for the state of h: in the table, and while a resize is at work in the one that follows. p is nil where
// there is none, and t then the table an insert belongs into.
func (z *Zone) seek(h uint64) (t *table, p *slot, w0, w1 uint64) {
	t = z.table.Load()
	for {
		if p, w0, w1 = t.find(h); p != nil {
			return t, p, w0, w1
		}
		// Seals come after next: if there is none now, the look above met none.
		next := t.next.Load()
		if next == nil {
			return t, nil, 0, 0
		}
		switch t.leave(h) {
		case stays:
			return t, nil, 0, 0
		case left:
			t = next
		}
	}
}

package memzone

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/pair"
)

// fate is how an attempt to store a state ended.
type fate uint8

const (
	done  fate = iota
	moved      // somebody was faster: look again
	full       // no place, and the policy gives none
)

// place is a slot as it was seen.
type place struct {
	s      *slot
	w0, w1 uint64
	at     limitgate.Time // when it drains; lower is better to take
}

// choice is what a look over one bucket found for a new key.
type choice struct {
	hot    int   // states that are in force
	free   place // the best place that costs nobody anything
	cold   place // the hot state that is closest to drained and may be evicted
	mine   place // an unfinished insert of the same key
	found  bool  // the key lives here after all
	sealed bool  // a resize has been here
}

const (
	never   = limitgate.Never
	unready = never - 1 // the rank of somebody's unfinished insert: taken only before a hot state
)

// weigh looks over one bucket, from the first candidate in it.
func (z *Zone) weigh(cs *candidates, first uint, h uint64, now limitgate.Time, l *limitgate.Limit) (c choice) {
	c.free.at, c.cold.at = never, never
	for i := range uint(ways) {
		s := cs.slot(first + i)
		// Not of one instant, perhaps; the swap that takes the place compares both.
		a, b := atomic.LoadUint64(&s.W0), atomic.LoadUint64(&s.W1)
		mine := a&ownerMask == h
		at := limitgate.Time(0)
		switch a & statusMask {
		case sealed:
			c.sealed = true
			continue
		case pending:
			if mine {
				c.mine = place{s: s, w0: a, w1: b}
				continue
			}
			at = unready
		case live:
			if mine {
				c.found = true
				continue
			}
			if at = z.drainAt(l, b, now); at > now {
				c.hot++
				if at < c.cold.at {
					c.cold = place{s, a, b, at}
				}
				continue
			}
			at = max(at, 0) + 1 // an empty place is better than any drained one
		}
		if at < c.free.at {
			c.free = place{s, a, b, at}
		}
	}
	return c
}

// drainAt is when a state stops mattering. States that are a debt in time say so themselves.
func (z *Zone) drainAt(l *limitgate.Limit, w1 uint64, now limitgate.Time) limitgate.Time {
	switch l.Kind {
	case limitgate.KindReq, limitgate.KindToken, limitgate.KindPace:
		return limitgate.Time(min(w1, math.MaxInt64))
	case limitgate.KindConn:
		return l.Steps.DrainAt(limitgate.State(held(w1)), now)
	}
	return l.Steps.DrainAt(limitgate.State(w1), now)
}

// look chooses where a new key goes.
func (z *Zone) look(c *candidates, h uint64, now limitgate.Time, l *limitgate.Limit) choice {
	x := z.weigh(c, 0, h, now, l)
	if c.n == ways || x.mine.s != nil || x.found || x.sealed || x.free.at == 0 && x.hot < crowded {
		return x
	}
	y := z.weigh(c, ways, h, now, l)
	if y.free.s != nil && (x.free.s == nil || y.hot < x.hot || y.hot == x.hot && y.free.at == 0 && x.free.at > 0) {
		x.free = y.free
	}
	if y.cold.at < x.cold.at {
		x.cold = y.cold
	}
	x.mine, x.found, x.sealed = y.mine, y.found, y.sealed
	return x
}

// room tells whether an insert of h would find a place.
func (z *Zone) room(t *table, h uint64, now limitgate.Time, l *limitgate.Limit) bool {
	if !z.rejects.Load() && l.Kind != limitgate.KindConn {
		return true
	}
	c := t.candidates(h)
	x := z.look(&c, h, now, l)
	return x.found || x.sealed || x.mine.s != nil || x.free.s != nil || !z.rejects.Load() && x.cold.s != nil
}

// insert makes state the state of h in t, where find had not found it, unless somebody else did so meanwhile or a resize
// has been at a candidate.
func (z *Zone) insert(t *table, h, state uint64, now limitgate.Time, l *limitgate.Limit, evict bool) (fate, *slot, uint64) {
	c := t.candidates(h)
	for try := 1; ; try++ {
		if try&15 == 0 {
			runtime.Gosched()
		}
		x := z.look(&c, h, now, l)
		if x.found || x.sealed {
			return moved, nil, 0
		}
		p := x.mine
		if p.s == nil {
			victim, hot := x.free, false
			if victim.s == nil {
				if !evict || x.cold.s == nil {
					z.count(h).full.Add(1)
					return full, nil, 0
				}
				victim, hot = x.cold, true
			}
			p = place{s: victim.s, w0: h | (victim.w0+versionOne)&versionMask | pending, w1: rand.Uint64()}
			if injecting {
				disturb()
			}
			if !pair.CAS(victim.s, victim.w0, victim.w1, p.w0, p.w1) {
				continue
			}
			z.taken(h, victim, hot)
		}
		if resolve(&c, h, p, state) {
			return done, p.s, p.w0&^statusMask | live
		}
		return moved, nil, 0
	}
}

// taken counts a place that changed its owner.
func (z *Zone) taken(h uint64, v place, hot bool) {
	n := z.count(h)
	switch {
	case hot:
		n.hot.Add(1)
	case v.w0&statusMask == live:
		n.reuses.Add(1)
	default:
		n.inserts.Add(1)
	}
	if z.gone != nil && v.w0&statusMask == live {
		z.gone(v.w0&ownerMask, v.w1)
	}
}

// resolve makes the pending place p the one live slot of h with the state, unless another place has a better claim or a
// resize has been here. Anybody who saw p pending may run it; at most one place of h ever becomes live:
// each runner sees every place of h that was claimed before its look, in the same order; a live or an earlier one
// cancels p, a later pending one is cancelled, and the last step succeeds only if p was not cancelled by others.
func resolve(c *candidates, h uint64, p place, state uint64) bool {
	passed := false // what comes now lies behind p in probe order
	for i := range c.n {
		s := c.slot(i)
		if s == p.s {
			passed = true
			continue
		}
		for {
			if injecting {
				disturb()
			}
			a := atomic.LoadUint64(&s.W0)
			if a&statusMask != sealed && (a&ownerMask != h || a&statusMask == empty) {
				break
			}
			b := atomic.LoadUint64(&s.W1)
			if a&statusMask != pending || !passed {
				pair.CAS(p.s, p.w0, p.w1, p.w0&versionMask, 0)
				return false
			}
			if pair.CAS(s, a, b, a&versionMask, 0) {
				break
			}
		}
	}
	if injecting {
		disturb()
	}
	return pair.CAS(p.s, p.w0, p.w1, p.w0&^statusMask|live, state)
}

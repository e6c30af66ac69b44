package memzone

import (
	"sync/atomic"

	"github.com/limitgate/limitgate"
)

// counters are one share of a zone's counts; a share has a cache line of its own.
type counters struct {
	inserts, reuses, hot, full, retries, refunds, contended atomic.Uint64
	_                                                       [8]byte
}

func (z *Zone) count(h uint64) *counters { return &z.counters[h>>8&7] }

// Stats counts what happened in a zone since it was made.
type Stats struct {
	Inserts      uint64 // new keys that found an empty place
	Reuses       uint64 // new keys that took the place of a drained state
	HotEvictions uint64 // states in force that were forgotten for a new key
	Full         uint64 // new keys that got no place
	Retries      uint64 // requests that found somebody faster and looked again, each time
	Refunds      uint64 // charges given back, released places included
	Contended    uint64 // requests over several limits that were refused because others kept moving this one
}

// Stats gives the counts.
func (z *Zone) Stats() (s Stats) {
	for i := range z.counters {
		c := &z.counters[i]
		s.Inserts += c.inserts.Load()
		s.Reuses += c.reuses.Load()
		s.HotEvictions += c.hot.Load()
		s.Full += c.full.Load()
		s.Retries += c.retries.Load()
		s.Refunds += c.refunds.Load()
		s.Contended += c.contended.Load()
	}
	return s
}

// each visits the states of all tables a resize has in use; for a zone at rest each key once.
func (z *Zone) each(f func(h, state uint64)) {
	for t := z.table.Load(); t != nil; t = t.next.Load() {
		t.each(f)
	}
}

// Held is the number of places held in a zone of kind conn, over all keys; 0 in others. It walks the table: for gauges
// and tests, not for requests. While requests go on it is about right.
func (z *Zone) Held() (n uint64) {
	if !z.holds() {
		return 0
	}
	z.each(func(_, s uint64) { n += held(s) })
	return n
}

// InForce tells whether anything in the zone says something at now. It walks the table until it finds a state that has not
// drained: for a reload, not for requests.
func (z *Zone) InForce(now limitgate.Time) bool {
	if g := z.logs.Load(); g != nil {
		return g.inForce(now)
	}
	l := z.drain.Load()
	if l == nil {
		return false
	}
	for t := z.table.Load(); t != nil; t = t.next.Load() {
		for i := range t.buckets {
			for j := range t.buckets[i] {
				if a, b := read(&t.buckets[i][j]); holdsState(a) && z.drainAt(l, b, now) > now {
					return true
				}
			}
		}
	}
	return false
}

// Len is the number of states in the zone, drained ones included. It walks the table.
func (z *Zone) Len() (n int) {
	if g := z.logs.Load(); g != nil {
		return g.len()
	}
	z.each(func(_, s uint64) { n++ })
	return n
}

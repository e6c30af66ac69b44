package phase

import (
	"sync"
	"sync/atomic"
)

// MaxHeld is how many refusals of a zone are held back at one time, so that those who are refused can't fill the memory.
const MaxHeld = 1000

// Held counts the refusals of a zone that are held back. It is safe for concurrent use.
type Held struct{ n atomic.Int64 }

// Enter takes a place, which Leave gives back. It reports false where all are taken.
func (h *Held) Enter() bool {
	if h.n.Add(1) <= MaxHeld {
		return true
	}
	h.n.Add(-1)
	return false
}

// Leave gives a place back.
func (h *Held) Leave() { h.n.Add(-1) }

// Count is how many are held now.
func (h *Held) Count() int64 { return h.n.Load() }

// Holds are the counts of all zones. They outlive the configuration: what an old one holds back takes places of the new one's. The
// zero value is none so far. It is safe for concurrent use.
type Holds struct {
	mu     sync.Mutex
	byZone map[string]*Held // guarded by mu
}

// Sum is how many are held now, over all zones.
func (h *Holds) Sum() (n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, z := range h.byZone {
		n += z.Count()
	}
	return n
}

// of returns the count of a zone.
func (h *Holds) of(zone string) *Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byZone == nil {
		h.byZone = map[string]*Held{}
	}
	if h.byZone[zone] == nil {
		h.byZone[zone] = &Held{}
	}
	return h.byZone[zone]
}

// Held returns the count of a zone: one for all scopes that use it.
func (e *Env) Held(zone string) *Held {
	if e.Holds == nil {
		e.Holds = &Holds{}
	}
	return e.Holds.of(zone)
}

package phase

import "sync/atomic"

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

// Held returns the count of a zone: one for all scopes of a configuration that use it.
func (e *Env) Held(zone string) *Held {
	if e.held == nil {
		e.held = map[string]*Held{}
	}
	if e.held[zone] == nil {
		e.held[zone] = &Held{}
	}
	return e.held[zone]
}

package memzone

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"unsafe"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/pair"
)

// A life of a state is what lies between its insert and its end: an eviction, a reset, a resize that found it drained. It is
// named by a table (24 bits of gen, as they come round), a slot of it (32) and an insert into that (the version, where it
// stands in W0):
//
//	gen 24 | slot 32 | version 6 | 0 2
//
// A slot from which a resize carried a life is closed with its version, and with the name that the life has in the next
// table as its state; one that was closed without, has 0 there. So a charge finds its state by following from where it was
// made to wherever the state went, and finds no other one. When the resize is done, its table goes, and what it told of
// lives is kept as a step of the trail.
const (
	genShift  = 40
	slotShift = 8
)

// life names the life that p holds under w0.
func (t *table) life(p *slot, w0 uint64) uint64 {
	i := uint64(uintptr(unsafe.Pointer(p))-uintptr(unsafe.Pointer(&t.buckets[0]))) / 16
	return t.gen<<genShift | i<<slotShift&(1<<genShift-1) | w0&versionMask
}

// slot gives the slot that a life names, in a table of the same gen.
func (t *table) slot(life uint64) *slot {
	i := life >> slotShift & (1<<(genShift-slotShift) - 1)
	return &t.buckets[i/ways][i%ways]
}

// step is what a resize did to the lives in a table.
type step struct {
	gen   uint64
	moves []move // by from
}

// move is a life under its old and its new name.
type move struct{ from, to uint64 }

// trail is the steps of the latest resizes, the latest last.
type trail []step

// leastTrail is how many moves a trail keeps at least: a megabyte of them.
const leastTrail = 1 << 16

// follow notes what became of the lives in t and the tables behind it, up to n. What is kept is as large as the table, and
// at least leastTrail; the oldest steps go first.
func (z *Zone) follow(t, n *table) {
	var w trail
	if old := z.trail.Load(); old != nil {
		w = append(w, *old...)
	}
	for ; t != n; t = t.next.Load() {
		w = append(w, t.step())
	}
	kept, room := len(w), max(leastTrail, ways*len(n.buckets))
	for kept > 0 && room >= len(w[kept-1].moves) {
		kept--
		room -= len(w[kept].moves) + 1
	}
	w = w[kept:]
	z.trail.Store(&w)
}

// step reads what the closed slots of t tell.
func (t *table) step() step {
	w := step{gen: t.gen}
	for i := range t.buckets {
		for j := range t.buckets[i] {
			s := &t.buckets[i][j]
			if w0, w1 := read(s); w1 != 0 {
				w.moves = append(w.moves, move{t.life(s, w0), w1})
			}
		}
	}
	return w
}

// find gives the name under which a life goes on; 0 if it ended. Where the trail does not go so far back it is not known.
func (w *trail) find(life uint64) (to uint64, known bool) {
	if w == nil {
		return 0, false
	}
	for i := len(*w) - 1; i >= 0; i-- {
		if s := &(*w)[i]; s.gen == life>>genShift {
			k, found := slices.BinarySearchFunc(s.moves, life, func(m move, life uint64) int { return cmp.Compare(m.from, life) })
			if !found {
				return 0, true
			}
			return s.moves[k].to, true
		}
	}
	return 0, false
}

// Refund implements limitgate.Zone. It never fails. A place of a Conn limit is always found: held states are not evicted.
// What was charged to a state that was evicted or reset since went with it.
func (z *Zone) Refund(_ context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	if c == (limitgate.Charge{}) {
		return nil
	}
	z.count(c.Key).refunds.Add(1)
	switch l.Kind {
	case limitgate.KindLog:
		z.refundLog(c)
	case limitgate.KindConn:
		z.refundPlace(c)
	default:
		z.refundState(now, l, c)
	}
	return nil
}

// refundPlace gives back places of a key, in whatever table it is.
func (z *Zone) refundPlace(c limitgate.Charge) {
	for {
		_, p, w0, w1 := z.seek(c.Key)
		if p == nil {
			return
		}
		n := release(w1, held(uint64(c.After))-held(uint64(c.Before)))
		if n == w1 || pair.CAS(p, w0, w1, w0, n) {
			return
		}
		z.count(c.Key).retries.Add(1)
	}
}

// refundState takes back what was charged to a life, if it goes on. Where it is not known what became of it, because so much
// was resized since, the key's state is taken for it: it gives back at most what it was charged.
func (z *Zone) refundState(now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) {
	for life := c.Life; life != 0; {
		if injecting {
			disturb()
		}
		t := z.table.Load()
		for t != nil && t.gen != life>>genShift { // of a table that a resize is filling
			t = t.next.Load()
		}
		if t == nil {
			to, known := z.trail.Load().find(life) // behind the table: of the one that a new table follows it tells
			if !known {
				to = z.nameOf(c.Key)
			}
			life = to
			continue
		}
		p, version := t.slot(life), life&versionMask
		w0, w1 := read(p)
		switch {
		case w0 == c.Key|version|live:
			n := uint64(l.Steps.Undo(limitgate.State(w1), c.Before, c.After, now))
			if n == w1 || pair.CAS(p, w0, w1, w0, n) {
				return
			}
			z.count(c.Key).retries.Add(1)
		case w0 == c.Key|version|sealed: // just being carried over
			runtime.Gosched()
		case w0 == version|sealed:
			life = w1
		default:
			return
		}
	}
}

// nameOf gives the life of a key's state, 0 if it has none.
func (z *Zone) nameOf(h uint64) uint64 {
	t, p, w0, _ := z.seek(h)
	if p == nil {
		return 0
	}
	return t.life(p, w0)
}

package memzone

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/pair"
)

// A resize fills a second table slot by slot while requests go on.
//
//  1. The old table's next is set. From here on a request that does not find its key asks leave where it belongs.
//  2. Each slot is sealed by one swap: an empty one, an unfinished insert and a drained state become closed; a state in
//     force becomes sealed under its fingerprint, is inserted into the next table, and then its slot is closed with the name
//     of its new place (see refund.go).
//  3. The zone's table is the new one. Who still holds the old one finds it closed everywhere, and follows.
//
// A seal is for good, so "there is a seal among the candidates of h" stays true once it is. A key is in the old table, or
// being carried over, or in the new one, never in two, because:
//
//   - An insert into the old table looks over all candidates after it has claimed its place; if it meets a seal it gives up.
//   - A request goes to the new table only after it saw a seal and then, in a second look over all candidates, found
//     neither a live nor a sealed slot of h, and cancelled each pending one. A pending slot that this look could have
//     missed was claimed after the seal, so its own look meets the seal.
//
// A request whose key is just being carried over waits for the few instructions that takes.

// whereabouts is what leave found out about a key.
type whereabouts uint8

const (
	stays whereabouts = iota // no seal among the candidates: the key belongs here
	left                     // the key is not here and never will be again
	again                    // look again
)

// leave finds out whether h has left the table, which has a next one, and sees to it that it does not come back.
func (t *table) leave(h uint64) whereabouts {
	c := t.candidates(h)
	if !c.sealed() {
		return stays
	}
	for i := range c.n {
		if injecting {
			disturb()
		}
		s := c.slot(i)
		a, b := read(s)
		if a&ownerMask != h {
			continue
		}
		switch a & statusMask {
		case live:
			return again
		case sealed:
			runtime.Gosched()
			return again
		case pending:
			if !pair.CAS(s, a, b, a&versionMask, 0) {
				return again
			}
		}
	}
	return left
}

// sealed tells whether a resize has been at one of the candidates.
func (c *candidates) sealed() bool {
	for i := range c.n {
		if atomic.LoadUint64(&c.slot(i).W0)&statusMask == sealed {
			return true
		}
	}
	return false
}

// Resize gives the zone a table of another size while requests go on, and returns the bytes it then has. No debt and no
// held place is lost on the way to a larger one. A smaller one may have no room for all: then, as with a new key, the
// states closest to drained are forgotten and counted as hot evictions. Held places are never forgotten, and nothing is
// under Reject: a table that turns out too small for them is doubled, until it is not. Charges and places from before
// can be given back afterwards: so that a receipt finds its state, 16 bytes of each that was carried over are kept, together at
// most as many as the table has, or a megabyte. It takes time in proportion to the old table; a second Resize waits for the first.
func (z *Zone) Resize(size int, now limitgate.Time) (int, error) {
	if size < bucketBytes {
		return z.Bytes(), fmt.Errorf("memory zone: can't be resized to %d bytes; at least %d", size, bucketBytes)
	}
	z.resizing.Lock()
	defer z.resizing.Unlock()
	if g := z.logs.Load(); g != nil {
		return z.resizeLogs(g, size, now)
	}
	old := z.table.Load()
	if size/bucketBytes == len(old.buckets) {
		return old.bytes(), nil
	}
	n := z.carry(old, size, now)
	if !z.holds() { // places are found by their key
		z.follow(old, n)
	}
	z.table.Store(n)
	return z.Bytes(), nil
}

// carry moves all of t into a table of size bytes, or a larger one that has room, and returns that.
func (z *Zone) carry(t *table, size int, now limitgate.Time) *table {
	n := newTable(size, t.gen+1)
	t.next.Store(n)
	l := z.drain.Load()
	for i := range t.buckets {
		for j := range t.buckets[i] {
			n = z.carrySlot(t, &t.buckets[i][j], n, now, l)
		}
	}
	return n
}

// carrySlot closes one slot and moves what is in force there into n, or into a table that follows it.
func (z *Zone) carrySlot(t *table, s *slot, n *table, now limitgate.Time, l *limitgate.Limit) *table {
	for {
		if injecting {
			disturb()
		}
		a, b := read(s)
		if a&statusMask != live || l == nil || z.drainAt(l, b, now) <= now {
			if pair.CAS(s, a, b, a&versionMask|sealed, 0) {
				if a&statusMask == live && z.gone != nil {
					z.gone(a&ownerMask, b)
				}
				return n
			}
			continue
		}
		if !pair.CAS(s, a, b, a|sealed, b) {
			continue
		}
		h := a & ownerMask
		for {
			f, p, w0 := z.insert(n, h, b, now, l, !z.rejects.Load())
			if f == done {
				pair.CAS(s, a|sealed, b, a&versionMask|sealed, n.life(p, w0)) // nobody else touches a sealed slot
				return n
			}
			if f == full {
				n = z.carry(n, 2*n.bytes(), now)
			}
		}
	}
}

// holds tells whether the states are held places.
func (z *Zone) holds() bool { return z.Kind() == limitgate.KindConn }

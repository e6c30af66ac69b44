package memzone

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/limitgate/limitgate/internal/pair"
)

const (
	empty   = 0
	live    = 1
	pending = 2
	sealed  = 3

	statusMask  = 3
	versionOne  = 4
	versionMask = 0xfc
	ownerMask   = ^uint64(0xff) // fingerprint

	ways        = 8
	bucketBytes = ways * 16
	crowded     = 5 // hot states in the first bucket from which an insert looks at the second
)

// slot is one state with its owner.
type slot = pair.Words

// bucket is two cache lines of slots.
type bucket [ways]slot

// table is a fixed array of slots.
type table struct {
	buckets []bucket
	gen     uint64                // counts the resizes, as far as it fits into a life
	next    atomic.Pointer[table] // set before the first slot is sealed, and never changed
}

// newTable gives a table of as many buckets as fit into bytes, at least one.
func newTable(size int, gen uint64) *table {
	n := max(size/bucketBytes, 1)
	mem := make([]byte, n*bucketBytes+bucketBytes-1)
	off := int(-uintptr(unsafe.Pointer(&mem[0])) & (bucketBytes - 1))
	// In bounds: off is below bucketBytes, and n buckets are n*bucketBytes. The heap does not move, so the alignment, which
	// CAS and the cache lines need, stays. The slice keeps mem alive.
	return &table{buckets: unsafe.Slice((*bucket)(unsafe.Pointer(&mem[off])), n), gen: gen & (1<<(64-genShift) - 1)}
}

func (t *table) bytes() int { return len(t.buckets) * bucketBytes }

// first and second give the candidate buckets of a fingerprint, and where in them a look begins: the next slots are those
// whose number differs from start in one bit and so on, four of one cache line and then four of the other.
//
// A key goes to the first free slot of this order. So in a zone with as many keys as it is made for most of them are where the
// look begins, and the processor, which goes on with its guess of where a key is while it waits for memory, is right.
func (t *table) first(h uint64) (b *bucket, start uint) {
	i, _ := bits.Mul64(h, uint64(len(t.buckets)))
	return &t.buckets[i], uint(h>>8) % ways
}

func (t *table) second(h uint64) (b *bucket, start uint) {
	i, _ := bits.Mul64(bits.RotateLeft64(h, 32)*0x9E3779B97F4A7C15, uint64(len(t.buckets)))
	return &t.buckets[i], uint(h>>11) % ways
}

// candidates are the slots of a fingerprint in probe order; every caller gets the same order.
type candidates struct {
	buckets [2]*bucket
	starts  [2]uint
	n       uint // 16 slots, or 8 if both buckets are one
}

func (t *table) candidates(h uint64) (c candidates) {
	c.buckets[0], c.starts[0] = t.first(h)
	c.buckets[1], c.starts[1] = t.second(h)
	c.n = 2 * ways
	if c.buckets[0] == c.buckets[1] {
		c.n = ways
	}
	return c
}

// slot gives the i-th candidate.
func (c *candidates) slot(i uint) *slot {
	k := i / ways % 2
	return &c.buckets[k][(i^c.starts[k])%ways]
}

// find looks for the live slot of h in one bucket. p is nil if it is not there. w0 and w1 are of one instant.
func (b *bucket) find(start uint, h uint64) (p *slot, w0, w1 uint64) {
	want := h | live
	for i := range uint(ways) {
		s := &b[(i^start)%ways]
		for {
			a := atomic.LoadUint64(&s.W0)
			if a&^versionMask != want {
				break
			}
			if injecting {
				disturb()
			}
			b := atomic.LoadUint64(&s.W1)
			if injecting {
				disturb()
			}
			if atomic.LoadUint64(&s.W0) == a {
				return s, a, b
			}
		}
	}
	return nil, 0, 0
}

// find looks for the live slot of h.
func (t *table) find(h uint64) (p *slot, w0, w1 uint64) {
	b, start := t.first(h)
	if p, w0, w1 = b.find(start, h); p != nil {
		return p, w0, w1
	}
	b, start = t.second(h)
	return b.find(start, h)
}

// read gives both words of a slot as of one instant.
func read(s *slot) (w0, w1 uint64) {
	for {
		w0 = atomic.LoadUint64(&s.W0)
		w1 = atomic.LoadUint64(&s.W1)
		if atomic.LoadUint64(&s.W0) == w0 {
			return w0, w1
		}
	}
}

// holdsState tells whether a slot has a state: a live one, or one that is being carried over.
func holdsState(w0 uint64) bool {
	return w0&statusMask == live || w0&statusMask == sealed && w0&ownerMask != 0
}

// each visits the live slots, and those being carried over.
func (t *table) each(f func(h, state uint64)) {
	for i := range t.buckets {
		for j := range t.buckets[i] {
			a, b := read(&t.buckets[i][j])
			if holdsState(a) {
				f(a&ownerMask, b)
			}
		}
	}
}

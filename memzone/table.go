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

// line is a cache line of slots; a bucket is two.
type line [4]slot

// table is a fixed array of slots.
type table struct {
	lines   []line
	buckets uint64
	gen     uint64                // counts the resizes, as far as it fits into a life
	next    atomic.Pointer[table] // set before the first slot is sealed, and never changed
}

// newTable gives a table of as many buckets as fit into bytes, at least one.
func newTable(size int, gen uint64) *table {
	n := max(size/bucketBytes, 1)
	mem := make([]byte, n*bucketBytes+bucketBytes-1)
	off := int(-uintptr(unsafe.Pointer(&mem[0])) & (bucketBytes - 1))
	// In bounds: off is below bucketBytes, and 2n lines of 64 bytes are n*bucketBytes. The heap does not move, so the
	// alignment, which CAS and the cache lines need, stays. The slice keeps mem alive.
	lines := unsafe.Slice((*line)(unsafe.Pointer(&mem[off])), 2*n)
	return &table{lines: lines, buckets: uint64(n), gen: gen & (1<<(64-genShift) - 1)}
}

func (t *table) bytes() int { return len(t.lines) * int(unsafe.Sizeof(line{})) }

// first and second give the first line of each candidate bucket of a fingerprint; the other line is ^1. Which of the two
// lines comes first is drawn from the fingerprint too, so that half the look-ups need only one.
func (t *table) first(h uint64) uint64 {
	b, _ := bits.Mul64(h, t.buckets)
	return b<<1 | h>>8&1
}

func (t *table) second(h uint64) uint64 {
	g := bits.RotateLeft64(h, 32) * 0x9E3779B97F4A7C15
	b, _ := bits.Mul64(g, t.buckets)
	return b<<1 | h>>9&1
}

// candidates are the lines of a fingerprint in probe order; every caller gets the same order.
type candidates struct {
	lines [4]*line
	n     int // 4, or 2 if both buckets are one
}

func (t *table) candidates(h uint64) (c candidates) {
	i, k := t.first(h), t.second(h)
	c.lines = [4]*line{&t.lines[i], &t.lines[i^1], &t.lines[k], &t.lines[k^1]}
	c.n = 4
	if i>>1 == k>>1 {
		c.n = 2
	}
	return c
}

// probe looks for the live slot of h in one line. p is nil if it is not there. w0 and w1 are of one instant.
func probe(l *line, h uint64) (p *slot, w0, w1 uint64) {
	want := h | live
	for j := range l {
		s := &l[j]
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
	i := t.first(h)
	if p, w0, w1 = probe(&t.lines[i], h); p != nil {
		return p, w0, w1
	}
	if p, w0, w1 = probe(&t.lines[i^1], h); p != nil {
		return p, w0, w1
	}
	k := t.second(h)
	if p, w0, w1 = probe(&t.lines[k], h); p != nil {
		return p, w0, w1
	}
	return probe(&t.lines[k^1], h)
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

// each visits the live slots, and those being carried over.
func (t *table) each(f func(h, state uint64)) {
	for i := range t.lines {
		for j := range t.lines[i] {
			a, b := read(&t.lines[i][j])
			if a&statusMask == live || a&statusMask == sealed && a&ownerMask != 0 {
				f(a&ownerMask, b)
			}
		}
	}
}

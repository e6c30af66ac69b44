package meter

import (
	"slices"
	"sync/atomic"
	"time"
)

// Histogram counts durations by size. It is safe for concurrent use; NewHistogram makes one.
type Histogram struct {
	bounds []time.Duration
	counts []atomic.Uint64 // of those up to each bound and above the one before; the last one: beyond all
	sum    atomic.Int64
}

// NewHistogram makes a histogram with upper bounds, which rise and stay the caller's to keep as they are.
func NewHistogram(bounds []time.Duration) Histogram {
	return Histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// Observe counts d.
func (h *Histogram) Observe(d time.Duration) {
	i, _ := slices.BinarySearch(h.bounds, d)
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Buckets is what a histogram has counted.
type Buckets struct {
	Bounds []time.Duration
	Counts []uint64 // up to each bound and above the one before; one more than bounds: beyond all
	Sum    time.Duration
}

// Count is how many durations there were.
func (b Buckets) Count() (n uint64) {
	for _, c := range b.Counts {
		n += c
	}
	return n
}

// Read reads the counters, one after the other.
func (h *Histogram) Read() Buckets {
	b := Buckets{Bounds: h.bounds, Counts: make([]uint64, len(h.counts)), Sum: time.Duration(h.sum.Load())}
	for i := range h.counts {
		b.Counts[i] = h.counts[i].Load()
	}
	return b
}

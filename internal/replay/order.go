package replay

import "github.com/limitgate/limitgate/internal/heap"

// arrival is an entry at the instant that it comes under one assumption.
type arrival struct {
	at   int64
	turn uint64 // among those of the same instant
	e    *entry
}

// Before implements heap.Ordered.
func (a *arrival) Before(b *arrival) bool {
	return a.at < b.at || a.at == b.at && a.turn < b.turn
}

// order is a buffer that puts arrivals in order, as far as they are in it together. What comes in order costs nothing: it
// stands in a ring; the rest stands in a heap beside it.
type order struct {
	ring  []arrival // a power of two
	first uint64
	last  uint64
	heap  heap.Heap[arrival, *arrival]
}

func (o *order) len() int { return int(o.last-o.first) + len(o.heap) }

func (o *order) slot(i uint64) *arrival { return &o.ring[i&uint64(len(o.ring)-1)] }

func (o *order) add(a arrival) {
	if o.first < o.last && a.Before(o.slot(o.last-1)) {
		o.heap.Push(a)
		return
	}
	if o.last-o.first == uint64(len(o.ring)) {
		old := *o
		o.ring = make([]arrival, max(256, 2*len(o.ring)))
		for i := o.first; i < o.last; i++ {
			*o.slot(i) = *old.slot(i)
		}
	}
	*o.slot(o.last) = a
	o.last++
}

// next returns the first arrival; there must be one.
func (o *order) next() *arrival {
	if o.first == o.last || len(o.heap) > 0 && o.heap[0].Before(o.slot(o.first)) {
		return &o.heap[0]
	}
	return o.slot(o.first)
}

// take returns the first arrival and removes it.
func (o *order) take() arrival {
	n := o.next()
	if len(o.heap) > 0 && n == &o.heap[0] {
		return o.heap.Pop()
	}
	a := *n
	*n = arrival{}
	o.first++
	return a
}

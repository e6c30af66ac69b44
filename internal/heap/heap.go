// Package heap keeps what is to come in order: the first of many, as a binary heap of values. It stands below whatever has a time
// line, and knows no times; container/heap would make garbage of each value.
package heap

// Ordered is implemented by pointers to what a heap holds.
type Ordered[T any] interface {
	*T
	// Before tells whether it comes before another.
	Before(*T) bool
}

// Heap is a binary heap: its first element is before all others. The zero value is empty.
type Heap[T any, P Ordered[T]] []T

// Push adds an element.
func (h *Heap[T, P]) Push(v T) {
	*h = append(*h, v)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !P(&list[i]).Before(&list[up]) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

// Pop takes the first element; there must be one.
func (h *Heap[T, P]) Pop() T {
	list := *h
	var zero T
	first, last := list[0], len(list)-1
	list[0], list[last] = list[last], zero
	list = list[:last]
	*h = list
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(list) && P(&list[down]).Before(&list[least]) {
				least = down
			}
		}
		if least == i {
			return first
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
}

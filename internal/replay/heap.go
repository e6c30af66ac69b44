package replay

// heap is a binary heap: its first element is before all others. The zero value is empty.
type heap[T interface{ before(T) bool }] []T

func (h *heap[T]) push(v T) {
	*h = append(*h, v)
	list := *h
	for i := len(list) - 1; i > 0; {
		up := (i - 1) / 2
		if !list[i].before(list[up]) {
			return
		}
		list[i], list[up] = list[up], list[i]
		i = up
	}
}

// pop takes the first element; there must be one.
func (h *heap[T]) pop() T {
	list := *h
	var zero T
	first, last := list[0], len(list)-1
	list[0], list[last] = list[last], zero
	list = list[:last]
	*h = list
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(list) && list[down].before(list[least]) {
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

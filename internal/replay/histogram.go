package replay

import "math/bits"

// histogram counts numbers in classes that are at most a 32nd of the number wide.
type histogram struct {
	n       []int64
	total   int64
	largest int64
}

const subBits = 5

// class is the number of the class that v, which is not negative, is in.
func class(v int64) int {
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(uint64(v)) - subBits - 1
	return (shift+1)<<subBits + int(v>>shift) - 1<<subBits
}

// floor is the least number of a class.
func floor(class int) int64 {
	if class < 1<<subBits {
		return int64(class)
	}
	shift := class>>subBits - 1
	return int64(1<<subBits+class&(1<<subBits-1)) << shift
}

func (h *histogram) add(v, weight int64) {
	c := class(max(0, v))
	if c >= len(h.n) {
		h.n = append(h.n, make([]int64, c+1-len(h.n))...)
	}
	h.n[c] += weight
	h.total += weight
	h.largest = max(h.largest, v)
}

// quantile returns a number that at least so many of 1000 are not above, exact for small ones, else at most a 32nd too low.
func (h *histogram) quantile(perMille int64) int64 {
	if h.total == 0 {
		return 0
	}
	// Weights may be nanoseconds of years: the share is not multiplied out.
	want := h.total/1000*perMille + (h.total%1000*perMille+999)/1000
	for c, n := range h.n {
		if want -= n; want <= 0 {
			return min(floor(c), h.largest)
		}
	}
	return h.largest
}

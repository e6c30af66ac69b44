package replay

import (
	"hash/maphash"
	"sort"
	"strconv"
)

// top finds the most frequent texts of a stream in a fixed amount of memory: the space-saving algorithm. Of each text it tells
// how often it came at most, and by how much that may be too high. A text that came more often than total/places is among
// them for certain. The zero value is not ready: newTop.
type top struct {
	places int
	total  int64
	index  map[string]*counted
	heap   []*counted // the least first
	long   maphash.Hash
	text   []byte
}

// counted is a text of a top.
type counted struct {
	text  string
	n     int64
	error int64 // by how much n may be too high
	at    int   // in the heap
}

const (
	topPlaces = 1024
	longText  = 200 // bytes of a text that are kept
)

func newTop(places int) *top { return &top{places: places, index: map[string]*counted{}} }

// add counts a text.
func (t *top) add(text []byte) {
	t.total++
	if len(text) > longText {
		text = t.shorten(text)
	}
	if c := t.index[string(text)]; c != nil {
		c.n++
		t.sink(c.at)
		return
	}
	if len(t.heap) < t.places {
		c := &counted{text: string(text), n: 1, at: len(t.heap)}
		t.heap = append(t.heap, c)
		t.index[c.text] = c
		t.rise(c.at)
		return
	}
	c := t.heap[0]
	delete(t.index, c.text)
	c.text, c.error = string(text), c.n
	c.n++
	t.index[c.text] = c
	t.sink(0)
}

// shorten cuts a text and marks it with a hash of the whole.
func (t *top) shorten(text []byte) []byte {
	t.long.Reset()
	_, _ = t.long.Write(text) // it never fails
	t.text = append(append(t.text[:0], text[:longText]...), "…#"...)
	return strconv.AppendUint(t.text, t.long.Sum64(), 36)
}

func (t *top) less(i, j int) bool { return t.heap[i].n < t.heap[j].n }

func (t *top) swap(i, j int) {
	h := t.heap
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (t *top) rise(i int) {
	for i > 0 {
		up := (i - 1) / 2
		if !t.less(i, up) {
			return
		}
		t.swap(i, up)
		i = up
	}
}

func (t *top) sink(i int) {
	for {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(t.heap) && t.less(down, least) {
				least = down
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

// first returns the n most frequent texts, the most frequent first.
func (t *top) first(n int) []counted {
	list := make([]counted, 0, len(t.heap))
	for _, c := range t.heap {
		list = append(list, *c)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		return a.n > b.n || a.n == b.n && (a.error < b.error || a.error == b.error && a.text < b.text)
	})
	return list[:min(n, len(list))]
}

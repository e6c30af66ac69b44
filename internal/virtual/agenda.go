package virtual

import "github.com/limitgate/limitgate"

// task is something that happens later: places are given back, or a request that was delayed goes on.
type task struct {
	due     int64
	serial  uint64            // of the request it comes from
	visitor Visitor           // whose request goes on; nil: a release
	places  []limitgate.Place // to give back
}

// before orders tasks: by time, releases first, then as the requests came.
func (t *task) before(o *task) bool {
	switch {
	case t.due != o.due:
		return t.due < o.due
	case (t.visitor == nil) != (o.visitor == nil):
		return t.visitor == nil
	}
	return t.serial < o.serial
}

// agenda is what is to happen, as a binary heap: the next task first.
type agenda []task

func (a *agenda) add(t task) {
	*a = append(*a, t)
	h := *a
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// next takes the first task.
func (a *agenda) next() task {
	h := *a
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], task{}
	h = h[:last]
	*a = h
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < len(h) && h[down].before(&h[least]) {
				least = down
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

package virtual

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/heap"
)

// task is something that happens later: places are given back, or a request that was delayed goes on.
type task struct {
	due     int64
	serial  uint64            // of the request it comes from
	visitor Visitor           // whose request goes on; nil: a release
	places  []limitgate.Place // to give back
}

// Before orders tasks: by time, releases first, then as the requests came.
func (t *task) Before(o *task) bool {
	switch {
	case t.due != o.due:
		return t.due < o.due
	case (t.visitor == nil) != (o.visitor == nil):
		return t.visitor == nil
	}
	return t.serial < o.serial
}

// agenda is what is to happen, the next task first.
type agenda = heap.Heap[task, *task]

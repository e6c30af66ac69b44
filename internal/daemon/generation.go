package daemon

import (
	"math"
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/request"
)

// generation is one compiled configuration while it serves. It ends with its last request after another one took its
// place.
//
//	refs  > 0      the owner's reference, until retire, and one for each request
//	refs == 0      nobody left: the one who finds it so ends it
//	refs << 0      ended: nobody may begin
type generation struct {
	edge.Program
	tally *tally // nil: nobody counts
	refs  atomic.Int64
	ended chan struct{}
}

// dead is far enough below zero that late Acquires can't lift it.
const dead = math.MinInt64 / 2

func newGeneration(p edge.Program, t *tally) *generation {
	g := &generation{Program: p, tally: t, ended: make(chan struct{})}
	g.refs.Store(1)
	return g
}

// Serve implements edge.Program.
func (g *generation) Serve(r *request.Request) {
	g.Program.Serve(r)
	if g.tally != nil {
		g.tally.add(r)
	}
}

// begin takes a reference; false means that the generation has ended.
func (g *generation) begin() bool {
	if g.refs.Add(1) > 0 {
		return true
	}
	g.refs.Add(-1)
	return false
}

// done gives a reference back. Between the last one leaving and the swap another may still begin: then it ends later.
func (g *generation) done() {
	if g.refs.Add(-1) == 0 && g.refs.CompareAndSwap(0, dead) {
		close(g.ended)
	}
}

// source hands out the running generation; it implements edge.Source.
type source struct {
	current atomic.Pointer[generation]
}

var _ edge.Source = (*source)(nil)

// Acquire returns the running program and keeps it until Release.
func (s *source) Acquire() edge.Program {
	for {
		if g := s.current.Load(); g.begin() {
			return g
		}
		// It ended between Load and begin, so another one is in its place already.
	}
}

// Release ends what Acquire began.
func (s *source) Release(p edge.Program) { p.(*generation).done() }

// swap puts next in place and retires what ran before; nil at the start.
func (s *source) swap(next *generation) (old *generation) {
	old = s.current.Swap(next)
	if old != nil {
		old.done()
	}
	return old
}

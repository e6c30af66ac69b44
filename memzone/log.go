package memzone

import (
	"sync"
	"unsafe"

	"github.com/limitgate/limitgate"
)

// Exact logs are the one kind of state that does not fit into a slot. A zone of that kind has, instead of its table, a few
// shards of this, each with a lock of its own:
//
//	heads    [h mod len] -> log -> log            which log is of a fingerprint
//	logs     fingerprint, number of stamps, cells, and a place in the list from the longest unused to the newest
//	cells    7 stamps and the number of the next cell: a log is a chain of them, cut at its old end
//
// All of it is made at once and never grows. What takes room from others is a new log, or a new cell: the log that was
// unused for longest goes, which with windows of one length is the one closest to drained.

// Numbers of logs and cells are their index plus one, so that 0 is none.
type (
	ref uint32

	logState struct {
		h            uint64
		until        limitgate.Time // when its last stamp stops counting
		life         uint64
		n            uint32 // stamps
		first        uint32 // where the oldest is in the head cell
		head, tail   ref    // cells
		older, newer ref    // in the list; of a free one, newer is the next free one
		chain        ref    // the next with the same head
		_            uint32
	}

	cell struct {
		stamps [stampsPerCell]limitgate.Time
		next   ref
		_      uint32
	}
)

const (
	stampsPerCell = 7
	cellsPerLog   = 3
	headsPerLog   = 2

	logBytes   = int(unsafe.Sizeof(logState{})) + cellsPerLog*int(unsafe.Sizeof(cell{})) + headsPerLog*4
	shardBytes = 128 << 10
	maxShards  = 64
)

// shard is a part of the logs.
type shard struct {
	mu    sync.Mutex // guards what follows
	heads []ref
	logs  []logState
	cells []cell

	usedLogs, usedCells int // handed out so far
	freeLog, freeCell   ref // handed back
	spareCells          int // in both

	oldest, newest ref

	next *logs // set once everything has moved there
	_    [64]byte
}

// logs are all shards of a zone.
type logs struct {
	shards []shard
	size   int
}

func newLogs(size int) *logs {
	n := 1
	for n < maxShards && size/(2*n) >= shardBytes {
		n *= 2
	}
	each := max(size/n/logBytes, 1)
	g := &logs{shards: make([]shard, n), size: size}
	for i := range g.shards {
		g.shards[i] = shard{
			heads: make([]ref, each*headsPerLog), logs: make([]logState, each), cells: make([]cell, each*cellsPerLog),
			spareCells: each * cellsPerLog,
		}
	}
	return g
}

// longest is how many stamps a log can have, wherever its first one lies in a cell.
func (g *logs) longest() int64 {
	return int64(len(g.shards[0].cells))*stampsPerCell - stampsPerCell + 1
}

// capacity leaves the unevenness of the shards free.
func (g *logs) capacity() int { return len(g.shards) * len(g.shards[0].logs) * 3 / 4 }

func (g *logs) len() (n int) {
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for r := s.oldest; r != 0; r = s.logs[r-1].newer {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// inForce tells whether a log has a stamp that counts at now.
func (g *logs) inForce(now limitgate.Time) bool {
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for r := s.oldest; r != 0; r = s.logs[r-1].newer {
			if l := &s.logs[r-1]; l.n > 0 && l.until > now {
				s.mu.Unlock()
				return true
			}
		}
		s.mu.Unlock()
	}
	return false
}

// of is the shard of a fingerprint.
func (g *logs) of(h uint64) *shard { return &g.shards[h>>(64-8)&uint64(len(g.shards)-1)] }

// find gives the log of h, or nil.
func (s *shard) find(h uint64) *logState {
	for r := s.heads[h>>8%uint64(len(s.heads))]; r != 0; r = s.logs[r-1].chain {
		if s.logs[r-1].h == h {
			return &s.logs[r-1]
		}
	}
	return nil
}

func (s *shard) number(l *logState) ref {
	// In bounds: l points into s.logs.
	return ref((uintptr(unsafe.Pointer(l))-uintptr(unsafe.Pointer(&s.logs[0])))/unsafe.Sizeof(logState{})) + 1
}

// stamp gives the k-th stamp, oldest first.
func (s *shard) stamp(l *logState, k uint32) *limitgate.Time {
	at, c := l.first+k, l.head
	for ; at >= stampsPerCell; at -= stampsPerCell {
		c = s.cells[c-1].next
	}
	return &s.cells[c-1].stamps[at]
}

// last gives the newest stamp of a log that has one.
func (s *shard) last(l *logState) limitgate.Time {
	return s.cells[l.tail-1].stamps[(l.first+l.n-1)%stampsPerCell]
}

// past counts the oldest stamps up to since.
func (s *shard) past(l *logState, since limitgate.Time) uint32 {
	c := cursor{l.head, l.first}
	for k := range l.n {
		if *s.step(&c) > since {
			return k
		}
	}
	return l.n
}

// drop forgets the k oldest stamps.
func (s *shard) drop(l *logState, k uint32) {
	for ; k > 0; k-- {
		l.n--
		if l.first++; l.first == stampsPerCell || l.n == 0 {
			c := l.head
			l.head, l.first = s.cells[c-1].next, 0
			s.freed(c)
		}
	}
	if l.n == 0 {
		l.head, l.tail = 0, 0
	}
}

func (s *shard) freed(c ref) {
	s.cells[c-1].next, s.freeCell = s.freeCell, c
	s.spareCells++
}

// holds is how many cells a log has.
func (l *logState) holds() int {
	if l.n == 0 {
		return 0
	}
	return int(l.first+l.n+stampsPerCell-1) / stampsPerCell
}

// grows is how many more cells k new stamps need.
func (l *logState) grows(k uint32) int {
	if l.n == 0 {
		return (&logState{n: k}).holds()
	}
	return (&logState{first: l.first, n: l.n + k}).holds() - l.holds()
}

// push adds a stamp k times; there are cells enough.
func (s *shard) push(l *logState, stamp limitgate.Time, k uint32) {
	for ; k > 0; k-- {
		at := (l.first + l.n) % stampsPerCell
		if at == 0 || l.n == 0 {
			c := s.freeCell
			if c != 0 {
				s.freeCell = s.cells[c-1].next
			} else {
				s.usedCells++
				c = ref(s.usedCells)
			}
			s.spareCells--
			s.cells[c-1].next = 0
			if l.n == 0 {
				l.head, l.first, at = c, 0, 0
			} else {
				s.cells[l.tail-1].next = c
			}
			l.tail = c
		}
		s.cells[l.tail-1].stamps[at] = stamp
		l.n++
	}
}

// cursor goes over the stamps of a log, oldest first.
type cursor struct {
	cell ref
	at   uint32
}

// step gives the stamp under the cursor and moves on.
func (s *shard) step(c *cursor) *limitgate.Time {
	p := &s.cells[c.cell-1].stamps[c.at]
	if c.at++; c.at == stampsPerCell {
		c.at, c.cell = 0, s.cells[c.cell-1].next
	}
	return p
}

// cut makes all stamps later than latest that.
func (s *shard) cut(l *logState, latest limitgate.Time) {
	c := cursor{l.head, l.first}
	for range l.n {
		if p := s.step(&c); *p > latest {
			*p = latest
		}
	}
}

// remove takes out k stamps that equal stamp, or as many as there are.
func (s *shard) remove(l *logState, stamp limitgate.Time, k uint64) {
	from, to, gone := cursor{l.head, l.first}, cursor{l.head, l.first}, 0
	for range l.n {
		v := *s.step(&from)
		if v == stamp && k > 0 {
			k--
			gone++
			continue
		}
		*s.step(&to) = v
	}
	for ; gone > 0; gone-- {
		s.dropNewest(l)
	}
}

// dropNewest forgets the newest stamp.
func (s *shard) dropNewest(l *logState) {
	if l.n--; l.n == 0 {
		s.freed(l.head)
		l.head, l.tail, l.first = 0, 0, 0
		return
	}
	if (l.first+l.n)%stampsPerCell != 0 {
		return
	}
	c := l.head // the tail is empty now: the cell before it becomes the tail
	for s.cells[c-1].next != l.tail {
		c = s.cells[c-1].next
	}
	s.freed(l.tail)
	s.cells[c-1].next, l.tail = 0, c
}

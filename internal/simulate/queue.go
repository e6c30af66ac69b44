package simulate

import (
	"bufio"
	"fmt"
)

// queue holds answers in the order of the events. An answer that something before it holds back is kept as the line that it
// will be, which is all that is left of its request.
type queue struct {
	ring  [][]byte // by turn; a power of two. A line is empty until it is decided
	first uint64   // the turn that is written next
	last  uint64   // the turn that is given next
	lines [][]byte // memory
}

func (q *queue) empty() bool { return q.first == q.last }

func (q *queue) at(turn uint64) *[]byte { return &q.ring[turn&uint64(len(q.ring)-1)] }

// join gives the next turn.
func (q *queue) join() uint64 {
	if q.last-q.first == uint64(len(q.ring)) {
		old := *q
		q.ring = make([][]byte, max(16, 2*len(q.ring)))
		for turn := q.first; turn < q.last; turn++ {
			*q.at(turn) = *old.at(turn)
		}
	}
	q.last++
	return q.last - 1
}

// answer keeps the answer to a request that is decided.
func (q *queue) answer(m *sim) {
	var line []byte
	if n := len(q.lines); n > 0 {
		line, q.lines = q.lines[n-1], q.lines[:n-1]
	}
	*q.at(m.turn) = m.appendAnswer(line)
}

// write writes the answers that nothing holds back any more.
func (q *queue) write(out *bufio.Writer) error {
	for ; !q.empty(); q.first++ {
		line := q.at(q.first)
		if len(*line) == 0 {
			return nil
		}
		if _, err := out.Write(*line); err != nil {
			return fmt.Errorf("writing answers: %w", err)
		}
		q.lines = append(q.lines, (*line)[:0])
		*line = nil
	}
	return nil
}

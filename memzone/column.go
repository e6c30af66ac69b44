package memzone

import "github.com/limitgate/limitgate"

// A state of kind conn is four columns of 16 bits. Their sum is what is held. Processes that share a zone own a column
// each, so that the places of a dead one can be told apart; a zone of one process owns all four and fills one after the
// other, which is why more than 65,535 places can be held.
const (
	columns    = 4
	columnBits = 16
	columnMask = 1<<columnBits - 1
)

// held is the number of places in all columns.
func held(w1 uint64) uint64 {
	return w1&columnMask + w1>>16&columnMask + w1>>32&columnMask + w1>>48
}

// acquire adds n places to the first columns that have room; the caller knows that there is some.
func acquire(w1, n uint64) uint64 {
	for c := 0; c < columns && n > 0; c++ {
		add := min(n, columnMask-w1>>(c*columnBits)&columnMask)
		w1, n = w1+add<<(c*columnBits), n-add
	}
	return w1
}

// release takes n places from the columns, and no more than are there.
func release(w1, n uint64) uint64 {
	for c := columns - 1; c >= 0 && n > 0; c-- {
		sub := min(n, w1>>(c*columnBits)&columnMask)
		w1, n = w1-sub<<(c*columnBits), n-sub
	}
	return w1
}

// stepConn runs the step of a Conn limit on a state word as it is stored here.
func stepConn(l *limitgate.Limit, w1 uint64, now limitgate.Time, cost limitgate.Cost) (limitgate.State, limitgate.Decision) {
	was := held(w1)
	n, a := l.Step(limitgate.State(was), now, cost)
	if !a.Admitted() {
		return limitgate.State(w1), a
	}
	return limitgate.State(acquire(w1, uint64(n)-was)), a
}

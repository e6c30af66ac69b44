package decide

import (
	"context"
	"math"
	"math/bits"

	"github.com/limitgate/limitgate"
)

// ask asks a limit of another algorithm.
func (d *Decider) ask(ctx context.Context, w *work, l *leg, now limitgate.Time) (err error) {
	var e limitgate.Decision
	looks := l.add == 0
	if looks {
		e, err = l.b.limiter.CheckAt(ctx, now, w.keyOf(l), 1)
	} else {
		e, err = l.b.limiter.TakeAt(ctx, now, w.keyOf(l), limitgate.Cost(min(l.add, maxCost)))
	}
	if err != nil {
		return &StoreError{err}
	}
	if f := e.Fallback(); e.NoRoom() || e.Outcome == limitgate.Rejected && f == limitgate.FailClosed {
		if err := l.away(e); err != nil {
			return &StoreError{err}
		}
		return nil
	}
	left := max(e.Remaining, 0)
	if looks && e.Admitted() {
		left++ // that which was not taken
	}
	l.over = e.Outcome == limitgate.Rejected && !looks
	l.after = uint64(max(l.whole()-left, 0))
	switch wait := int64(e.RetryAfter()); {
	case l.over:
		l.after += l.hits
		l.wait = (wait + 1e9 - 1) / 1e9
	case l.b.fill > 0:
		l.wait = drained(l.owed(e, looks), l.b.fill)
	default:
		l.wait = l.b.window - seconds(now)%l.b.window
	}
	return nil
}

// owed is what a bucket lacks after the decision, in thousandths of a request.
func (l *leg) owed(d limitgate.Decision, looks bool) int64 {
	owed := int64(d.Excess) // of what was owed before, and the cost beyond one
	if !looks {
		owed += 1000
	}
	return max(owed, 0)
}

// drained is after how many seconds nothing is owed any more, where a request takes fill nanoseconds.
func drained(owed, fill int64) int64 {
	const second = 1000 * 1e9
	hi, lo := bits.Mul64(uint64(owed), uint64(fill))
	lo, carry := bits.Add64(lo, second-1, 0)
	if hi += carry; hi >= second {
		return math.MaxInt32
	}
	n, _ := bits.Div64(hi, lo, second)
	return int64(min(n, math.MaxInt32))
}

// whole is how many requests a limit that was not used lets pass.
func (l *leg) whole() int64 {
	if l.b.holds > 0 {
		return l.b.holds
	}
	return int64(l.limit.Requests)
}

package limitgate

import (
	"fmt"
	"math/bits"
	"time"
)

// Pace limits bytes: what is written goes at the rate, whoever writes it. The cost is the bytes of a write. A write that
// finds the key ahead of its rate by more than Burst waits until it no longer is; it is refused only where that is more than
// Queue away.
//
// The state is a debt in time (debt.go). A write takes its time rounded up to a nanosecond.
type Pace struct {
	// Rate is in bytes a second: 1 to 100,000,000,000.
	Rate int64

	// Burst is how many bytes a key may be ahead of its rate before a write has to wait.
	Burst int64

	// Queue is how far ahead of its rate, beyond the burst, the writes of a key may be together; 0 means an hour.
	Queue time.Duration
}

var (
	_ Algorithm = Pace{}
	_ Steps     = (*paceSteps)(nil)
	_ promiser  = (*paceSteps)(nil)
)

const (
	maxPace  = 100_000_000_000
	paceHour = time.Hour
)

// Validate says what is wrong with p.
func (p Pace) Validate() error {
	switch {
	case p.Rate < 1 || p.Rate > maxPace:
		return fmt.Errorf("pace: %d bytes a second is not between 1 and %d", p.Rate, int64(maxPace))
	case p.Burst < 0 || p.Queue < 0:
		return fmt.Errorf("pace: burst %d and queue %v must not be negative", p.Burst, p.Queue)
	case p.Queue > maxSpan/2:
		return fmt.Errorf("pace: queue %v is more than 36 years; at most %v", p.Queue, time.Duration(maxSpan/2))
	case paceTime(p.Burst, p.Rate) > maxSpan/2:
		q := &paceSteps{rate: uint64(p.Rate)}
		return fmt.Errorf("pace: burst %d at %d bytes a second would take more than 36 years; at most %d", p.Burst, p.Rate, q.bytes(maxSpan/2))
	}
	return nil
}

// Kind is KindPace.
func (p Pace) Kind() Kind { return KindPace }

// Compile derives the constants of the steps.
func (p Pace) Compile() Steps {
	q := p.steps()
	return &q
}

func (p Pace) steps() paceSteps {
	burst, queue := paceTime(p.Burst, p.Rate), p.Queue
	if queue == 0 {
		queue = paceHour
	}
	return paceSteps{rate: uint64(p.Rate), burst: burst, full: burst + uint64(queue)}
}

// Check is for one writer that holds its own state and can write part of what it has: how many of want bytes go at now. Where
// none do, wait is how long until piece bytes will, so that who writes in small pieces does not wake for each. What was written
// is told with Account. p must be valid, and a burst no shorter than piece.
func (p Pace) Check(s State, now Time, want, piece int64) (n int64, wait time.Duration) {
	q := p.steps()
	_, debt := q.debt(s, now, 0)
	if debt < q.burst {
		n = min(want, q.bytes(q.burst-debt))
	}
	if n > 0 {
		return n, 0
	}
	// Each of the writes that piece may become is rounded up by less than a nanosecond; a microsecond is as good as none.
	return 0, time.Duration(debt + paceTime(piece, p.Rate) + uint64(min(piece-1, 1000)) - q.burst)
}

// Account gives the state after n more bytes were written at now, whether Check allowed them or not.
func (p Pace) Account(s State, now Time, n int64) State {
	q := p.steps()
	_, debt := q.debt(s, now, 0)
	return State(uint64(max(now, 0)) + debt + min(paceTime(n, p.Rate), uint64(maxSpan/2)))
}

// paceTime is the time n bytes take, rounded up; it saturates.
func paceTime(n, rate int64) uint64 {
	hi, lo := bits.Mul64(uint64(n), uint64(time.Second))
	lo, carry := bits.Add64(lo, uint64(rate)-1, 0)
	if hi += carry; hi >= uint64(rate) {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return q
}

type paceSteps struct {
	rate  uint64 // bytes a second
	burst uint64 // ns
	full  uint64 // burst and queue, ns
}

// bytes is how many whole bytes go in a time; d is at most 2^62, rate below 2^37: the quotient fits.
func (p *paceSteps) bytes(d uint64) int64 {
	hi, lo := bits.Mul64(d, p.rate)
	if hi >= uint64(time.Second) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(time.Second))
	return int64(min(q, 1<<63-1))
}

// debt is what a state has left to pay at now, and the state, cut where it claims more than a full bucket.
func (p *paceSteps) debt(s State, now Time, bound int64) (State, uint64) {
	n := uint64(max(now, 0))
	if uint64(s) <= n {
		return s, 0
	}
	debt := uint64(s) - n
	if full := max(p.full, uint64(bound)); debt > p.full && debt > full+stale {
		debt, s = full, State(n+full)
	}
	return s, debt
}

// Step implements Steps. Excess is in thousandths of a byte.
func (p *paceSteps) Step(s State, now Time, cost Cost, bound int64) (State, Decision) {
	n := uint64(max(now, 0))
	s, debt := p.debt(s, now, bound)
	a := Decision{Excess: addExcess(Excess(min(p.bytes(debt), 1<<52)*1000), 1)}
	if debt < p.burst {
		a.Remaining = p.bytes(p.burst - debt)
	}
	takes := paceTime(int64(cost), int64(p.rate))
	if takes > p.full || debt > p.full-takes {
		if a.Outcome = Rejected; takes <= p.full {
			a.Wait = time.Duration(debt + takes - p.full)
		}
		return s, a
	}
	a.Remaining = max(a.Remaining-int64(cost), 0)
	if debt > p.burst {
		a.Outcome, a.Wait = Delayed, time.Duration(debt-p.burst)
	}
	return State(n + debt + takes), a
}

// Undo implements Steps.
func (p *paceSteps) Undo(s, before, after State, now Time) State {
	return undoDebt(s, before, after, now)
}

// DrainAt implements Steps.
func (p *paceSteps) DrainAt(s State, _ Time) Time { return Time(min(uint64(s), uint64(Never))) }

// Full implements Steps.
func (p *paceSteps) Full() int64 { return int64(p.full) }

// promises gives the steps of Limiter.Wait.
func (p *paceSteps) promises() Steps { return &promisedPace{*p} }

// promisedPace are the steps of writes that wait in order.
type promisedPace struct{ paceSteps }

// Undo implements Steps.
func (p *promisedPace) Undo(s, before, after State, now Time) State {
	return unpromise(s, before, after, now)
}

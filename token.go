package limitgate

import (
	"fmt"
	"math"
)

// Token limits requests to a rate with a bucket of tokens: it is full at first, holds Capacity, fills at Rate, and a
// request takes as many tokens as it costs, or is refused. Nobody waits, but see Limiter.Wait.
//
// The state is a debt in time (debt.go): the bucket lacks (TAT - now) * Rate tokens.
type Token struct {
	Rate Rate

	// Capacity is how many tokens the bucket holds, at least 1. A request that costs more never passes.
	Capacity int64

	// Queue is how many tokens may be promised, beyond the bucket, to requests that Wait for them in turn. With 0 those
	// that wait have no turn: they ask again when tokens are due.
	Queue int64
}

var (
	_ Algorithm = Token{}
	_ Steps     = (*tokenSteps)(nil)
	_ promiser  = (*tokenSteps)(nil)
)

// Validate says what is wrong with t.
func (t Token) Validate() error {
	if err := t.Rate.Validate(); err != nil {
		return fmt.Errorf("token bucket: %w", err)
	}
	if t.Capacity < 1 || t.Queue < 0 {
		return fmt.Errorf("token bucket: capacity %d must be at least 1, and queue %d not negative", t.Capacity, t.Queue)
	}
	if most := maxSpan / int64(t.Rate.interval()); t.Capacity > most || t.Queue > most-t.Capacity {
		return fmt.Errorf("token bucket: capacity %d and queue %d at %v would take more than 73 years to fill; together at most %d", t.Capacity, t.Queue, t.Rate, most)
	}
	return nil
}

// Kind is KindToken.
func (t Token) Kind() Kind { return KindToken }

// Compile derives the constants of the steps. A bucket of C tokens is a leaky one that holds one request and C-1 more.
func (t Token) Compile() Steps {
	e := t.Rate.interval()
	r := reqSteps{
		e: e, inv: math.MaxUint64 / e,
		tau: uint64(t.Capacity-1) * e, wait: uint64(t.Capacity-1) * e, span: uint64(t.Capacity) * e,
		burst: t.Capacity - 1,
	}
	return &tokenSteps{reqSteps: r, queue: t.Queue}
}

// tokenSteps is the exact arithmetic of Req, and tells of a refusal what a smaller request would find.
type tokenSteps struct {
	reqSteps
	queue int64
}

// Step implements Steps.
func (t *tokenSteps) Step(s State, now Time, cost Cost, bound int64) (State, Decision) {
	full := t.Full()
	after, a := t.reqSteps.Step(s, now, cost, max(bound, full))
	if a.Outcome == Rejected {
		a.Remaining = t.left(after, now)
	}
	return after, a
}

// left is how many whole tokens are in the bucket.
func (t *tokenSteps) left(s State, now Time) int64 {
	n := uint64(max(now, 0))
	if uint64(s) <= n {
		return t.burst + 1
	}
	q, rest := t.divide(uint64(s) - n)
	if rest > 0 {
		q++
	}
	return max(t.burst+1-int64(min(q, math.MaxInt64)), 0)
}

// Full implements Steps: an empty bucket, and what may be promised beyond it.
func (t *tokenSteps) Full() int64 { return int64(t.span + uint64(t.queue)*t.e) }

// promises gives the steps of Limiter.Wait: a leaky bucket with the queue as the part of its burst that waits.
func (t *tokenSteps) promises() Steps {
	if t.queue == 0 {
		return nil
	}
	r := t.reqSteps
	r.tau, r.span, r.burst = r.tau+uint64(t.queue)*r.e, uint64(t.Full()), r.burst+t.queue
	return &promisedReq{r}
}

// promisedReq are the steps of a Req or a Token in whose order requests wait.
type promisedReq struct{ reqSteps }

// Undo implements Steps.
func (p *promisedReq) Undo(s, before, after State, now Time) State {
	return unpromise(s, before, after, now)
}

// promises gives the steps of Limiter.Wait.
func (r *reqSteps) promises() Steps { return &promisedReq{*r} }

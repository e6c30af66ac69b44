package limitgate

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Arithmetic is how Req computes.
type Arithmetic uint8

// The arithmetics of Req.
const (
	Exact Arithmetic = iota // nanoseconds: 1r/m is one in 60 s
	Nginx                   // bit for bit what nginx decides: milliseconds, 1r/m is 16/1000 a second
)

// String gives the name a configuration uses.
func (a Arithmetic) String() string {
	if a == Nginx {
		return "nginx"
	}
	return "exact"
}

// Req limits requests to a rate: a leaky bucket. One request and Burst more pass at once; beyond that, as many as the rate
// lets through. What is ahead of the rate by more than Delay waits until it no longer is.
type Req struct {
	Rate Rate

	// Burst is how many requests a key may be ahead of its rate.
	Burst int64

	// Delay is how much of that goes on at once; NoDelay lets all of it.
	Delay   int64
	NoDelay bool

	Arithmetic Arithmetic
}

var (
	_ Algorithm = Req{}
	_ Steps     = (*reqSteps)(nil)
	_ Steps     = (*nginxSteps)(nil)
)

// maxSpan bounds the time a full bucket drains, so that no sum of times overflows: 73 years.
const maxSpan = 1 << 61

// Validate says what is wrong with r.
func (r Req) Validate() error {
	if err := r.Rate.Validate(); err != nil {
		return fmt.Errorf("limit of requests: %w", err)
	}
	if r.Burst < 0 || r.Delay < 0 {
		return fmt.Errorf("limit of requests: burst %d and delay %d must not be negative", r.Burst, r.Delay)
	}
	switch r.Arithmetic {
	case Exact:
		if most := maxSpan/int64(r.Rate.interval()) - 1; r.Burst > most {
			return fmt.Errorf("limit of requests: burst %d at %v would take more than 73 years to drain; at most %d", r.Burst, r.Rate, most)
		}
	case Nginx:
		if r.Rate.Thousandths() == 0 {
			return fmt.Errorf("limit of requests: %v is less than a thousandth of a request a second, which nginx arithmetic can't count; use the exact one", r.Rate)
		}
		if r.Burst > maxNginxBurst {
			return fmt.Errorf("limit of requests: burst %d is more than nginx arithmetic can count; at most %d", r.Burst, maxNginxBurst)
		}
	default:
		return fmt.Errorf("limit of requests: unknown arithmetic %d; Exact or Nginx", r.Arithmetic)
	}
	return nil
}

// Kind is the layout of the states: KindReq or KindReqNginx.
func (r Req) Kind() Kind {
	if r.Arithmetic == Nginx {
		return KindReqNginx
	}
	return KindReq
}

// Compile derives the constants of the steps.
func (r Req) Compile() Steps {
	delay := r.Delay
	if r.NoDelay || delay > r.Burst {
		delay = r.Burst
	}
	if r.Arithmetic == Nginx {
		return newNginxSteps(r, delay)
	}
	e := r.Rate.interval()
	return &reqSteps{
		e: e, inv: math.MaxUint64 / e,
		tau: uint64(r.Burst) * e, wait: uint64(delay) * e, span: uint64(r.Burst+1) * e,
		burst: r.Burst,
	}
}

// reqSteps is the exact arithmetic. The state is the theoretical arrival time (TAT): the time at which the key's debt is
// paid off. With the interval e of one request, the debt at now is TAT - now; a request of cost c is admitted if
// debt + (c-1)e <= burst*e, which is then its excess, and moves TAT to max(TAT, now) + c*e.
//
// All are whole nanoseconds and multiples of one rounded-down e, so 1 + burst pass at once exactly, and a request
// exactly on time is never refused.
type reqSteps struct {
	e     uint64 // one request, ns
	inv   uint64 // 2^64/e: turns the divisions by e into multiplications
	tau   uint64 // burst, ns
	wait  uint64 // what goes on at once, ns
	span  uint64 // a full bucket: (burst+1)e
	burst int64
}

// Step implements Steps.
func (r *reqSteps) Step(s State, now Time, cost Cost, bound int64) (after State, a Decision) {
	n := uint64(max(now, 0))
	debt := uint64(0)
	if uint64(s) > n {
		debt = uint64(s) - n
		if debt > r.span {
			if full := max(r.span, uint64(bound)); debt > full+stale {
				debt, s = full, State(n+full)
			}
		}
	}
	over := debt + uint64(cost-1)*r.e // of no use where cost is more than a full bucket, but then not used
	switch {
	case int64(cost)-1 > r.burst:
		return s, Decision{Outcome: Rejected, Excess: r.excess(debt, cost)}
	case over > r.tau:
		return s, Decision{Outcome: Rejected, Excess: r.excess(debt, cost), Wait: time.Duration(over - r.tau)}
	case over == 0:
		return State(n + r.e), Decision{Remaining: r.burst}
	}
	q, rest := r.divide(over)
	a.Remaining = r.burst - int64(q)
	if rest > 0 {
		a.Remaining--
	}
	f, _ := r.divide(rest * 1000)
	a.Excess = Excess(q*1000 + f)
	if over > r.wait {
		a.Outcome, a.Wait = Delayed, time.Duration(over-r.wait)
	}
	return State(n + debt + uint64(cost)*r.e), a
}

// divide gives x/e and x%e. inv is at most one too small relative to 2^64/e, so the first quotient is at most two too small.
func (r *reqSteps) divide(x uint64) (q, rest uint64) {
	q, _ = bits.Mul64(x, r.inv)
	rest = x - q*r.e
	for rest >= r.e {
		q, rest = q+1, rest-r.e
	}
	return q, rest
}

// excess is debt + cost - 1 in thousandths of a request; it saturates for absurd costs.
func (r *reqSteps) excess(debt uint64, cost Cost) Excess {
	q, rest := r.divide(debt)
	f, _ := r.divide(rest * 1000)
	return addExcess(Excess(q*1000+f), cost)
}

// addExcess is e + cost - 1 requests, saturating.
func addExcess(e Excess, cost Cost) Excess {
	if int64(cost-1) > (math.MaxInt64-int64(e))/1000 {
		return math.MaxInt64
	}
	return e + Excess(cost-1)*1000
}

// Undo implements Steps.
func (r *reqSteps) Undo(s, before, after State, now Time) State {
	return undoDebt(s, before, after, now)
}

// DrainAt implements Steps: a TAT that has passed says nothing.
func (r *reqSteps) DrainAt(s State, _ Time) Time { return Time(min(uint64(s), uint64(Never))) }

// quick is what Step does where nothing is owed.
func (r *reqSteps) quick() (one State, left int64) { return State(r.e), r.burst }

// Full implements Steps.
func (r *reqSteps) Full() int64 { return int64(r.span) }

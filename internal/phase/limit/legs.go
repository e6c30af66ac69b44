package limit

import (
	"context"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/found"
	"github.com/limitgate/limitgate/internal/limitfields"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/rollout"
	"github.com/limitgate/limitgate/internal/vars"
)

// limit is one limit of a scope.
type limit struct {
	group   *group
	zone    string
	at      conf.Pos
	keyText string // as it is written
	stored  bool   // the zone lives in a store
	key     *vars.Template
	fixed   terms              // where no parameter holds variables
	vary    *vary              // where some do
	crowd   *phase.Crowd       // where the key tells the client's address
	own     *own               // keys for which other numbers were set
	finder  *finder            // where the limit finds itself
	split   *rollout.Split     // where it is enforced for a part of its keys
	live    *rollout.Live      // the rollout that it belongs to; nil: none
	sample  *limitgate.Limiter // by numbers that any limit of the kind takes, where some vary

	meter  *meter.Zone   // nil: nobody counts
	tarpit time.Duration // how long a refusal is held back: reject_delay
	held   *phase.Held   // those that are; nil without a tarpit
}

// terms are a limit as it is for a request: with its parameters for that request.
type terms struct {
	of      *limit
	numbers numbers
	limiter *limitgate.Limiter // nil: refuses all
	policy  limitfields.Policy // none for limit_conn
}

// few is how many limits are asked together without allocating.
const few = 8

// legs are the limits that take part in a request.
type legs struct {
	list  []limitgate.Leg
	terms []*terms       // of each leg
	found []*found.Limit // of each leg; nil where it does not find itself
}

// room is where the legs of an ordinary request stand: on the stack of who asks.
type room struct {
	list  [few]limitgate.Leg
	terms [few]*terms
	found [few]*found.Limit
}

func (m *room) legs() legs { return legs{m.list[:0], m.terms[:0], m.found[:0]} }

// collect builds the keys of limits and returns l with legs for those that are not empty and take part in the round, of the kinds
// that were not asked yet. Of watched those take part whose keys the round before left to this one. A limit that refuses all is
// alone: nobody else is asked. The keys stand one behind the other in request memory, lent out only here: they are gone with the
// next thing that is kept, when the limits have answered.
func (l legs) collect(r *request.Request, rd *round, limits, watched []limit) legs {
	b := r.Scratch()
	for i := range len(limits) + len(watched) {
		m := (*limit)(nil)
		if n := i - len(limits); n < 0 {
			m = &limits[i]
		} else if m = &watched[n]; rd.watched>>n&1 == 0 {
			continue
		}
		leg, t, at, end := m.leg(r, rd, b, i)
		if b = end; t == nil {
			continue
		}
		if t.limiter == nil {
			l.list, l.terms = l.list[:0], l.terms[:0]
		}
		l.list = append(l.list, leg)
		l.terms = append(l.terms, t)
		l.found = append(l.found, at)
		if t.limiter == nil {
			break
		}
	}
	r.Claim(b[:0])
	return l
}

// leg is the part of the limit, the i-th of its list, in a request, and b with its key behind; without terms it has none.
func (m *limit) leg(r *request.Request, rd *round, b []byte, i int) (limitgate.Leg, *terms, *found.Limit, []byte) {
	if !rd.open.has(m.group.kind) {
		return limitgate.Leg{}, nil, nil, b
	}
	start := len(b)
	b = m.key.Append(r, b)
	if len(b) == start || rd.leaves(m, limitgate.BytesKey(b[start:]), i) {
		return limitgate.Leg{}, nil, nil, b[:start]
	}
	t, cost := &m.fixed, limitgate.Cost(1)
	if m.vary != nil {
		end := len(b)
		if t, cost, b = m.vary.terms(r, b); cost == 0 {
			return limitgate.Leg{}, nil, nil, b[:start]
		}
		b = b[:end]
	}
	var at *found.Limit
	if m.finder != nil {
		t, at = m.finder.ask(r, b[start:])
	}
	t = m.own.of(t, limitgate.BytesKey(b[start:]), r.Now)
	return limitgate.Leg{Limiter: t.limiter, Key: limitgate.BytesKey(b[start:]), Cost: cost}, t, at, b
}

// ask asks all limits together.
func (l *legs) ask(now limitgate.Time) (limitgate.Verdict, error) {
	if first := &l.list[0]; first.Limiter == nil {
		first.Decision = limitgate.Decision{Outcome: limitgate.Rejected, Excess: 1000}
		return limitgate.Verdict{Decision: first.Decision}, nil
	}
	return limitgate.All(context.Background(), now, l.list)
}

// mark sets the variables that tell what the limits of each kind said.
func (l *legs) mark(r *request.Request, v *limitgate.Verdict, dryRun bool) {
	waits := v.Delay() >= time.Millisecond
	l.keepStores(r)
	for i := range l.list {
		leg, k, s := &l.list[i], l.terms[i].of.group.kind, request.LimitPassed
		// Where nobody refuses and nobody waits, all have passed.
		if waits || v.Outcome == limitgate.Rejected {
			s = statusOf(&leg.Decision, v.Admitted(), dryRun)
		}
		left := leg.Decision.Remaining
		if leg.Decision.Admitted() && !v.Admitted() {
			left += int64(leg.Cost) // not charged
		}
		k.keepLeft(r, left)
		k.mark(r, s)
		l.terms[i].of.follow(r, dryRun, &leg.Decision)
	}
}

// statusOf is what a limit said. What would have waited, had another limit not refused, has passed.
func statusOf(d *limitgate.Decision, admitted, dryRun bool) request.LimitStatus {
	switch {
	case d.Outcome == limitgate.Rejected && dryRun:
		return request.LimitRejectedDryRun
	case d.Outcome == limitgate.Rejected:
		return request.LimitRejected
	case d.Delay() < time.Millisecond || !admitted:
		return request.LimitPassed
	case dryRun:
		return request.LimitDelayedDryRun
	}
	return request.LimitDelayed
}

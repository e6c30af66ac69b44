package limit

import (
	"context"
	"slices"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// limit is one limit of a scope.
type limit struct {
	group *group
	zone  string
	key   *vars.Template
	fixed terms        // where no parameter holds variables
	vary  *vary        // where some do
	crowd *phase.Crowd // where the key tells the client's address
}

// terms are a limit as it is for a request: with its parameters for that request.
type terms struct {
	of      *limit
	limiter *limitgate.Limiter // nil: refuses all
	policy  policy             // none for limit_conn
}

// few is how many limits are asked together without allocating.
const few = 8

// legs are the limits that take part in a request.
type legs struct {
	list  []limitgate.Leg
	terms []*terms // of each leg
}

// room is where the legs of an ordinary request stand: on the stack of who asks.
type room struct {
	list  [few]limitgate.Leg
	terms [few]*terms
}

func (m *room) legs() legs { return legs{m.list[:0], m.terms[:0]} }

// collect builds the keys of limits and returns l with legs for those that are not empty, of the kinds that were not asked
// yet. A limit that refuses all is alone: nobody else is asked. The keys stand one behind the other in request memory, lent out only
// here: they are gone with the next thing that is kept, when the limits have answered.
func (l legs) collect(r *request.Request, limits []limit) legs {
	b := r.Scratch()
	for i := range limits {
		m := &limits[i]
		if *m.group.kind.status(r) != request.LimitUnset {
			continue
		}
		start := len(b)
		b = m.key.Append(r, b)
		if len(b) == start {
			continue
		}
		t, cost := &m.fixed, limitgate.Cost(1)
		if m.vary != nil {
			end := len(b)
			if t, cost, b = m.vary.terms(r, b); cost == 0 {
				b = b[:start]
				continue
			}
			b = b[:end]
		}
		if t.limiter == nil {
			l.list, l.terms = l.list[:0], l.terms[:0]
		}
		l.list = append(l.list, limitgate.Leg{Limiter: t.limiter, Key: limitgate.BytesKey(b[start:]), Cost: cost})
		l.terms = append(l.terms, t)
		if t.limiter == nil {
			break
		}
	}
	r.Claim(b[:0])
	return l
}

// crowdMask chooses the requests that are looked at by the nanosecond of their time: one in sixteen.
const crowdMask = 15

// look looks at where a request comes from that limits count by the address of the client. A client whose address a trusted
// proxy told is no balancer.
func (l *legs) look(r *request.Request) {
	if r.Resolved || r.Report != nil || !r.ClientAddr.IsValid() {
		return
	}
	for _, t := range l.terms {
		if t.of.crowd == nil {
			continue
		}
		if same, one := t.of.crowd.Meet(r.ClientAddr.Addr()); one {
			r.Logf(errorlog.Warn, `zone "%s": %d of %d requests came from one address inside your network; if it is a balancer, name it with set_real_ip_from, so that its clients are counted`,
				t.of.zone, same, phase.CrowdSize)
		}
	}
}

// tellsAddress reports whether a key has the client's address or network in it.
func tellsAddress(key string) bool {
	pieces, err := vars.Split(key)
	return err == nil && slices.ContainsFunc(pieces, func(p vars.Piece) bool {
		switch strings.ToLower(p.Variable) {
		case "remote_addr", "binary_remote_addr", "client_network", "binary_client_network":
			return true
		}
		return false
	})
}

// ask asks all limits together.
func (l *legs) ask(now limitgate.Time) (limitgate.Verdict, error) {
	if first := &l.list[0]; first.Limiter == nil {
		first.Decision = limitgate.Decision{Outcome: limitgate.Rejected, Excess: 1000}
		return limitgate.Verdict{Decision: first.Decision}, nil
	}
	return limitgate.All(context.Background(), now, l.list)
}

// mark sets the variables that tell what the limits of each kind said. What would have waited, had another limit not
// refused, has passed.
func (l *legs) mark(r *request.Request, v *limitgate.Verdict, dryRun bool) {
	for i := range l.list {
		leg, s := &l.list[i], request.LimitPassed
		switch d := rounded(leg.Decision); {
		case d.Outcome == limitgate.Rejected && dryRun:
			s = request.LimitRejectedDryRun
		case d.Outcome == limitgate.Rejected:
			s = request.LimitRejected
		case d.Outcome == limitgate.Passed || !v.Admitted():
		case dryRun:
			s = request.LimitDelayedDryRun
		default:
			s = request.LimitDelayed
		}
		k := l.terms[i].of.group.kind
		if k != byReq {
			left := leg.Decision.Remaining
			if leg.Decision.Admitted() && !v.Admitted() {
				left += int64(leg.Cost) // not charged
			}
			k.keepLeft(r, left)
		}
		if at := k.status(r); *at < s {
			*at = s
		}
	}
}

// keepLeft notes how much is left of the tightest limit of the kind.
func (k kind) keepLeft(r *request.Request, left int64) {
	at := &r.CountLeft
	if k == byToken {
		at = &r.TokenLeft
	}
	if *k.status(r) == request.LimitUnset || left < *at {
		*at = left
	}
}

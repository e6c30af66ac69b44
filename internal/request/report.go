package request

import (
	"time"

	"github.com/limitgate/limitgate"
)

// Report is what the limits said of a request, for tools that decide on requests and do not serve them. Whoever wants one
// sets Request.Report after Reset; the limit phase fills it. A request with a report never sleeps for a limit: where one
// that is delayed still has places to take, the phase answers phase.Hold, once.
type Report struct {
	// Limits are those that took part: limit_req before limit_conn, each kind in the order of the file. Behind one that
	// refuses, those of limit_conn were not asked.
	Limits []LimitReport

	Bound    int                // index in Limits of the one that bound; of no meaning without Limits
	Decision limitgate.Decision // of that limit, together with the others of its kind

	Outcome    limitgate.Outcome // what became of the request
	Rehearsed  limitgate.Outcome // what a dry run would have made of it
	Delay      time.Duration     // how long the request waits, whatever happens then
	RetryAfter int64             // seconds, as the answer says; 0: it does not

	// Scope is where in the program the limits were asked that stand in Limits, the last ones of them: Request.Location may be
	// that of an error page by now. It is of no meaning without Limits.
	Scope int

	// Vouched tells that the client's password is known to have been good, or not to have been asked for. Whoever wants the
	// report says so.
	Vouched bool

	keys   []byte // those of Limits
	waited bool   // for its Delay
}

// LimitReport is what one limit said. What is less than a millisecond of delay has passed, as in the answer.
type LimitReport struct {
	Zone     string
	Key      []byte // in memory of the report
	DryRun   bool
	Decision limitgate.Decision
}

// Reset empties the report and keeps its memory.
func (p *Report) Reset() { *p = Report{Limits: p.Limits[:0], keys: p.keys[:0]} }

// Retract empties the report of what limits said.
func (p *Report) Retract() { *p = Report{Limits: p.Limits[:0], keys: p.keys[:0], Vouched: p.Vouched} }

// Undecide takes back what the limits made of a request with a report, and everything behind them, as long as that led to
// no redirect inside. Places must have been taken from it.
func (r *Request) Undecide() {
	r.Report.Retract()
	r.ReqStatus, r.ConnStatus, r.CountStatus, r.TokenStatus = LimitUnset, LimitUnset, LimitUnset, LimitUnset
	r.CountLeft, r.TokenLeft, r.Canary = 0, 0, CanaryUnset
	r.Detour, r.ErrStatus, r.Places = Detour{}, 0, r.Places[:0]
	headers, trailers, call := r.Response.Headers, r.Response.Trailers, r.Response.Call
	r.Response = Response{Headers: headers[:0], Trailers: trailers[:0], Call: call[:0], Length: -1}
}

// Tell notes what one limit said.
func (p *Report) Tell(zone, key string, d limitgate.Decision, dryRun bool) {
	n := len(p.keys)
	p.keys = append(p.keys, key...) // where it moves, the keys before stay where they are
	p.Limits = append(p.Limits, LimitReport{Zone: zone, Key: p.keys[n:len(p.keys):len(p.keys)], DryRun: dryRun, Decision: d})
}

// MustWait reports whether there is a delay that the request did not wait for yet. Who is told so waits.
func (p *Report) MustWait() bool {
	if p.Delay == 0 || p.waited {
		return false
	}
	p.waited = true
	return true
}

// Add notes what the limits of one kind said together; theirs stand in Limits from index first on, and leg is the place of
// the one that decided behind first. The second kind binds where it is graver than the first; a rehearsal binds nobody, but
// is what there is to tell as long as nothing refuses in earnest.
func (p *Report) Add(first, leg int, d limitgate.Decision, dryRun bool) {
	if first == 0 || d.Outcome > p.Decision.Outcome || d.Outcome == limitgate.Rejected && !dryRun {
		p.Bound, p.Decision = first+leg, d
	}
	if dryRun {
		p.Rehearsed = max(p.Rehearsed, d.Outcome)
	} else {
		p.Outcome = max(p.Outcome, d.Outcome)
	}
}

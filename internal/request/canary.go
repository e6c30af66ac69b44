package request

import "github.com/limitgate/limitgate/internal/rollout"

// Canary tells on which side a request's keys are, for $limit_canary: of limits with canary= and of those in a rollout.
type Canary uint8

// The sides. Mixed means that some limits are enforced for their keys and others are not; Unset that there is no such limit.
const (
	CanaryUnset Canary = iota
	CanaryEnforced
	CanaryWatched
	CanaryMixed
)

var canaryNames = [...]string{"", "enforced", "watched", "mixed"}

// String returns the variable's value.
func (c Canary) String() string { return canaryNames[c] }

// Side notes on which side a key of the request is.
func (r *Request) Side(s rollout.Side) {
	c := CanaryWatched
	if s == rollout.Enforced {
		c = CanaryEnforced
	}
	r.Canary |= c // the two together are mixed
}

// Enrol has a rollout count the request, when it ends and once, as one that a limit of the rollout was asked about.
func (r *Request) Enrol(part rollout.Part) {
	for i := range r.Rollouts {
		if r.Rollouts[i].Join(part) {
			return
		}
	}
	r.Rollouts = append(r.Rollouts, part)
}

// conclude tells rollouts how the request ended.
func (r *Request) conclude() {
	if len(r.Rollouts) == 0 {
		return
	}
	e := rollout.End{Begun: r.Start, Status: r.Response.Status}
	for _, s := range [...]LimitStatus{r.ReqStatus, r.CountStatus, r.TokenStatus, r.ConnStatus} {
		e.Barred = e.Barred || s == LimitRejected
	}
	for i := range r.Rollouts {
		r.Rollouts[i].End(&e)
	}
	r.Rollouts = r.Rollouts[:0]
}

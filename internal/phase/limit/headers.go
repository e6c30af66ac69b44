package limit

import (
	"github.com/limitgate/limitgate/internal/limitfields"
	"github.com/limitgate/limitgate/internal/request"
)

// headers is limit_headers: what answers say of the limits that were asked.
type headers uint8

const (
	headersOff headers = iota
	headersDraft
	headersLegacy
)

// The names of fields, as byte slices because that is what a response holds.
var (
	nameRetryAfter = []byte(limitfields.RetryAfter)
	nameRateLimit  = []byte(limitfields.RateLimit)
	namePolicy     = []byte(limitfields.RateLimitPolicy)
	nameLimit      = []byte(limitfields.LegacyLimit)
	nameRemaining  = []byte(limitfields.LegacyRemaining)
	nameReset      = []byte(limitfields.LegacyReset)
)

// add writes the fields for the limits that took part in a request. charged tells that none of them refused.
func (h headers) add(r *request.Request, l *legs, charged bool) {
	var room [few]*limitfields.Policy
	policies := room[:0]
	for _, t := range l.terms {
		policies = append(policies, &t.policy)
	}
	binding := limitfields.Binding(l.list)
	if h == headersLegacy {
		limit, remaining, reset := policies[binding].Legacy(&l.list[binding], charged, r.Now)
		r.AddHeader(nameLimit, claimInt(r, limit))
		r.AddHeader(nameRemaining, claimInt(r, remaining))
		r.AddHeader(nameReset, claimInt(r, reset))
		return
	}
	r.AddHeader(namePolicy, r.Claim(limitfields.AppendPolicies(r.Scratch(), policies, l.list, binding)))
	r.AddHeader(nameRateLimit, r.Claim(limitfields.AppendStates(r.Scratch(), policies, l.list, binding, charged, r.Now)))
}

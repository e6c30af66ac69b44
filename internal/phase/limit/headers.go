package limit

import (
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
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
	nameRetryAfter = []byte("Retry-After")
	nameRateLimit  = []byte("RateLimit")
	namePolicy     = []byte("RateLimit-Policy")
	nameLimit      = []byte("X-RateLimit-Limit")
	nameRemaining  = []byte("X-RateLimit-Remaining")
	nameReset      = []byte("X-RateLimit-Reset")
)

// policy is what the headers say of a limit that does not change.
type policy struct {
	name     []byte // the zone as a structured-field string
	item     []byte // "zone";q=21;w=3
	quota    int64  // 1 + burst
	interval time.Duration
}

// newPolicy describes a limit_req.
func newPolicy(zone string, req limitgate.Req) policy {
	p := policy{name: appendString(nil, zone), quota: 1 + req.Burst, interval: req.Rate.Interval()}
	p.item = append(append([]byte(nil), p.name...), ";q="...)
	p.item = strconv.AppendInt(p.item, p.quota, 10)
	p.item = append(p.item, ";w="...)
	p.item = strconv.AppendInt(p.item, seconds(scale(p.interval, p.quota*1000)), 10)
	return p
}

// rest is what a limit leaves the client after a verdict.
type rest struct {
	remaining int64
	debt      int64         // how much of the quota is in use, in thousandths of a request
	retry     time.Duration // when it refuses
}

// restOf reads a decision. charged is false where another limit refused: then this one was not charged either.
func restOf(d *limitgate.Decision, charged bool) rest {
	left := rest{remaining: d.Remaining, debt: int64(d.Excess), retry: d.RetryAfter()}
	switch {
	case !d.Admitted():
	case charged:
		left.debt += 1000 // the excess is what this request met
	default:
		left.remaining++
	}
	return left
}

// reset is the seconds until all of the quota is there again.
func (p *policy) reset(left rest) int64 {
	if left.debt == 0 {
		return 0
	}
	return seconds(scale(p.interval, left.debt))
}

// more is the seconds until one request more than now would pass.
func (p *policy) more(left rest) int64 {
	switch {
	case left.retry > 0:
		return seconds(left.retry)
	case left.debt == 0:
		return 0
	}
	return seconds(scale(p.interval, left.debt-1000*(p.quota-1-left.remaining)))
}

// scale is d times a number of thousandths, at most the longest duration.
func scale(d time.Duration, thousandths int64) time.Duration {
	const longest = 1<<63 - 1
	if d > 0 && thousandths > longest/int64(d) {
		// A microsecond more or less does not show in whole seconds of such a time.
		if d = d / 1000; d == 0 || thousandths > longest/int64(d) {
			return longest
		}
		return d * time.Duration(thousandths)
	}
	return d * time.Duration(thousandths) / 1000
}

// appendString writes a structured-field string, which holds printable ASCII only.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			dst = append(dst, '?')
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// add writes the fields for the limits that took part in a request. charged tells that none of them refused.
func (h headers) add(r *request.Request, g *group, l *legs, charged bool) {
	binding := l.binding()
	if h == headersLegacy {
		p, left := &g.limits[l.limit[binding]].policy, restOf(&l.list[binding].Decision, charged)
		r.AddHeader(nameLimit, claimInt(r, p.quota))
		r.AddHeader(nameRemaining, claimInt(r, left.remaining))
		r.AddHeader(nameReset, claimInt(r, p.reset(left)))
		return
	}
	r.AddHeader(namePolicy, r.Claim(appendPolicy(r.Scratch(), g, l, binding)))
	r.AddHeader(nameRateLimit, r.Claim(appendState(r.Scratch(), g, l, binding, charged)))
}

// binding is the leg that leaves the least: it has the client's attention.
func (l *legs) binding() int {
	best := 0
	for i := range l.list {
		a, b := &l.list[i].Decision, &l.list[best].Decision
		if a.Remaining < b.Remaining || a.Remaining == b.Remaining && a.RetryAfter() > b.RetryAfter() {
			best = i
		}
	}
	return best
}

// appendPolicy writes the list of policies, the binding one first.
func appendPolicy(dst []byte, g *group, l *legs, binding int) []byte {
	dst = append(dst, g.limits[l.limit[binding]].policy.item...)
	for i := range l.list {
		if i != binding {
			dst = append(append(dst, ", "...), g.limits[l.limit[i]].policy.item...)
		}
	}
	return dst
}

// appendState writes what is left of each policy, in the order of appendPolicy.
func appendState(dst []byte, g *group, l *legs, binding int, charged bool) []byte {
	dst = appendRest(dst, g, l, binding, charged)
	for i := range l.list {
		if i != binding {
			dst = appendRest(append(dst, ", "...), g, l, i, charged)
		}
	}
	return dst
}

func appendRest(dst []byte, g *group, l *legs, leg int, charged bool) []byte {
	p, left := &g.limits[l.limit[leg]].policy, restOf(&l.list[leg].Decision, charged)
	dst = append(append(dst, p.name...), ";r="...)
	dst = strconv.AppendInt(dst, left.remaining, 10)
	dst = append(dst, ";t="...)
	return strconv.AppendInt(dst, p.more(left), 10)
}

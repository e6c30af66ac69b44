// Package limitfields writes what header fields tell a client of its limits. It stands between the limits that were asked and
// the answer, whoever writes that one: the gateway, or a handler of net/http. It decides nothing.
//
// The draft is draft-ietf-httpapi-ratelimit-headers-10: q = 1 + burst, the limit or the capacity, w = the seconds in which that
// much is allowed, r = what would pass now, t = the seconds until one more would, where that is known, the limit with the least
// left first. The legacy fields tell of that limit alone; its reset is the seconds until all of the limit is there again.
package limitfields

import (
	"math"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
)

// The names of the fields.
const (
	RateLimit       = "RateLimit"
	RateLimitPolicy = "RateLimit-Policy"
	LegacyLimit     = "X-RateLimit-Limit"
	LegacyRemaining = "X-RateLimit-Remaining"
	LegacyReset     = "X-RateLimit-Reset"
	RetryAfter      = "Retry-After"
)

// Policy is what the fields say of a limit that does not change. The zero Policy is of no limit.
type Policy struct {
	name     []byte        // as a structured-field string
	item     []byte        // "zone";q=21;w=3
	quota    int64         // 1 + burst, the capacity, or the limit
	interval time.Duration // of one request; 0 where windows are counted
	leaks    bool          // a refusal does not tell what a smaller request would find
	coarse   bool          // it is decided in thousandths of a request, and an excess is exact

	window  time.Duration // 0 where there is a rate
	ends    bool          // windows end at multiples of their length
	carries bool          // what a window has counted still weighs in the next
}

// New describes a limit under a name; nil refuses all.
func New(name string, a limitgate.Algorithm) Policy {
	p := Policy{name: appendString(nil, name)}
	span := time.Duration(0)
	switch a := a.(type) {
	case limitgate.Req:
		p.quota, p.interval = 1+a.Burst, a.Rate.Interval()
		p.leaks, p.coarse = true, a.Arithmetic == limitgate.Nginx
		span = scale(p.interval, p.quota*1000)
	case limitgate.Token:
		p.quota, p.interval = a.Capacity, a.Rate.Interval()
		span = scale(p.interval, p.quota*1000)
	case limitgate.Count:
		p.quota, p.window, span = a.Limit, a.Window, a.Window
		p.carries = a.Windowing == limitgate.Sliding
		p.ends = p.carries || a.Windowing == limitgate.Fixed && !a.First && a.Calendar == nil
	}
	p.item = append(append([]byte(nil), p.name...), ";q="...)
	p.item = strconv.AppendInt(p.item, p.quota, 10)
	p.item = append(p.item, ";w="...)
	p.item = strconv.AppendInt(p.item, Seconds(span), 10)
	return p
}

// Binding is the leg that leaves the least: it has the client's attention.
func Binding(legs []limitgate.Leg) int {
	best := 0
	for i := range legs {
		a, b := &legs[i].Decision, &legs[best].Decision
		if a.Remaining < b.Remaining || a.Remaining == b.Remaining && a.RetryAfter() > b.RetryAfter() {
			best = i
		}
	}
	return best
}

// AppendPolicies appends the RateLimit-Policy of the limits that were asked, the binding one first. There is a policy for each leg.
func AppendPolicies(dst []byte, policies []*Policy, legs []limitgate.Leg, binding int) []byte {
	dst = append(dst, policies[binding].item...)
	for i := range legs {
		if i != binding {
			dst = append(append(dst, ", "...), policies[i].item...)
		}
	}
	return dst
}

// AppendStates appends the RateLimit of the limits that were asked, in the order of AppendPolicies. charged tells that none of
// them refused.
func AppendStates(dst []byte, policies []*Policy, legs []limitgate.Leg, binding int, charged bool, now limitgate.Time) []byte {
	dst = policies[binding].appendState(dst, &legs[binding], charged, now)
	for i := range legs {
		if i != binding {
			dst = policies[i].appendState(append(dst, ", "...), &legs[i], charged, now)
		}
	}
	return dst
}

func (p *Policy) appendState(dst []byte, leg *limitgate.Leg, charged bool, now limitgate.Time) []byte {
	left := p.restOf(leg, charged)
	dst = append(append(dst, p.name...), ";r="...)
	dst = strconv.AppendInt(dst, left.remaining, 10)
	if t, known := p.more(left, now); known {
		dst = strconv.AppendInt(append(dst, ";t="...), t, 10)
	}
	return dst
}

// Legacy is what the X-RateLimit fields say of the limit of a leg, the reset in seconds from now.
func (p *Policy) Legacy(leg *limitgate.Leg, charged bool, now limitgate.Time) (limit, remaining, reset int64) {
	left := p.restOf(leg, charged)
	return p.quota, left.remaining, p.reset(left, now)
}

// rest is what a limit leaves the client after a verdict.
type rest struct {
	remaining int64
	debt      int64         // how much of the quota is in use, in thousandths of a request; 0 where windows are counted
	retry     time.Duration // when it refuses
}

// restOf reads what a limit said. charged is false where another limit refused: then this one was not charged either.
func (p *Policy) restOf(leg *limitgate.Leg, charged bool) rest {
	d, cost := &leg.Decision, int64(max(leg.Cost, 1))
	left := rest{remaining: d.Remaining, retry: d.RetryAfter()}
	charged = charged && d.Admitted()
	if d.Admitted() && !charged {
		left.remaining += cost
	}
	if p.window > 0 || p.quota == 0 {
		return left
	}
	switch {
	case charged:
		left.debt = int64(d.Excess) + 1000
	case d.Excess == math.MaxInt64: // of an absurd cost, and cut
		left.debt = 1000 * (p.quota - left.remaining)
	default: // the excess is what this request met, with all of its cost but one
		left.debt = int64(d.Excess) - (cost-1)*1000
	}
	if p.leaks && !d.Admitted() { // one that costs less may have passed
		if left.retry > 0 && !p.coarse { // exactly; the excess is rounded down
			left.remaining = max(cost-int64((left.retry+p.interval-1)/p.interval), 0)
		} else {
			left.remaining = max((1000*p.quota-left.debt)/1000, 0)
		}
	}
	return left
}

// reset is the seconds until all of the quota is there again: of windows whose end nothing here knows at most.
func (p *Policy) reset(left rest, now limitgate.Time) int64 {
	if p.window > 0 {
		if left.remaining >= p.quota {
			return 0
		}
		until := p.window
		if p.ends {
			until = p.untilEnd(now)
		}
		if p.carries {
			until += p.window
		}
		return Seconds(until)
	}
	if left.debt <= 0 {
		return 0
	}
	return Seconds(scale(p.interval, left.debt))
}

// untilEnd is how long the window of now lasts.
func (p *Policy) untilEnd(now limitgate.Time) time.Duration {
	return p.window - time.Duration(max(now, 0))%p.window
}

// more is the seconds until one request more than now would pass, where that is known.
func (p *Policy) more(left rest, now limitgate.Time) (after int64, known bool) {
	switch {
	case left.retry > 0:
		return Seconds(left.retry), true
	case p.window > 0 && left.remaining >= p.quota:
		return 0, true
	case p.window > 0:
		return Seconds(p.untilEnd(now)), p.ends && !p.carries
	case left.debt <= 0:
		return 0, p.quota > 0
	}
	return Seconds(scale(p.interval, left.debt-1000*(p.quota-1-left.remaining))), true
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

// Seconds rounds a time up to whole seconds, at least one: what a Retry-After says.
func Seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return max(1, n)
}

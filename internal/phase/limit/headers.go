package limit

import (
	"math"
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
	name     []byte        // the zone as a structured-field string
	item     []byte        // "zone";q=21;w=3
	quota    int64         // 1 + burst, the capacity, or the limit
	interval time.Duration // of one request; 0 where windows are counted

	window  time.Duration // 0 where there is a rate
	ends    bool          // windows end at multiples of their length
	carries bool          // what a window has counted still weighs in the next
}

// newPolicy describes a limit; nil refuses all.
func newPolicy(zone string, a limitgate.Algorithm) policy {
	p := policy{name: appendString(nil, zone)}
	span := time.Duration(0)
	switch a := a.(type) {
	case limitgate.Req:
		p.quota, p.interval = 1+a.Burst, a.Rate.Interval()
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
	p.item = strconv.AppendInt(p.item, seconds(span), 10)
	return p
}

// rest is what a limit leaves the client after a verdict.
type rest struct {
	remaining int64
	debt      int64         // how much of the quota is in use, in thousandths of a request; 0 where windows are counted
	retry     time.Duration // when it refuses
}

// restOf reads what a limit said. charged is false where another limit refused: then this one was not charged either.
func (p *policy) restOf(leg *limitgate.Leg, charged bool) rest {
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
	return left
}

// reset is the seconds until all of the quota is there again: of windows whose end nothing here knows at most.
func (p *policy) reset(left rest, now limitgate.Time) int64 {
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
		return seconds(until)
	}
	if left.debt <= 0 {
		return 0
	}
	return seconds(scale(p.interval, left.debt))
}

// untilEnd is how long the window of now lasts.
func (p *policy) untilEnd(now limitgate.Time) time.Duration {
	return p.window - time.Duration(max(now, 0))%p.window
}

// more is the seconds until one request more than now would pass, where that is known.
func (p *policy) more(left rest, now limitgate.Time) (after int64, known bool) {
	switch {
	case left.retry > 0:
		return seconds(left.retry), true
	case p.window > 0 && left.remaining >= p.quota:
		return 0, true
	case p.window > 0:
		return seconds(p.untilEnd(now)), p.ends && !p.carries
	case left.debt <= 0:
		return 0, p.quota > 0
	}
	return seconds(scale(p.interval, left.debt-1000*(p.quota-1-left.remaining))), true
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
func (h headers) add(r *request.Request, l *legs, charged bool) {
	binding := l.binding()
	if h == headersLegacy {
		p := &l.terms[binding].policy
		left := p.restOf(&l.list[binding], charged)
		r.AddHeader(nameLimit, claimInt(r, p.quota))
		r.AddHeader(nameRemaining, claimInt(r, left.remaining))
		r.AddHeader(nameReset, claimInt(r, p.reset(left, r.Now)))
		return
	}
	r.AddHeader(namePolicy, r.Claim(l.appendPolicy(r.Scratch(), binding)))
	r.AddHeader(nameRateLimit, r.Claim(l.appendState(r.Scratch(), binding, charged, r.Now)))
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
func (l *legs) appendPolicy(dst []byte, binding int) []byte {
	dst = append(dst, l.terms[binding].policy.item...)
	for i := range l.list {
		if i != binding {
			dst = append(append(dst, ", "...), l.terms[i].policy.item...)
		}
	}
	return dst
}

// appendState writes what is left of each policy, in the order of appendPolicy.
func (l *legs) appendState(dst []byte, binding int, charged bool, now limitgate.Time) []byte {
	dst = l.appendRest(dst, binding, charged, now)
	for i := range l.list {
		if i != binding {
			dst = l.appendRest(append(dst, ", "...), i, charged, now)
		}
	}
	return dst
}

func (l *legs) appendRest(dst []byte, leg int, charged bool, now limitgate.Time) []byte {
	p := &l.terms[leg].policy
	left := p.restOf(&l.list[leg], charged)
	dst = append(append(dst, p.name...), ";r="...)
	dst = strconv.AppendInt(dst, left.remaining, 10)
	if t, known := p.more(left, now); known {
		dst = strconv.AppendInt(append(dst, ";t="...), t, 10)
	}
	return dst
}

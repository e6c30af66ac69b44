package rollout

import (
	"fmt"
	"math"
)

// deviations is by how many standard errors the enforced side must be worse than the watched one: chance alone makes it so in one window
// of seven hundred.
const deviations = 3

// judge says which condition holds; "" where none does.
func (p *Plan) judge(s *Sample) string {
	for _, stop := range p.Stops {
		if why := stop.judge(s, p.MinRequests); why != "" {
			return why
		}
	}
	return ""
}

// ratio is n of m.
type ratio struct{ n, of uint64 }

func (r ratio) above(s Share) bool { return r.n*uint64(Whole) > uint64(s)*r.of }

// worse reports whether r is higher than o by more than chance makes it, or by anything where too little is known of o.
func (r ratio) worse(o ratio, enough uint64) bool {
	if o.of < enough {
		return true
	}
	a, b := float64(r.n)/float64(r.of), float64(o.n)/float64(o.of)
	both := float64(r.n+o.n) / float64(r.of+o.of)
	return a-b > deviations*math.Sqrt(both*(1-both)*(1/float64(r.of)+1/float64(o.of)))
}

// judge says that the condition holds, and by what; "" where it does not.
func (s Stop) judge(seen *Sample, enough uint64) string {
	e, w := &seen.Enforced, &seen.Watched
	window := short(seen.Window)
	if s.Metric == RejectedShare { // of the watched as many would have been refused: that they are says nothing for the limit
		r := ratio{e.Refused, e.Requests}
		if r.of < enough || !r.above(s.Share) {
			return ""
		}
		return fmt.Sprintf("%s is %s of %d requests within %s, above %s", s.Metric, part(r.n, r.of), r.of, window, s.Share)
	}
	var mine, other ratio
	var is, was, limit string
	bound := s.Share
	if q, timed := s.Metric.quantile(); timed {
		mine, other, bound = ratio{e.slower(s.Time), e.Timed}, ratio{w.slower(s.Time), w.Timed}, Whole-q
		is, was, limit = short(e.Quantile(q)), short(w.Quantile(q)), short(s.Time)
	} else {
		mine, other = ratio{e.Errors, e.Answers}, ratio{w.Errors, w.Answers}
		is, was, limit = part(mine.n, mine.of).String(), part(other.n, other.of).String(), s.Share.String()
	}
	if mine.of < enough || !mine.above(bound) || !mine.worse(other, enough) {
		return ""
	}
	text := fmt.Sprintf("%s is %s of %d answers within %s, above %s", s.Metric, is, mine.of, window, limit)
	if other.of >= enough {
		text += fmt.Sprintf(", and %s of %d answers to keys that are only watched", was, other.of)
	}
	return text
}

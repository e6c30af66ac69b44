package limitgate

import "time"

// Form is how a state is decided about: the arithmetic of one or more kinds.
type Form uint8

// The forms. Their numbers are part of what zones elsewhere understand; none is ever used for another form.
const (
	FormDebt    Form = 1 // a debt in time: Req in exact arithmetic, Token, Pace
	FormNginx   Form = 2 // Req in nginx arithmetic
	FormFixed   Form = 3 // Count in fixed windows
	FormSliding Form = 4 // Count in a sliding window
	FormLog     Form = 5 // Count by an exact log
	FormConn    Form = 6 // Conn
)

// Terms are the numbers by which steps decide on a request, for a zone that does the same arithmetic elsewhere, such as in a
// script of its store. Such a zone decides there whether the request passes and what state follows, and has Limit.Step tell the
// whole decision about the state and the instant it found. What a form does with its numbers is in the file of its kind.
type Terms struct {
	Form Form

	// Passes is false for a cost that never passes, whatever the state: then the numbers that depend on it say nothing.
	Passes bool

	// Promised: Undo leaves later turns where they were promised.
	Promised bool

	// Most is the largest debt (ns), or excess with one more request (thousandths), that the request passes with; Add is what
	// it adds to it: all of its cost, or what it costs beyond one request.
	Most, Add uint64

	// Full is what a full state holds: what it claims beyond is cut. The larger of the steps' own and the zone's bound.
	Full int64

	// Rate is in thousandths of a request a second, and Flush the time in ms after which any excess is gone: FormNginx.
	Rate, Flush int64

	// Limit and Cost are of all that count, Window of windows: in ms.
	Limit, Cost, Window int64

	// Back is how many windows ahead of now are time gone back: FormSliding.
	Back int64

	// First: a window begins with its first request: FormFixed.
	First bool

	// Of a calendar, where Until is not 0: from the millisecond From up to, not with, Until the windows end at Until and at
	// multiples of Window before it. Outside of that, other Terms hold.
	From, Until int64
}

// Stale is how much older than a state the time of a request may be before a debt beyond a full one is cut.
const Stale = time.Duration(stale)

// Skew is how far a window may have been opened by a clock that is ahead of now.
const Skew = skew

// Portable are steps that tell their terms. All steps of this package are.
type Portable interface {
	Steps

	// Terms gives the terms of a request of this cost at now, which matters to a calendar only; bound is that of Steps.Step.
	Terms(now Time, cost Cost, bound int64) Terms
}

var (
	_ Portable = (*reqSteps)(nil)
	_ Portable = (*promisedReq)(nil)
	_ Portable = (*tokenSteps)(nil)
	_ Portable = (*paceSteps)(nil)
	_ Portable = (*promisedPace)(nil)
	_ Portable = (*nginxSteps)(nil)
	_ Portable = (*promisedNginx)(nil)
	_ Portable = (*fixedSteps)(nil)
	_ Portable = (*slidingSteps)(nil)
	_ Portable = (*LogSteps)(nil)
	_ Portable = connSteps{}
)

// Terms implements Portable.
func (r *reqSteps) Terms(_ Time, cost Cost, bound int64) Terms {
	t := Terms{Form: FormDebt, Full: max(int64(r.span), bound)}
	if int64(cost)-1 <= r.burst {
		t.Passes, t.Most, t.Add = true, r.tau-uint64(cost-1)*r.e, uint64(cost)*r.e
	}
	return t
}

// Terms implements Portable.
func (t *tokenSteps) Terms(now Time, cost Cost, bound int64) Terms {
	return t.reqSteps.Terms(now, cost, max(bound, t.Full()))
}

// Terms implements Portable.
func (p *promisedReq) Terms(now Time, cost Cost, bound int64) Terms {
	t := p.reqSteps.Terms(now, cost, bound)
	t.Promised = true
	return t
}

// Terms implements Portable.
func (p *paceSteps) Terms(_ Time, cost Cost, bound int64) Terms {
	t := Terms{Form: FormDebt, Full: max(int64(p.full), bound)}
	if takes := paceTime(int64(cost), int64(p.rate)); takes <= p.full {
		t.Passes, t.Most, t.Add = true, p.full-takes, takes
	}
	return t
}

// Terms implements Portable.
func (p *promisedPace) Terms(now Time, cost Cost, bound int64) Terms {
	t := p.paceSteps.Terms(now, cost, bound)
	t.Promised = true
	return t
}

// Terms implements Portable.
func (g *nginxSteps) Terms(_ Time, cost Cost, _ int64) Terms {
	t := Terms{Form: FormNginx, Rate: g.rate, Flush: g.flush}
	if int64(cost)-1 <= g.burst/1000 {
		t.Passes, t.Add = true, uint64(cost-1)*1000
		t.Most = uint64(g.burst) - t.Add
	}
	return t
}

// Terms implements Portable.
func (g *promisedNginx) Terms(now Time, cost Cost, bound int64) Terms {
	t := g.nginxSteps.Terms(now, cost, bound)
	t.Promised = true
	return t
}

// Terms implements Portable.
func (f *fixedSteps) Terms(now Time, cost Cost, bound int64) Terms {
	t := counts(FormFixed, f.limit, cost, bound, f.window)
	t.First = f.first
	if f.calendar != nil {
		t.From, t.Until, t.Window = f.calendar.span(ms(now))
	}
	return t
}

// Terms implements Portable.
func (g *slidingSteps) Terms(_ Time, cost Cost, bound int64) Terms {
	t := counts(FormSliding, g.limit, cost, bound, time.Duration(g.window))
	t.Back = g.back
	return t
}

// Terms implements Portable.
func (g *LogSteps) Terms(_ Time, cost Cost, bound int64) Terms {
	return counts(FormLog, g.limit, cost, bound, g.window)
}

// Terms implements Portable.
func (c connSteps) Terms(_ Time, cost Cost, bound int64) Terms {
	return counts(FormConn, c.limit, cost, bound, 0)
}

// counts are the terms of limits that count.
func counts(f Form, limit int64, cost Cost, bound int64, window time.Duration) Terms {
	return Terms{
		Form: f, Passes: int64(cost) <= limit,
		Full: max(limit, bound), Limit: limit, Cost: int64(cost), Window: window.Milliseconds(),
	}
}

package limitgate

import "time"

// The state of the nginx arithmetic, so that a word holds what nginx keeps in two integers:
//
//	0                                       nobody has seen the key
//	excess 22 | last 40 | 1                 up to 4,194 requests: idle time is told apart for 30 years
//	excess 30 | last 32 | 2                 more than that: 37 days
//
// last is the millisecond of the last charge, modulo its width; excess is in thousandths of a request. Of the values a
// last can have relative to now, the eighth before the wrap (a quarter in the wide form) is time gone back.
const (
	formNarrow = 1
	formWide   = 2
	formMask   = 3
	formBits   = 2

	narrowTime = 40
	wideTime   = 32

	narrowExcess  = 1<<22 - 1
	wideExcess    = 1<<30 - 1
	maxNginxBurst = wideExcess/1000 - 1

	clockStep = 60_000 // ms back that nginx takes for other workers being ahead; more is a step of the clock
)

// nginxSteps does what ngx_http_limit_req_lookup and ngx_http_limit_req_account do, for costs above 1 too.
type nginxSteps struct {
	rate    int64 // thousandths of a request a second
	burst   int64 // thousandths
	wait    int64 // thousandths that go on at once
	flush   int64 // ms after which anything has leaked
	noDelay bool
}

func newNginxSteps(r Req, delay int64) *nginxSteps {
	rate := min(r.Rate.Thousandths(), 1<<40)
	return &nginxSteps{
		rate: rate, burst: r.Burst * 1000, wait: delay * 1000,
		flush:   (wideExcess+1000)*1000/rate + 1,
		noDelay: r.NoDelay || r.Delay >= r.Burst,
	}
}

func packNginx(excess, last int64) State {
	if excess <= narrowExcess {
		return State(excess)<<(narrowTime+formBits) | State(last)&(1<<narrowTime-1)<<formBits | formNarrow
	}
	return State(min(excess, wideExcess))<<(wideTime+formBits) | State(last)&(1<<wideTime-1)<<formBits | formWide
}

// unpackNginx gives the excess and how many ms ago last was; negative when it lies ahead. A word that is neither form
// counts as the wide one: any word is a state.
func unpackNginx(s State, now int64) (excess, ago int64) {
	width, back := uint(wideTime), int64(1)<<(wideTime-2)
	if s&formMask == formNarrow {
		width, back = narrowTime, 1<<(narrowTime-3)
	}
	mod := int64(1) << width
	ago = (now - int64(s>>formBits)) & (mod - 1)
	if ago >= mod-back {
		ago -= mod
	}
	return int64(s >> (width + formBits)), ago
}

// Step implements Steps. The bound is not used: nginx cuts nothing.
func (g *nginxSteps) Step(s State, now Time, cost Cost, _ int64) (State, Decision) {
	ms := ms(now)
	excess, ago, elapsed := int64(0), int64(0), int64(0)
	if s != 0 {
		excess, ago = unpackNginx(s, ms)
		switch {
		case ago < -clockStep:
			elapsed = 1
		case ago > 0:
			elapsed = ago
		}
		excess = g.leak(excess, elapsed)
	}
	over := int64(addExcess(Excess(excess), cost))
	if over > g.burst {
		a := Decision{Outcome: Rejected, Excess: Excess(over)}
		if int64(cost)-1 <= g.burst/1000 {
			a.Wait = g.retry(s, ago, cost, ms)
		}
		return s, a
	}
	a := Decision{Excess: Excess(over), Remaining: (g.burst - over) / 1000}
	if !g.noDelay && over > g.wait {
		if wait := (over - g.wait) * 1000 / g.rate; wait > 0 {
			a.Outcome, a.Wait = Delayed, time.Duration(wait)*time.Millisecond
		}
	}
	last := ms
	if s != 0 && elapsed == 0 {
		last = ms - ago // nginx keeps the time of a charge in the same millisecond, or from a worker ahead
	}
	return packNginx(over, last), a
}

// leak is the excess with one more request, after elapsed ms: max(excess - rate*ms/1000 + 1000, 0) as nginx has it.
func (g *nginxSteps) leak(excess, elapsed int64) int64 {
	if elapsed >= g.flush {
		return 0
	}
	return max(excess-g.rate*elapsed/1000+1000, 0)
}

// retry is the time until the same request is admitted, if nobody else asks: the stored excess has to leak by need.
func (g *nginxSteps) retry(s State, ago int64, cost Cost, ms int64) time.Duration {
	stored, _ := unpackNginx(s, ms)
	need := stored + int64(cost)*1000 - g.burst
	wait := (need*1000+g.rate-1)/g.rate - ago
	return time.Duration(max(wait, 1)) * time.Millisecond
}

// Undo implements Steps.
func (g *nginxSteps) Undo(s, before, after State, now Time) State {
	if s == after {
		return before
	}
	if s == 0 {
		return s
	}
	ms := ms(now)
	excess, ago := unpackNginx(s, ms)
	mine, since := unpackNginx(after, ms)
	base := int64(0)
	if before != 0 {
		had, was := unpackNginx(before, ms)
		_, is := unpackNginx(after, ms)
		elapsed := max(was-is, 0)
		if was-is < -clockStep {
			elapsed = 1
		}
		base = g.leak(had, elapsed)
	}
	// A charge of c is c requests to whoever came behind it, though the first request of an idle key shows no excess.
	// What has leaked of it since is gone: those behind it do not get that.
	amount := min(max(mine-base+1000, 0), g.leak(mine, max(since, 0)))
	return packNginx(max(excess-amount, 0), ms-ago)
}

// promises gives the steps of Limiter.Wait.
func (g *nginxSteps) promises() Steps { return &promisedNginx{*g} }

// promisedNginx are the steps of requests that wait in order.
type promisedNginx struct{ nginxSteps }

// Undo implements Steps: what is left of the charge, less what was promised behind it.
func (g *promisedNginx) Undo(s, before, after State, now Time) State {
	if s == after || s == 0 {
		return g.nginxSteps.Undo(s, before, after, now)
	}
	at := ms(now)
	have, ago := unpackNginx(s, at)
	mine, then := unpackNginx(after, at)
	// What the excess grew beyond what was left of mine when the last of the others came.
	later := max(have-max(mine-g.rate*max(then-ago, 0)/1000, 0), 0)
	given := have - g.excessOf(g.nginxSteps.Undo(s, before, after, now), at)
	return packNginx(have-max(given-later, 0), at-ago)
}

// excessOf is the excess a state tells.
func (g *nginxSteps) excessOf(s State, at int64) int64 {
	if s == 0 {
		return 0
	}
	e, _ := unpackNginx(s, at)
	return e
}

// DrainAt implements Steps: the first millisecond in which the next request is charged nothing.
func (g *nginxSteps) DrainAt(s State, now Time) Time {
	if s == 0 {
		return 0
	}
	ms := ms(now)
	excess, ago := unpackNginx(s, ms)
	at := ms - ago + ((excess+1000)*1000+g.rate-1)/g.rate
	return Time(min(at, int64(Never)/int64(time.Millisecond))) * Time(time.Millisecond)
}

// Full implements Steps.
func (g *nginxSteps) Full() int64 {
	return ((g.burst+1000)*1000/g.rate + 1) * int64(time.Millisecond)
}

package limit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/limitfields"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/trust"
)

// handler is the limits of one scope. Those of requests, limit_req, limit_count and limit_token in this order, are asked
// together: first the ones in earnest, then, if those let the request pass, the ones in dry run.
type handler struct {
	earnest   []limit
	rehearsed []limit
	conn      []limit
	headers   headers
	refusal   refusal
	exempt    *trust.Nets // nil: nobody
}

var _ phase.Handler = (*handler)(nil)

// Serve asks the limits of each kind that was not asked yet.
func (h *handler) Serve(r *request.Request) phase.Next {
	if h.exempt != nil && h.exempt.Contains(r.ClientAddr.Addr()) {
		return phase.Continue
	}
	if len(h.earnest)+len(h.rehearsed) > 0 {
		if next := h.requests(r); next != phase.Continue {
			return next
		}
	}
	if len(h.conn) > 0 && r.ConnStatus == request.LimitUnset {
		return h.connections(r)
	}
	return phase.Continue
}

// requests asks the limits of requests, and waits if they say so. A request with a report goes on at once, until it meets
// limit_conn.
func (h *handler) requests(r *request.Request) phase.Next {
	var delay time.Duration
	if len(h.earnest) > 0 {
		var next phase.Next
		if delay, next = h.decide(r, h.earnest); next != phase.Continue {
			return next
		}
	}
	if len(h.rehearsed) > 0 {
		if _, next := h.decide(r, h.rehearsed); next != phase.Continue {
			return next
		}
	}
	switch {
	case delay == 0:
	case r.Report != nil:
		r.Report.Delay = delay
	case !r.Stream.Sleep(delay):
		r.Logf(errorlog.Info, "client prematurely closed connection")
		r.Leave(499)
		return phase.Done
	}
	return phase.Continue
}

// decide asks limits together and tells how long the request has to wait: nothing in dry run, and nothing below a
// millisecond.
func (h *handler) decide(r *request.Request, limits []limit) (time.Duration, phase.Next) {
	if m := &limits[0]; len(limits) == 1 && m.vary == nil && m.fixed.limiter != nil && h.headers == headersOff && r.Report == nil {
		return h.decideOne(r, m)
	}
	var room room
	l := room.legs().collect(r, limits)
	if len(l.list) == 0 {
		return 0, phase.Continue
	}
	if r.Now&crowdMask == 0 {
		for _, t := range l.terms {
			t.of.look(r)
		}
	}
	v, err := l.ask(r.Now)
	if err != nil {
		return 0, undecided(r, err)
	}
	l.count(r, v.Admitted())
	m := l.terms[v.Leg].of // the limit that bound
	if r.Report != nil {
		l.report(r, &v, m.group.dryRun)
	}
	if h.headers != headersOff && !m.group.dryRun {
		h.headers.add(r, &l, v.Admitted())
	}
	l.mark(r, &v, m.group.dryRun)
	return h.follow(r, m, &v.Decision)
}

// decideOne is decide where a limit is alone and nobody wants to know more than the answer: it needs no legs, and so half the
// time.
func (h *handler) decideOne(r *request.Request, m *limit) (time.Duration, phase.Next) {
	status := m.group.kind.status(r)
	if *status != request.LimitUnset {
		return 0, phase.Continue
	}
	key := m.key.Append(r, r.Scratch())
	r.Claim(key[:0]) // lent only until the limit has answered, as in collect
	if len(key) == 0 {
		return 0, phase.Continue
	}
	if r.Now&crowdMask == 0 {
		m.look(r)
	}
	t := m.own.of(&m.fixed, limitgate.BytesKey(key), r.Now)
	if t.limiter == nil {
		d := limitgate.Decision{Outcome: limitgate.Rejected, Excess: 1000}
		m.count(r, &d, limitgate.BytesKey(key), false)
		*status = statusOf(&d, false, m.group.dryRun)
		return h.follow(r, m, &d)
	}
	d, err := t.limiter.TakeAt(context.Background(), r.Now, limitgate.BytesKey(key), 1)
	if err != nil {
		return 0, undecided(r, err)
	}
	m.count(r, &d, limitgate.BytesKey(key), d.Admitted())
	m.keepStore(r, d)
	m.group.kind.keepLeft(r, d.Remaining)
	*status = statusOf(&d, d.Admitted(), m.group.dryRun)
	return h.follow(r, m, &d)
}

// follow does what limits decided, of which m bound, and tells how long the request has to wait.
func (h *handler) follow(r *request.Request, m *limit, d *limitgate.Decision) (time.Duration, phase.Next) {
	switch {
	case d.Outcome == limitgate.Rejected:
		return 0, h.refuse(r, m, d)
	case d.Delay() < time.Millisecond:
		return 0, phase.Continue
	}
	logRequest(r, m.group.delay, "delaying request", m.group.dryMark(), d.Excess, ", by zone ", m.zone)
	if m.group.dryRun {
		return 0, phase.Continue
	}
	return d.Delay(), phase.Continue
}

// refuse logs that limit m refused a request and, unless it is a rehearsal, makes that the answer.
func (h *handler) refuse(r *request.Request, m *limit, d *limitgate.Decision) phase.Next {
	g := m.group
	switch {
	case d.NoRoom():
		r.Logf(errorlog.Crit, `could not allocate node in %s zone "%s"`, g.kind, m.zone)
	case d.Fallback() == limitgate.FailClosed: // the store's own line tells of the outage
	default:
		logRequest(r, g.level, "limiting requests", g.dryMark(), d.Excess, " by zone ", m.zone)
	}
	if g.dryRun {
		return phase.Continue
	}
	after, wait := int64(0), d.RetryAfter()
	if wait > 0 {
		after = limitfields.Seconds(wait)
		r.AddHeader(nameRetryAfter, claimInt(r, after))
		if r.Report != nil {
			r.Report.RetryAfter = after
		}
	}
	m.said(after, d)
	if m.held != nil && r.Report == nil && d.Fallback() != limitgate.FailClosed && !m.holdBack(r) {
		r.Logf(errorlog.Info, "client prematurely closed connection")
		r.Leave(499)
		return phase.Done
	}
	r.Fail(g.answer(*d))
	if isCall(r) {
		refuseCall(r, saysTooMany, wait)
	} else {
		h.refusal.add(r, m.zone, after)
	}
	return phase.Fail
}

// holdBack waits before a refusal goes out, unless as many as may be are waiting; it reports false where the client left.
func (m *limit) holdBack(r *request.Request) bool {
	if !m.held.Enter() {
		return true
	}
	stays := r.Stream.Sleep(m.tarpit)
	m.held.Leave()
	return stays
}

// connections takes the places of limit_conn, which the program gives back when the request ends. One with a report that was
// delayed, here or before a redirect inside, is asked again when its delay is over.
func (h *handler) connections(r *request.Request) phase.Next {
	var room room
	l := room.legs().collect(r, h.conn)
	if len(l.list) == 0 {
		return phase.Continue
	}
	if r.Report != nil && r.Report.MustWait() {
		return phase.Hold
	}
	r.Places = slices.Grow(r.Places[:0], len(l.list))[:len(l.list)]
	v, err := limitgate.AcquireAll(context.Background(), r.Now, l.list, r.Places)
	if err != nil {
		return undecided(r, err)
	}
	m := l.terms[v.Leg].of
	if !v.Admitted() {
		l.list = l.list[:v.Leg+1] // those behind the one that refused were not asked
	}
	l.count(r, v.Admitted())
	l.keepStores(r)
	if r.Report != nil {
		l.report(r, &v, m.group.dryRun)
	}
	r.ConnLimit = l.places(v.Leg)
	if v.Admitted() {
		r.ConnStatus = request.LimitPassed
		l.learn(r)
		return phase.Continue
	}
	switch {
	case v.NoRoom():
		r.Logf(errorlog.Crit, `could not allocate node in limit_conn zone "%s"`, m.zone)
	case v.Fallback() == limitgate.FailClosed:
	default:
		m.logConnection(r)
	}
	if m.group.dryRun {
		r.ConnStatus = request.LimitRejectedDryRun
		return phase.Continue
	}
	r.ConnStatus = request.LimitRejected
	after := int64(0)
	if m.finder != nil {
		after = retryAfter
		r.AddHeader(nameRetryAfter, claimInt(r, after))
	}
	m.said(after, &v.Decision)
	r.Fail(m.group.answer(v.Decision))
	if isCall(r) {
		refuseCall(r, saysAtOnce, time.Duration(after)*time.Second)
	} else {
		h.refusal.add(r, m.zone, after)
	}
	return phase.Fail
}

// undecided answers for a zone that could not decide.
func undecided(r *request.Request, err error) phase.Next {
	r.Logf(errorlog.Error, "asking the limits: %s", err)
	r.Fail(500)
	return phase.Fail
}

// claimInt writes n in request memory.
func claimInt(r *request.Request, n int64) []byte {
	return r.Claim(strconv.AppendInt(r.Scratch(), n, 10))
}

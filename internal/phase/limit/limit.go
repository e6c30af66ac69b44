package limit

import (
	"context"
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
	rd := round{open: unasked(r)}
	if len(h.earnest) > 0 {
		var next phase.Next
		if delay, next = h.decide(r, &rd); next != phase.Continue {
			return next
		}
	}
	if len(h.rehearsed) > 0 || rd.watched != 0 {
		rd.dryRun = true
		if _, next := h.decide(r, &rd); next != phase.Continue {
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

// decide asks the limits of a round together and tells how long the request has to wait: nothing in dry run, and nothing below a
// millisecond.
func (h *handler) decide(r *request.Request, rd *round) (time.Duration, phase.Next) {
	if m, i := h.only(rd); m != nil && m.vary == nil && m.fixed.limiter != nil && h.headers == headersOff && r.Report == nil {
		return h.decideOne(r, rd, m, i)
	}
	var room room
	limits, watched := h.lists(rd)
	l := room.legs().collect(r, rd, limits, watched)
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
	l.count(r, rd.dryRun, v.Admitted())
	m := l.terms[v.Leg].of // the limit that bound
	if r.Report != nil {
		l.report(r, &v, rd.dryRun)
	}
	if h.headers != headersOff && !rd.dryRun {
		h.headers.add(r, &l, v.Admitted())
	}
	l.mark(r, &v, rd.dryRun)
	return h.follow(r, m, &v.Decision, rd.dryRun)
}

// decideOne is decide where a limit is alone and nobody wants to know more than the answer: it needs no legs, and so half the
// time.
func (h *handler) decideOne(r *request.Request, rd *round, m *limit, i int) (time.Duration, phase.Next) {
	k := m.group.kind
	if !rd.open.has(k) {
		return 0, phase.Continue
	}
	key := m.key.Append(r, r.Scratch())
	r.Claim(key[:0]) // lent only until the limit has answered, as in collect
	if len(key) == 0 || rd.leaves(m, limitgate.BytesKey(key), i) {
		return 0, phase.Continue
	}
	if r.Now&crowdMask == 0 {
		m.look(r)
	}
	t := m.own.of(&m.fixed, limitgate.BytesKey(key), r.Now)
	if t.limiter == nil {
		d := limitgate.Decision{Outcome: limitgate.Rejected, Excess: 1000}
		m.count(r, &d, limitgate.BytesKey(key), rd.dryRun, false)
		k.mark(r, statusOf(&d, false, rd.dryRun))
		m.follow(r, rd.dryRun, &d)
		return h.follow(r, m, &d, rd.dryRun)
	}
	d, err := t.limiter.TakeAt(context.Background(), r.Now, limitgate.BytesKey(key), 1)
	if err != nil {
		return 0, undecided(r, err)
	}
	m.count(r, &d, limitgate.BytesKey(key), rd.dryRun, d.Admitted())
	m.keepStore(r, d)
	k.keepLeft(r, d.Remaining)
	k.mark(r, statusOf(&d, d.Admitted(), rd.dryRun))
	m.follow(r, rd.dryRun, &d)
	return h.follow(r, m, &d, rd.dryRun)
}

// follow does what limits decided, of which m bound, and tells how long the request has to wait.
func (h *handler) follow(r *request.Request, m *limit, d *limitgate.Decision, dryRun bool) (time.Duration, phase.Next) {
	switch {
	case d.Outcome == limitgate.Rejected:
		return 0, h.refuse(r, m, d, dryRun)
	case d.Delay() < time.Millisecond:
		return 0, phase.Continue
	}
	logRequest(r, m.group.delay, "delaying request", dryMark(dryRun), d.Excess, ", by zone ", m.zone)
	if dryRun {
		return 0, phase.Continue
	}
	return d.Delay(), phase.Continue
}

// refuse logs that limit m refused a request and, unless it is a rehearsal, makes that the answer.
func (h *handler) refuse(r *request.Request, m *limit, d *limitgate.Decision, dryRun bool) phase.Next {
	g := m.group
	switch {
	case d.NoRoom():
		r.Logf(errorlog.Crit, `could not allocate node in %s zone "%s"`, g.kind, m.zone)
	case d.Fallback() == limitgate.FailClosed: // the store's own line tells of the outage
	default:
		logRequest(r, g.level, "limiting requests", dryMark(dryRun), d.Excess, " by zone ", m.zone)
	}
	if dryRun {
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

package limit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
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
	var room room
	l := room.legs().collect(r, limits)
	if len(l.list) == 0 {
		return 0, phase.Continue
	}
	if r.Now&crowdMask == 0 {
		l.look(r)
	}
	v, err := l.ask(r.Now)
	if err != nil {
		return 0, undecided(r, err)
	}
	g := l.terms[v.Leg].of.group // of the limit that bound
	if r.Report != nil {
		l.report(r.Report, &v, g.dryRun)
	}
	if h.headers != headersOff && !g.dryRun {
		h.headers.add(r, &l, v.Admitted())
	}
	l.mark(r, &v, g.dryRun)
	switch {
	case v.Outcome == limitgate.Rejected:
		return 0, h.refuse(r, l.terms[v.Leg].of, &v)
	case v.Delay() < time.Millisecond:
		return 0, phase.Continue
	}
	logRequest(r, g.delay, "delaying request", g.dryMark(), v.Excess, ", by zone ", l.terms[v.Leg].of.zone)
	if g.dryRun {
		return 0, phase.Continue
	}
	return v.Delay(), phase.Continue
}

// refuse logs that limit m refused a request and, unless it is a rehearsal, makes that the answer.
func (h *handler) refuse(r *request.Request, m *limit, v *limitgate.Verdict) phase.Next {
	g := m.group
	if v.NoRoom() {
		r.Logf(errorlog.Crit, `could not allocate node in %s zone "%s"`, g.kind, m.zone)
	} else {
		logRequest(r, g.level, "limiting requests", g.dryMark(), v.Excess, " by zone ", m.zone)
	}
	if g.dryRun {
		return phase.Continue
	}
	after := int64(0)
	if v.RetryAfter() > 0 {
		after = seconds(v.RetryAfter())
		r.AddHeader(nameRetryAfter, claimInt(r, after))
		if r.Report != nil {
			r.Report.RetryAfter = after
		}
	}
	r.Fail(g.status)
	h.refusal.add(r, m.zone, after)
	return phase.Fail
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
	if r.Report != nil {
		if !v.Admitted() {
			l.list = l.list[:v.Leg+1] // those behind the one that refused were not asked
		}
		l.report(r.Report, &v, m.group.dryRun)
	}
	if v.Admitted() {
		r.ConnStatus = request.LimitPassed
		return phase.Continue
	}
	if v.NoRoom() {
		r.Logf(errorlog.Crit, `could not allocate node in limit_conn zone "%s"`, m.zone)
	} else {
		m.logConnection(r)
	}
	if m.group.dryRun {
		r.ConnStatus = request.LimitRejectedDryRun
		return phase.Continue
	}
	r.ConnStatus = request.LimitRejected
	r.Fail(m.group.status)
	h.refusal.add(r, m.zone, 0)
	return phase.Fail
}

// undecided answers for a zone that could not decide.
func undecided(r *request.Request, err error) phase.Next {
	r.Logf(errorlog.Error, "asking the limits: %s", err)
	r.Fail(500)
	return phase.Fail
}

// seconds rounds a time up to whole seconds, at least one.
func seconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return max(1, n)
}

// claimInt writes n in request memory.
func claimInt(r *request.Request, n int64) []byte {
	return r.Claim(strconv.AppendInt(r.Scratch(), n, 10))
}

package limit

import (
	"context"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// connections takes the places of limit_conn, which the program gives back when the request ends. One with a report that was
// delayed, here or before a redirect inside, is asked again when its delay is over.
func (h *handler) connections(r *request.Request) phase.Next {
	rd := round{open: unasked(r)}
	r.Places = r.Places[:0]
	next := h.places(r, &rd)
	if next == phase.Continue && rd.watched != 0 {
		rd.dryRun = true
		next = h.places(r, &rd)
	}
	return next
}

// places takes the places of a round.
func (h *handler) places(r *request.Request, rd *round) phase.Next {
	var room room
	limits, watched := h.conn, []limit(nil)
	if rd.dryRun {
		limits, watched = nil, h.conn
	}
	l := room.legs().collect(r, rd, limits, watched)
	if len(l.list) == 0 {
		return phase.Continue
	}
	if r.Report != nil && r.Report.MustWait() {
		return phase.Hold
	}
	held := len(r.Places)
	r.Places = slices.Grow(r.Places, len(l.list))[:held+len(l.list)]
	v, err := limitgate.AcquireAll(context.Background(), r.Now, l.list, r.Places[held:])
	if err != nil {
		return undecided(r, err)
	}
	m := l.terms[v.Leg].of
	dryRun := rd.dryRun || m.group.dryRun
	if !v.Admitted() {
		l.list = l.list[:v.Leg+1] // those behind the one that refused were not asked
	}
	l.count(r, dryRun, v.Admitted())
	l.keepStores(r)
	if r.Report != nil {
		l.report(r, &v, dryRun)
	}
	for i := range l.list {
		l.terms[i].of.follow(r, dryRun, &l.list[i].Decision)
	}
	if s := statusOf(&v.Decision, v.Admitted(), dryRun); s > r.ConnStatus {
		r.ConnStatus, r.ConnLimit = s, l.places(v.Leg)
	}
	if v.Admitted() {
		l.learn(r)
		return phase.Continue
	}
	return h.crowded(r, m, &v, dryRun)
}

// crowded logs that limit m has no place for a request and, unless it is a rehearsal, makes that the answer.
func (h *handler) crowded(r *request.Request, m *limit, v *limitgate.Verdict, dryRun bool) phase.Next {
	switch {
	case v.NoRoom():
		r.Logf(errorlog.Crit, `could not allocate node in limit_conn zone "%s"`, m.zone)
	case v.Fallback() == limitgate.FailClosed:
	default:
		m.logConnection(r, dryRun)
	}
	if dryRun {
		return phase.Continue
	}
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

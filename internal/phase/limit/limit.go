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
	"github.com/limitgate/limitgate/internal/vars"
)

// handler is the limits of one scope.
type handler struct {
	req     group
	conn    group
	delay   errorlog.Level // of a request that waits
	headers headers
}

// group is the limits of one kind in the order of the file, and what they do together.
type group struct {
	limits []limit
	status int
	level  errorlog.Level
	dryRun bool

	asksInTurn bool // the first that refuses ends it: limit_conn
}

// limit is one limit_req or limit_conn.
type limit struct {
	zone    string
	key     *vars.Template
	limiter *limitgate.Limiter
	policy  policy // limit_req only
}

var _ phase.Handler = (*handler)(nil)

// few is how many limits of a kind are handled without allocating.
const few = 8

// legs are the limits of a group that take part in a request.
type legs struct {
	list  []limitgate.Leg
	limit []uint8 // of each leg, its place in the group
}

// room is where the legs of an ordinary request stand: on the stack of who asks.
type room struct {
	list  [few]limitgate.Leg
	limit [few]uint8
}

// Serve asks the limits of each kind that was not asked yet.
func (h *handler) Serve(r *request.Request) phase.Next {
	if len(h.req.limits) > 0 && r.ReqStatus == request.LimitUnset {
		if next := h.requests(r); next != phase.Continue {
			return next
		}
	}
	if len(h.conn.limits) > 0 && r.ConnStatus == request.LimitUnset {
		return h.connections(r)
	}
	return phase.Continue
}

// requests asks limit_req, and waits if it says so. A request with a report goes on at once, until it meets limit_conn.
func (h *handler) requests(r *request.Request) phase.Next {
	var room room
	l := legs{room.list[:0], room.limit[:0]}.collect(r, h.req.limits)
	if len(l.list) == 0 {
		return phase.Continue
	}
	v, err := limitgate.All(context.Background(), r.Now, l.list)
	if err != nil {
		return undecided(r, err)
	}
	if r.Report != nil {
		h.req.report(r.Report, &l, &v)
	}
	if h.headers != headersOff && !h.req.dryRun {
		h.headers.add(r, &h.req, &l, v.Admitted())
	}
	switch {
	case v.Outcome == limitgate.Rejected:
		return h.refuse(r, &l, &v)
	case v.Delay() < time.Millisecond:
		r.ReqStatus = request.LimitPassed
		return phase.Continue
	}
	logRequest(r, h.delay, "delaying request", h.req.dryMark(), v.Excess, ", by zone ", h.req.zone(&l, v.Leg))
	if h.req.dryRun {
		r.ReqStatus = request.LimitDelayedDryRun
		return phase.Continue
	}
	r.ReqStatus = request.LimitDelayed
	if r.Report != nil {
		r.Report.Delay = v.Delay()
		return phase.Continue
	}
	if !r.Stream.Sleep(v.Delay()) {
		r.Logf(errorlog.Info, "client prematurely closed connection")
		r.Leave(499)
		return phase.Done
	}
	return phase.Continue
}

// refuse logs a refusal of limit_req and, unless it is a rehearsal, makes it the answer.
func (h *handler) refuse(r *request.Request, l *legs, v *limitgate.Verdict) phase.Next {
	zone := h.req.zone(l, v.Leg)
	if v.NoRoom() {
		r.Logf(errorlog.Crit, `could not allocate node in limit_req zone "%s"`, zone)
	} else {
		logRequest(r, h.req.level, "limiting requests", h.req.dryMark(), v.Excess, " by zone ", zone)
	}
	if h.req.dryRun {
		r.ReqStatus = request.LimitRejectedDryRun
		return phase.Continue
	}
	r.ReqStatus = request.LimitRejected
	if v.RetryAfter() > 0 {
		after := seconds(v.RetryAfter())
		r.AddHeader(nameRetryAfter, claimInt(r, after))
		if r.Report != nil {
			r.Report.RetryAfter = after
		}
	}
	r.Fail(h.req.status)
	return phase.Fail
}

// connections takes the places of limit_conn, which the program gives back when the request ends. One with a report that was
// delayed, here or before a redirect inside, is asked again when its delay is over.
func (h *handler) connections(r *request.Request) phase.Next {
	var room room
	l := legs{room.list[:0], room.limit[:0]}.collect(r, h.conn.limits)
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
	if r.Report != nil {
		h.conn.report(r.Report, &l, &v)
	}
	if v.Admitted() {
		r.ConnStatus = request.LimitPassed
		return phase.Continue
	}
	zone := h.conn.zone(&l, v.Leg)
	if v.NoRoom() {
		r.Logf(errorlog.Crit, `could not allocate node in limit_conn zone "%s"`, zone)
	} else {
		h.conn.logConnection(r, zone)
	}
	if h.conn.dryRun {
		r.ConnStatus = request.LimitRejectedDryRun
		return phase.Continue
	}
	r.ConnStatus = request.LimitRejected
	r.Fail(h.conn.status)
	return phase.Fail
}

// logRequest writes what limit_req did, without garbage: a flood of refusals must not become a flood of work.
func logRequest(r *request.Request, level errorlog.Level, what, mark string, excess limitgate.Excess, by, zone string) {
	if !r.Logs(level) {
		return
	}
	b := append(append(r.BeginLog(level), what...), mark...)
	b = excess.Append(append(b, ", excess: "...))
	b = append(append(append(append(b, by...), '"'), zone...), '"')
	r.EndLog(level, b)
}

// logConnection writes that limit_conn refused a request.
func (g *group) logConnection(r *request.Request, zone string) {
	if !r.Logs(g.level) {
		return
	}
	b := append(append(r.BeginLog(g.level), "limiting connections"...), g.dryMark()...)
	if g.dryRun {
		b = append(b, ',')
	}
	b = append(append(append(b, " by zone \""...), zone...), '"')
	r.EndLog(g.level, b)
}

// undecided answers for a zone that could not decide.
func undecided(r *request.Request, err error) phase.Next {
	r.Logf(errorlog.Error, "asking the limits: %s", err)
	r.Fail(500)
	return phase.Fail
}

// zone is the name of a leg's zone.
func (g *group) zone(l *legs, leg int) string { return g.limits[l.limit[leg]].zone }

// dryMark is what tells a log line of a rehearsal from the real thing.
func (g *group) dryMark() string {
	if g.dryRun {
		return ", dry run"
	}
	return ""
}

// collect builds the keys of limits and returns l with legs for those that are not empty. The keys stand one behind the other in
// request memory, lent out only here: they are gone with the next thing that is kept, when the limits have answered.
func (l legs) collect(r *request.Request, limits []limit) legs {
	b := r.Scratch()
	for i := range limits {
		start := len(b)
		b = limits[i].key.Append(r, b)
		if len(b) == start {
			continue
		}
		l.list = append(l.list, limitgate.Leg{Limiter: limits[i].limiter, Key: limitgate.BytesKey(b[start:])})
		l.limit = append(l.limit, uint8(i))
	}
	r.Claim(b[:0])
	return l
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

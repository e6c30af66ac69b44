package limit

import (
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/span"
)

// count counts what the limit decided about a key, and tells the request's span. Where another limit refused the request, what did not has decided nothing: it is
// not charged, and asked again when the client comes again.
func (m *limit) count(r *request.Request, d *limitgate.Decision, key string, dryRun, admitted bool) {
	if m.meter == nil && r.Span == nil || !admitted && d.Outcome != limitgate.Rejected {
		return
	}
	o, wait := meter.Passed, time.Duration(0)
	if d.Outcome != limitgate.Passed || d.Wait != 0 || dryRun {
		o, wait = outcomeOf(d, dryRun, !m.group.dryRun)
	}
	m.meter.Count(r.Now, r.Conn.Serial, o, key, wait)
	if r.Span != nil && r.Span.Recorded() {
		r.Span.Limit(&span.Limit{Zone: m.zone, Kind: m.group.kind.String(), Outcome: o.String(), Key: key, Delay: wait, Excess: d.Excess})
	}
}

// count does so for all limits that were asked together.
func (l *legs) count(r *request.Request, dryRun, admitted bool) {
	for i := range l.list {
		leg := &l.list[i]
		l.terms[i].of.count(r, &leg.Decision, leg.Key, dryRun, admitted)
	}
}

// outcomeOf is what a decision counts as, and how long who is delayed waits. In dry run others than these keys may be limited in earnest.
func outcomeOf(d *limitgate.Decision, dryRun, others bool) (o meter.Outcome, wait time.Duration) {
	switch d.Fallback() {
	case limitgate.FailOpen:
		return meter.Open, 0
	case limitgate.FailClosed:
		return meter.Closed, 0
	case limitgate.FailLocal:
		o = meter.LocalPassed
	}
	switch {
	case dryRun && others:
		o = meter.WatchedPassed
	case dryRun:
		o = meter.DryPassed
	}
	switch wait = d.Delay(); {
	case d.NoRoom() && !dryRun:
		return meter.NoRoom, 0
	case d.Outcome == limitgate.Rejected:
		return o + meter.Refused, 0
	case wait >= time.Millisecond:
		return o + meter.Delayed, wait
	}
	return o, 0
}

// said notes whether a refusal told when to come again.
func (m *limit) said(after int64, d *limitgate.Decision) {
	if after == 0 && !m.group.hints && d.Fallback() != limitgate.FailClosed {
		m.meter.Unsaid()
	}
}

// hints tells whether refusals in a scope say when to come again by an add_header.
func hints(s *conf.Scope) bool {
	for _, d := range s.All("add_header") {
		if strings.EqualFold(d.Arg(0), "Retry-After") {
			return true
		}
	}
	return false
}

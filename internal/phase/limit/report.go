package limit

import (
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// report tells what limits that were asked together said.
func (l *legs) report(r *request.Request, v *limitgate.Verdict, dryRun bool) {
	p := r.Report
	p.Scope = r.Location
	first := len(p.Limits)
	for i := range l.list {
		p.Tell(l.terms[i].of.zone, l.list[i].Key, rounded(l.list[i].Decision), dryRun)
	}
	p.Add(first, v.Leg, rounded(v.Decision), dryRun)
}

// rounded makes a delay that nobody waits for a pass.
func rounded(d limitgate.Decision) limitgate.Decision {
	if d.Outcome == limitgate.Delayed && d.Delay() < time.Millisecond {
		d = limitgate.Decision{Excess: d.Excess, Remaining: d.Remaining}.By(d.Fallback())
	}
	return d
}

package limit

import (
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// report tells what the limits of a kind said. A limit_conn behind the one that refused was not asked, and is left out.
func (g *group) report(p *request.Report, l *legs, v *limitgate.Verdict) {
	first, list := len(p.Limits), l.list
	if g.asksInTurn && !v.Admitted() {
		list = list[:v.Leg+1]
	}
	for i := range list {
		p.Limits = append(p.Limits, request.LimitReport{Zone: g.zone(l, i), Decision: rounded(list[i].Decision)})
	}
	p.Add(first, v.Leg, rounded(v.Decision), g.dryRun)
}

// rounded makes a delay that nobody waits for a pass.
func rounded(d limitgate.Decision) limitgate.Decision {
	if d.Outcome == limitgate.Delayed && d.Delay() < time.Millisecond {
		d.Outcome, d.Wait = limitgate.Passed, 0
	}
	return d
}

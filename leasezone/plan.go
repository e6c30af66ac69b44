package leasezone

import (
	"time"

	"github.com/limitgate/limitgate"
)

// plan is how the requests of a limit are borrowed.
type plan struct {
	most  int64         // in one batch; 1: one by one, and refusals are remembered; 0: nothing is remembered either
	depth int64         // what passes at once
	each  int64         // ns between the instants until which two requests of a bucket are owed; 0 of windows
	burst int64         // what Remaining counts down from, of buckets
	slack int64         // how much of what remains would be delayed
	after time.Duration // how long after the end of its window a state is drained, of windows
}

const (
	// tenth is the part of what a limit lets pass at once that is borrowed at a time, where a Config says nothing else.
	tenth = 10

	// maxLease is how much can be borrowed at a time.
	maxLease = 1<<15 - 1
)

// planOf tells how l is borrowed from, with batches of lease, or a tenth of what passes at once if lease is 0.
func planOf(l *limitgate.Limit, lease int64) plan {
	p := plan{most: 1}
	depth := int64(0) // what passes at once behind the first
	switch a := l.Algorithm.(type) {
	case limitgate.Req:
		depth = a.Burst
		if !a.NoDelay {
			depth = min(a.Delay, a.Burst)
		}
		p.burst, p.slack, p.each = a.Burst, a.Burst-depth, int64(a.Rate.Interval())
		if a.Arithmetic == limitgate.Nginx {
			p.each = int64(time.Second) * 1000 / a.Rate.Thousandths()
		}
	case limitgate.Token:
		depth, p.burst, p.each = a.Capacity, a.Capacity-1, int64(a.Rate.Interval())
	case limitgate.Pace:
		return p
	case limitgate.Count:
		if a.Windowing == limitgate.Log {
			return plan{}
		}
		depth = a.Limit
		if a.Windowing == limitgate.Sliding {
			p.after = a.Window
		}
	default:
		return plan{}
	}
	if t, ok := l.Steps.(limitgate.Portable); !ok || t.Terms(0, 1, 0).Promised {
		return plan{}
	}
	if lease == 0 {
		lease = depth / tenth
	}
	p.depth = max(depth, 1)
	p.most = min(max(lease, 1), p.depth, maxLease)
	return p
}

// patience is for how many is waited at most.
func (p *plan) patience() int64 { return max(min(p.depth/2, 8*p.most), p.most) }

// plenty is how much must be there for the limit not to be near any more.
func (p *plan) plenty() int64 { return (p.depth + 1) / 2 }

// end is the instant, by the clock of the zone, until which the last request of a batch is owed and one interval longer; of a
// window, when it ends. The batch was admitted with d at the instant at.
func (p *plan) end(l *limitgate.Limit, after limitgate.State, at limitgate.Time, d limitgate.Decision) limitgate.Time {
	switch l.Kind {
	case limitgate.KindReqNginx:
		// nginx counts in milliseconds and thousandths: the excess is what has to leak, rounded down here.
		ms := at - at%limitgate.Time(time.Millisecond)
		whole, rest := int64(d.Excess)/1000, int64(d.Excess)%1000
		return ms + limitgate.Time(whole*p.each+rest*p.each/1000+p.each)
	case limitgate.KindSliding, limitgate.KindFixed:
		return l.Steps.DrainAt(after, at) - limitgate.Time(p.after)
	}
	return l.Steps.DrainAt(after, at)
}

// lessened is the decision on cost, from that on a batch of m that has it in it.
func (p *plan) lessened(d limitgate.Decision, m, cost int64) limitgate.Decision {
	if d.Admitted() {
		d.Remaining += m - cost
	}
	if p.each > 0 {
		d.Excess -= limitgate.Excess(m-cost) * 1000
	}
	if d.Outcome == limitgate.Delayed {
		if d.Wait -= time.Duration((m - cost) * p.each); d.Wait <= 0 {
			d.Outcome, d.Wait = limitgate.Passed, 0
		}
	}
	return d
}

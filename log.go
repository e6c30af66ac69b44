package limitgate

import "time"

// maxLog is the largest limit of an exact log.
const maxLog = 10_000

// LogSteps is the arithmetic of Count with Windowing Log. No word can hold a log, so a zone keeps the stamps itself: for each
// key the times at which something of cost 1 was admitted, oldest first. At each request it
//
//   - cuts the log, if its last stamps lie more than a minute ahead of now because the clock was set back: such stamps become
//     Cut(now), so that nobody is locked out for longer than a window and a minute;
//   - leaves out the stamps that no longer count, those up to Since(now), and all but the newest max(Full, bound);
//   - asks Decide, and if the request is admitted adds as many stamps as it costs: now, or the last stamp if that is later.
//
// A charge has the stamp as After and the cost as Before; a refund removes that many equal stamps.
//
// As Steps it refuses everything: a zone that keeps only words has no room for a log.
type LogSteps struct {
	limit  int64
	window time.Duration
}

var _ Steps = (*LogSteps)(nil)

// Cut is the latest stamp a log may have at now; later ones were made before the clock was set back.
func (*LogSteps) Cut(now Time) Time { return max(now, 0) + min(Time(skew), Never-max(now, 0)) }

// Since is the latest stamp that no longer counts at now.
func (g *LogSteps) Since(now Time) Time { return max(now, 0) - Time(g.window) }

// Until is when a stamp stops counting.
func (g *LogSteps) Until(stamp Time) Time {
	return stamp + min(Time(g.window), Never-2-min(stamp, Never-2))
}

// Decide answers a request. held is how many stamps count, and nth gives the n-th of them, from 0, oldest first; it is asked
// once at most.
func (g *LogSteps) Decide(now Time, cost Cost, held int64, nth func(n int64) Time) Decision {
	if int64(cost) <= g.limit-held {
		return Decision{Remaining: g.limit - held - int64(cost)}
	}
	a := overLimit(g.limit, held, cost, 0)
	if int64(cost) <= g.limit {
		a.Wait = max(g.Until(nth(held+int64(cost)-g.limit-1)).Sub(max(now, 0)), 1)
	}
	return a
}

// Step implements Steps: it refuses.
func (g *LogSteps) Step(s State, _ Time, _ Cost, _ int64) (State, Decision) {
	return s, Decision{Outcome: Rejected, Wait: NoRoom}
}

// Undo implements Steps.
func (*LogSteps) Undo(s, _, _ State, _ Time) State { return s }

// DrainAt implements Steps.
func (*LogSteps) DrainAt(State, Time) Time { return 0 }

// Full implements Steps: how many stamps a full log has.
func (g *LogSteps) Full() int64 { return g.limit }

package adaptive

import (
	"math"
	"time"

	"github.com/limitgate/limitgate"
)

// Outcome is how a request ended, as far as the limit learns from it.
type Outcome uint8

// The outcomes.
const (
	// Answered is a request that was worked on, well or badly: its time counts.
	Answered Outcome = iota
	// Dropped is one that the backend could not cope with: it timed out, or was turned away. It tells that the limit is too high, and
	// its time tells nothing.
	Dropped
	// Left is one that somebody gave up on. Its time counts only if it was long already: a crowd that leaves because nobody answers
	// must be seen.
	Left
	// Ignored is one that tells nothing.
	Ignored
)

// Estimate finds a limit from how long requests are at work. It is pure: no clock, no lock. The zero value knows nothing. Who holds
// places elsewhere keeps an Estimate beside them, under a lock of its own; a Limiter does both.
//
// A window follows the requests that begin in it until nearly all have ended: those that end in some stretch of time would be the
// short ones after the limit grew, and the long ones after it shrank. Their mean time is compared with what it is without load, and the
// limit set to what the backend would have at work were there no queue: limit * tolerance * base / mean, and a little more to find out
// with. What is beyond what the requests ask for is not learned: a limit that is not reached does not grow.
type Estimate struct {
	limit    float64 // 0: nothing is known
	base     float64 // the time of a request without load, in nanoseconds; 0: not known
	inFlight int64

	seen window

	young   int64 // samples in a new base: the limit doubles until somebody waits; 0: it is an old one
	probing bool
	level   float64        // the limit while probing
	before  float64        // the mean one step before
	started float64        // the mean before probing
	basis   float64        // how many were at work then
	since   limitgate.Time // the beginning of it
	due     limitgate.Time // the next probe
}

// Mark is what Begin gives a request to be known by when it ends.
type Mark struct {
	began  limitgate.Time
	serial uint32 // of the window that follows it; 0: none
}

// Since is how long ago the request began.
func (m Mark) Since(now limitgate.Time) time.Duration { return now.Sub(m.began) }

// weight is how far a mean of n samples is believed, against m that were seen before.
func weight(n int64, m float64) float64 { return float64(n) / (float64(n) + m) }

const (
	steepest  = 0.5  // the most a window takes from the limit
	backing   = 0.9  // what drops leave of it
	brisk     = 0.7  // how much of a rise is believed while nobody waits: half of the way would be to grow with the brake on
	far       = 2.0  // so many times beyond what it may be, the base itself is in doubt
	alike     = 0.15 // two times that differ by less are the same
	helped    = 0.8  // a lower limit that leaves more than this of the time was not what made it long
	probeCost = 20   // of so much time, one part is spent on probes
	confirm   = 5    // and so much where one found something new
)

// Limit is what is found so far.
func (e *Estimate) Limit(c *Config) int64 {
	l := e.limit
	switch {
	case e.probing:
		l = e.level
	case l == 0:
		l = float64(c.Initial)
	}
	return min(max(int64(l), c.Min), c.Max)
}

// InFlight is how many requests have begun and not ended.
func (e *Estimate) InFlight() int64 { return e.inFlight }

// Base is the time of a request without load, as far as it is known.
func (e *Estimate) Base() time.Duration { return time.Duration(e.base) }

// Begin tells of a request that begins at now.
func (e *Estimate) Begin(c *Config, now limitgate.Time) Mark {
	e.rewind(now)
	e.inFlight++
	return Mark{now, e.seen.begin(c, now, e.inFlight)}
}

// End learns from a request that ended at now, of whose time the backend took a part or all. It tells whether the limit may have changed.
func (e *Estimate) End(c *Config, now limitgate.Time, m Mark, took time.Duration, o Outcome) bool {
	e.rewind(now)
	e.inFlight--
	if o == Left && float64(took) > e.base*far {
		o = Answered
	}
	w := &e.seen
	if m.serial == w.serial && m.serial != 0 {
		w.end(m.began, took, o)
	}
	if !w.over(c, now) {
		return false
	}
	if e.limit == 0 {
		e.limit, e.due = float64(e.Limit(c)), now
	}
	mean := w.mean(now)
	if e.probing && w.drops() {
		e.probing, e.limit, e.due = false, min(e.limit, e.level), now.Add(c.Probe)
	}
	if e.probing {
		e.descend(c, now, mean)
	} else {
		e.move(c, now, mean)
	}
	e.limit = min(max(e.limit, float64(c.Min)), float64(c.Max))
	w.next(now, e.inFlight)
	return true
}

// back is how far the clock must have gone back to be believed: a request's time may be a little old when it is told of.
const back = time.Second

// rewind begins the window again after the clock went back: until the time that was, it would not end. What is at work then tells
// nothing, and what was to come at a time comes as much sooner.
func (e *Estimate) rewind(now limitgate.Time) {
	gone := e.seen.from.Sub(now)
	if e.seen.serial == 0 || gone < back {
		return
	}
	e.due, e.since = e.due.Add(-gone), e.since.Add(-gone)
	e.seen.next(now, e.inFlight)
}

// move sets the limit by what a window saw.
func (e *Estimate) move(c *Config, now limitgate.Time, mean float64) {
	w, gain, allowance := &e.seen, 1.0, (1+math.Sqrt(e.limit))/2
	if w.answered > 0 {
		e.learn(c, now, mean)
		gain = max(c.tolerance()*e.base/mean, steepest)
	}
	if w.drops() {
		gain, allowance = min(gain, backing), 0
	}
	if c.CPU != nil {
		if load := c.CPU.Load(now); load > c.CPUTarget {
			gain, allowance = min(gain, max(float64(c.CPUTarget)/float64(load), steepest)), 0
		}
	}
	next, reached := e.limit*gain+allowance, float64(w.peak) >= math.Floor(e.limit)
	if next > e.limit && !reached {
		next = e.limit
	}
	if w.answered > 0 && now >= e.due && reached {
		e.probe(c, now, mean)
	}
	belief := weight(w.ended(), enough)
	switch {
	case next <= e.limit:
	case e.young > 0:
		next, belief = max(next, 2*e.limit), 1
	case mean <= e.base*(1+alike):
		belief = max(belief, brisk)
	}
	e.limit += (next - e.limit) * belief
}

// learn keeps the time without load: it follows what is faster, and, where so few are at work that nobody waits for another, what is
// slower too.
func (e *Estimate) learn(c *Config, now limitgate.Time, mean float64) {
	w := &e.seen
	idle := float64(w.peak)*3 <= e.limit
	if idle {
		e.due = max(e.due, now.Add(c.Probe))
	}
	switch {
	case e.base == 0:
		e.base = mean
	case e.young > 0 && mean <= e.base*(1+alike+2*w.doubt()):
		// A higher limit did not make it longer: this too is the time without load.
		e.base += (mean - e.base) * weight(w.answered, float64(e.young))
		e.young += w.answered
		return
	case e.young > 0:
		e.young, e.due = 0, min(e.due, now) // now it has: with so many samples the base is found better
	case mean < e.base/far:
		e.due = min(e.due, now) // a faster backend soon hides behind a longer queue
	case mean > e.base*far*c.tolerance():
		e.due = min(e.due, now) // either the limit is far too high, or the backend is another one now
	}
	if idle || mean < e.base {
		e.base += (mean - e.base) * weight(w.answered, 5*enough)
	}
}

// probe begins to look at what a request takes without load.
func (e *Estimate) probe(c *Config, now limitgate.Time, mean float64) {
	e.probing, e.before, e.started, e.since = true, mean, mean, now
	e.basis = min(e.limit, float64(e.seen.peak))
	e.level = max(e.basis/3, float64(c.Min))
}

// descend ends a step of a probe. Where fewer at work made each faster there was a queue, and there may still be one: half of them
// tells. Where it did not, that is how long a request takes.
func (e *Estimate) descend(c *Config, now limitgate.Time, mean float64) {
	known := math.Abs(mean-e.base) <= e.base*(alike+e.seen.doubt())
	if !known && mean < helped*e.before && e.level > max(float64(c.Min), 1) {
		e.before, e.level = mean, max(e.level/2, float64(c.Min), 1)
		return
	}
	wait := max(probeCost*now.Sub(e.since), c.Probe)
	if mean > e.base/2 && mean < e.base*2 {
		mean = (mean + e.base) / 2 // the same backend: both are measurements of it
	} else {
		wait, e.young = confirm*now.Sub(e.since), e.seen.answered
	}
	e.base, e.probing = mean, false
	e.due = now.Add(wait)
	if gain := c.tolerance() * e.base / e.started; gain < 1 {
		// What was at work before, had there been no queue.
		e.limit = min(e.limit, e.basis*gain+(1+math.Sqrt(e.basis))/2)
	}
}

package limitgate

import (
	"math/bits"
	"time"
)

// The state of a sliding window:
//
//	0                                       nobody has seen the key
//	index 24 | previous 20 | current 20     the number of the window since the epoch, modulo 2^24, what was admitted in the
//	                                        one before it, and in it
//
// Of the indices a state can have relative to now, the eighth before the wrap is time gone back: four years of windows of a
// minute, which are told apart for 28. Of shorter windows only those of the last day are: a state that nobody has touched
// for nearly 2^24 windows, 193 days of windows of a second, may be taken for a current one, for two windows.
const (
	slidingBits     = 20
	slidingIndexMod = 1 << 24
	maxSliding      = 1<<slidingBits - 1
)

var _ Steps = (*slidingSteps)(nil)

// slidingSteps weighs the previous window by the part of it that the sliding one still covers, rounded down.
type slidingSteps struct {
	limit  int64
	window int64 // ns
	back   int64 // how many windows ahead of now are time gone back
}

func newSlidingSteps(c Count) *slidingSteps {
	g := &slidingSteps{limit: c.Limit, window: int64(c.Window), back: slidingIndexMod / 8}
	if c.Window < time.Minute {
		g.back = min(g.back, int64(day/c.Window)+1)
	}
	return g
}

func packSliding(index, previous, current int64) State {
	return State(index)&(slidingIndexMod-1)<<(2*slidingBits) | State(previous)<<slidingBits | State(current)
}

// unpackSliding gives the index relative to that of now: negative when it has passed.
func (g *slidingSteps) unpackSliding(s State, index int64) (ahead, previous, current int64) {
	ahead = (int64(s>>(2*slidingBits)) - index) & (slidingIndexMod - 1)
	if ahead > g.back {
		ahead -= slidingIndexMod
	}
	return ahead, int64(s >> slidingBits & maxSliding), int64(s & maxSliding)
}

// at is what s says at now: the window, how long it still lasts, and both counts, cut to full.
func (g *slidingSteps) at(s State, now Time, full int64) (index, left, previous, current int64) {
	n := int64(max(now, 0))
	index, left = n/g.window, g.window-n%g.window
	if s == 0 {
		return index, left, 0, 0
	}
	ahead, previous, current := g.unpackSliding(s, index)
	previous, current = min(previous, full), min(current, full)
	switch {
	case ahead == 1 && left <= int64(skew):
		index, left = index+1, left+g.window // opened by another processor, slightly ahead
	case ahead >= 0: // of now, or of a clock that was set back since
	case ahead == -1:
		previous, current = current, 0
	default:
		previous, current = 0, 0
	}
	return index, left, previous, current
}

// weigh is the part of previous that counts when so much of the window is left, rounded down.
func (g *slidingSteps) weigh(previous, left int64) int64 {
	if previous == 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(previous), uint64(min(left, g.window)))
	q, _ := bits.Div64(hi, lo, uint64(g.window)) // the quotient is at most previous
	return int64(q)
}

// rest is the longest rest of a window at which no more than most of previous counts.
func (g *slidingSteps) rest(previous, most int64) int64 {
	if most >= previous {
		return g.window
	}
	hi, lo := bits.Mul64(uint64(most+1), uint64(g.window))
	lo, borrow := bits.Sub64(lo, 1, 0)
	q, _ := bits.Div64(hi-borrow, lo, uint64(previous)) // most+1 is at most previous: the quotient is below window
	return int64(q)
}

// Step implements Steps.
func (g *slidingSteps) Step(s State, now Time, cost Cost, bound int64) (State, Decision) {
	index, left, previous, current := g.at(s, now, max(g.limit, bound))
	used := g.weigh(previous, left) + current
	if int64(cost) > g.limit-used {
		if was := int64(max(now, 0)) / g.window; s != 0 {
			if ahead, p, c := g.unpackSliding(s, was); ahead > index-was || ahead >= 0 && (p != previous || c != current) {
				s = packSliding(index, previous, current) // cut
			}
		}
		return s, overLimit(g.limit, used, cost, g.retry(left, previous, current, cost))
	}
	return packSliding(index, previous, current+int64(cost)), Decision{Remaining: g.limit - used - int64(cost)}
}

// retry is how long until a request of cost, at most the limit, passes if nobody else asks: within the window when enough
// of the previous one has slid out, else in the next one.
func (g *slidingSteps) retry(left, previous, current int64, cost Cost) time.Duration {
	if int64(cost) > g.limit {
		return 0
	}
	if free := g.limit - current - int64(cost); free >= 0 {
		return time.Duration(left - g.rest(previous, free))
	}
	return time.Duration(left + g.window - g.rest(current, g.limit-int64(cost)))
}

// Undo implements Steps. A charge is taken back from its window, be it the current or the previous one by now.
func (g *slidingSteps) Undo(s, before, after State, _ Time) State {
	index := int64(after >> (2 * slidingBits))
	charge := after & maxSliding
	if ahead, _, had := g.unpackSliding(before, index); before != 0 && ahead >= 0 {
		charge -= min(charge, State(had))
	}
	switch ahead, _, _ := g.unpackSliding(s, index); {
	case s == 0:
	case ahead == 0:
		s -= min(s&maxSliding, charge)
	case ahead == 1:
		s -= min(s>>slidingBits&maxSliding, charge) << slidingBits
	}
	return s
}

// DrainAt implements Steps: the end of the next window, or of this one if nothing was admitted in it.
func (g *slidingSteps) DrainAt(s State, now Time) Time {
	if s == 0 {
		return 0
	}
	index, _, previous, current := g.at(s, now, maxSliding)
	switch {
	case current > 0:
		return satTime(index+2, g.window)
	case previous > 0:
		return satTime(index+1, g.window)
	}
	return 0
}

// satTime is the beginning of a window, at most the end of Time.
func satTime(index, window int64) Time {
	if hi, lo := bits.Mul64(uint64(index), uint64(window)); hi == 0 && lo <= uint64(Never)-2 {
		return Time(lo)
	}
	return Never - 2
}

// Full implements Steps.
func (g *slidingSteps) Full() int64 { return g.limit }

// Package tally counts what is asked for in windows, whether it is admitted or not: the way in which envoyproxy/ratelimit counts. It
// refuses nobody. Who asks compares the count with a limit, and the algorithm here tells how much of its limit is left, which is
// below zero where more was asked for.
//
// The key that is counted has the beginning of its window in it. So windows of two lengths that begin at one instant are one
// counter, as they are in envoyproxy/ratelimit, and an instance of that can share a Redis with one of this.
package tally

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// Tally counts.
type Tally struct {
	Limit  int64         // that Remaining is told of
	Window time.Duration // whole seconds
}

var _ limitgate.Algorithm = Tally{}

// The state:
//
//	0                        nobody has seen the key
//	end 28 | count 36        the second in which the window ends, modulo 2^28, and what was asked for in it
//
// An end is told apart from others for eight years. The half of them that lies ahead is to come: no key is older than its window.
const (
	countBits = 36
	endMod    = 1 << 28

	// Most is the largest count. What is beyond it is not counted.
	Most = 1<<countBits - 1
)

// Validate says what is wrong with t.
func (t Tally) Validate() error {
	if t.Limit < 0 || t.Limit > Most || t.Window < time.Second || t.Window%time.Second != 0 || t.Window > 366*24*time.Hour {
		return fmt.Errorf("tally: limit %d must be between 0 and %d, and window %v whole seconds between 1s and 366 days", t.Limit, int64(Most), t.Window)
	}
	return nil
}

// Kind is limitgate.KindTally.
func (t Tally) Kind() limitgate.Kind { return limitgate.KindTally }

// Counts is how much a window admits, for a guard that gives each instance its share.
func (t Tally) Counts() int64 { return t.Limit }

// Compile derives the constants of the steps.
func (t Tally) Compile() limitgate.Steps {
	return &steps{limit: t.Limit, window: int64(t.Window / time.Second)}
}

type steps struct{ limit, window int64 }

var _ limitgate.Steps = (*steps)(nil)

// seconds is an instant in whole seconds.
func seconds(now limitgate.Time) int64 { return int64(max(now, 0)) / int64(time.Second) }

// unpack gives the end of the window relative to now, 0 or less when it is over, and the count.
func unpack(s limitgate.State, now int64) (ahead, count int64) {
	ahead = (int64(s>>countBits) - now) & (endMod - 1)
	if ahead >= endMod/2 {
		ahead -= endMod
	}
	return ahead, int64(s & Most)
}

// Step implements limitgate.Steps: it adds the cost, which may be 0, and refuses nobody. Of windows that share a counter the later end
// holds.
func (t *steps) Step(s limitgate.State, now limitgate.Time, cost limitgate.Cost, _ int64) (limitgate.State, limitgate.Decision) {
	n := seconds(now)
	end, count := n-n%t.window+t.window, int64(0)
	if s != 0 {
		if ahead, held := unpack(s, n); ahead > 0 {
			end, count = max(end, n+ahead), held
		}
	}
	count = min(count+min(int64(cost), Most), Most)
	left := t.limit - count
	return limitgate.State(end&(endMod-1))<<countBits | limitgate.State(count),
		limitgate.Decision{Remaining: left, Excess: limitgate.Excess(-left * 1000)}
}

// Undo implements limitgate.Steps.
func (t *steps) Undo(s, before, after limitgate.State, _ limitgate.Time) limitgate.State {
	if s>>countBits != after>>countBits {
		return s
	}
	had := limitgate.State(0)
	if before>>countBits == after>>countBits {
		had = before & Most
	}
	count := after & Most
	return s - min(s&Most, count-min(count, had))
}

// DrainAt implements limitgate.Steps: the end of the window.
func (t *steps) DrainAt(s limitgate.State, now limitgate.Time) limitgate.Time {
	if s == 0 {
		return 0
	}
	n := seconds(now)
	ahead, _ := unpack(s, n)
	return limitgate.Time(max(n+ahead, 0)) * limitgate.Time(time.Second)
}

// Full implements limitgate.Steps. Nothing is cut.
func (t *steps) Full() int64 { return 0 }

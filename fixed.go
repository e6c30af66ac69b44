package limitgate

import "time"

// The state of a fixed window:
//
//	0                        nobody has seen the key
//	end 40 | count 24        the millisecond in which the window ends, modulo 2^40, and what was admitted in it
//
// An end is told apart from others for 34 years; the eighth of them that lies ahead is time gone back.
const (
	fixedCountBits = 24
	fixedEndMod    = 1 << 40
	fixedBack      = fixedEndMod / 8
	maxFixed       = 1<<fixedCountBits - 1
)

var _ Steps = (*fixedSteps)(nil)

// fixedSteps counts in windows that follow each other.
type fixedSteps struct {
	limit    int64
	window   time.Duration
	first    bool
	calendar *calendar // nil: multiples of window since the epoch
}

// ms is an instant in whole milliseconds.
func ms(now Time) int64 { return int64(max(now, 0)) / int64(time.Millisecond) }

func packFixed(end, count int64) State {
	return State(end)&(fixedEndMod-1)<<fixedCountBits | State(min(count, maxFixed))
}

// unpackFixed gives the end of the window relative to now, in ms: 0 or less when it is over.
func unpackFixed(s State, now int64) (ahead, count int64) {
	ahead = (int64(s>>fixedCountBits) - now) & (fixedEndMod - 1)
	if ahead >= fixedBack {
		ahead -= fixedEndMod
	}
	return ahead, int64(s & maxFixed)
}

// msTime is the instant of a millisecond, at most the last whole one of Time.
func msTime(ms int64) Time {
	return Time(min(max(ms, 0), int64(Never)/int64(time.Millisecond)) * int64(time.Millisecond))
}

// end is the millisecond in which the window of now ends.
func (f *fixedSteps) end(now int64) int64 {
	w := f.window.Milliseconds()
	switch {
	case f.first:
		return now + w
	case f.calendar != nil:
		return f.calendar.end(now)
	}
	return now - now%w + w
}

// at is what s says at now: when its window ends and what is used of it, cut to full.
func (f *fixedSteps) at(s State, now, full int64) (end, count int64) {
	end = f.end(now)
	if s == 0 {
		return end, 0
	}
	ahead, count := unpackFixed(s, now)
	switch {
	case ahead <= 0:
		return end, 0
	case now+ahead <= end+skew.Milliseconds():
		end = now + ahead // of a window that another processor, slightly ahead, has opened: time back gives no credit
	}
	return end, min(count, full)
}

// Step implements Steps. A window that ends later than any that begins at now, because the clock was set back, is made
// the one of now with all its count: nobody is locked out for longer than a window and a minute.
func (f *fixedSteps) Step(s State, now Time, cost Cost, bound int64) (State, Decision) {
	n := ms(now)
	end, count := f.at(s, n, max(f.limit, bound))
	if int64(cost) > f.limit-count {
		if ahead, held := unpackFixed(s, n); s != 0 && ahead > 0 && (n+ahead != end || held != count) {
			s = packFixed(end, count)
		}
		return s, overLimit(f.limit, count, cost, msTime(end).Sub(max(now, 0)))
	}
	count += int64(cost)
	return packFixed(end, count), Decision{Remaining: f.limit - count}
}

// Undo implements Steps. A window keeps its end though all of its count is taken back. What was charged to a window that is
// over went with it.
func (f *fixedSteps) Undo(s, before, after State, _ Time) State {
	if s>>fixedCountBits != after>>fixedCountBits {
		return s
	}
	return s - min(s&maxFixed, fixedCharge(before, after))
}

// fixedCharge is what the step from before to after counted. Of a window that begins with the step, before says nothing.
func fixedCharge(before, after State) State {
	ahead, had := unpackFixed(before, int64(after>>fixedCountBits))
	if before == 0 || ahead < 0 {
		had = 0
	}
	count := after & maxFixed
	return count - min(count, State(had))
}

// DrainAt implements Steps: the end of the window.
func (f *fixedSteps) DrainAt(s State, now Time) Time {
	if s == 0 {
		return 0
	}
	n := ms(now)
	ahead, _ := unpackFixed(s, n)
	return msTime(n + ahead)
}

// Full implements Steps.
func (f *fixedSteps) Full() int64 { return f.limit }

package limitgate

import "time"

// A state that is a debt in time (Req, Token, Pace) is the theoretical arrival time (TAT): the nanosecond, since the
// epoch, at which everything that was charged is paid off.
//
//	TAT 64        0: nobody has seen the key; at most the end of Time, the year 2262
//
// A TAT that has passed says nothing, so forgetting it costs nothing. A step charges by moving max(TAT, now) ahead.

// stale is how old a request's time may be when it is decided about, because its goroutine had to wait for a processor. A
// debt that seems to be more than a full bucket by no more than this is told as it is: cut, it would be a credit to all
// those whose time is not old.
const stale = uint64(10 * time.Millisecond)

// undoDebt takes back what the step from before to after charged: the stretch of time from max(before, its now) to after.
// What has passed of it is gone. Nothing of what came behind it is taken.
func undoDebt(s, before, after State, now Time) State {
	if s == after {
		return before
	}
	n := State(max(now, 0))
	floor := max(before, n)
	if after <= floor || s <= n {
		return s
	}
	return s - min(after-floor, s-n)
}

// unpromise takes back what the step from before to after charged, as far as nobody was promised a turn after it: a later
// turn stands where it was promised, and the gap before it can't be given to another.
func unpromise(s, before, after State, now Time) State {
	if s <= after {
		return undoDebt(s, before, after, now)
	}
	given := after - min(max(before, State(max(now, 0))), after)
	later := s - after
	return s - (given - min(given, later))
}

package limitgate

import (
	"strconv"
	"time"
)

// Cost is how much of a limit a request takes; an ordinary one costs 1.
type Cost int64

// Outcome is what becomes of a request.
type Outcome uint8

// The outcomes, in order of severity.
const (
	Passed   Outcome = iota // goes on at once
	Delayed                 // goes on after Decision.Delay
	Rejected                // is refused, and was not charged
)

// String gives the outcome as nginx writes it: PASSED, DELAYED, REJECTED.
func (o Outcome) String() string {
	switch o {
	case Passed:
		return "PASSED"
	case Delayed:
		return "DELAYED"
	case Rejected:
		return "REJECTED"
	}
	return "Outcome(" + strconv.Itoa(int(o)) + ")"
}

// Excess is how far a key is ahead of its rate, in thousandths of a request.
type Excess int64

// String gives the excess in requests with three digits, as nginx logs it: "0.960".
func (e Excess) String() string { return string(e.Append(nil)) }

// Append writes what String gives behind b.
func (e Excess) Append(b []byte) []byte {
	u := uint64(e)
	if e < 0 {
		b, u = append(b, '-'), -u
	}
	b = strconv.AppendUint(b, u/1000, 10)
	f := u % 1000
	return append(b, '.', '0'+byte(f/100), '0'+byte(f/10%10), '0'+byte(f%10))
}

// Decision is what one limit says about one request. It is four words, and must be: a struct of so many is returned in
// registers, while a larger one goes through memory at every call, which takes as long as the arithmetic.
type Decision struct {
	Outcome Outcome

	// Wait goes with the Outcome: how long a Delayed request waits before it goes on, and how long a Rejected one until it may
	// come again, or NoRoom, or below that the mark of a Fallback. Delay, RetryAfter and the methods NoRoom and Fallback tell
	// these apart.
	Wait time.Duration

	// Excess is how far the key is ahead of its rate with this request. A Conn limit and a window tell by how many they
	// are over; a Pace counts bytes.
	Excess Excess

	// Remaining is how many more requests of cost 1 would be admitted right now, of a Pace how many bytes would go at once.
	// A refusal by a bucket of tokens or a window tells what a smaller request would find; by others it is 0.
	Remaining int64
}

// NoRoom is the Wait of a request that was Rejected because the zone had no place for one more key, not because of the limit.
const NoRoom time.Duration = -1

// Admitted tells whether the request goes on, now or after its delay.
func (d Decision) Admitted() bool { return d.Outcome < Rejected }

// Delay is how long a Delayed request waits before it goes on; 0 otherwise.
func (d Decision) Delay() time.Duration {
	if d.Outcome != Delayed {
		return 0
	}
	return max(d.wait(), 0)
}

// RetryAfter is how long a Rejected request has to wait until it would be admitted if nobody else asks. 0 when it was
// admitted, and when no such time exists: a Conn limit, a full zone, a cost that can never pass, contention.
func (d Decision) RetryAfter() time.Duration {
	if d.Outcome != Rejected {
		return 0
	}
	return max(d.wait(), 0)
}

// NoRoom tells whether the request was refused because the zone had no place for one more key, not because of the limit.
func (d Decision) NoRoom() bool { return d.Outcome == Rejected && d.Wait == NoRoom }

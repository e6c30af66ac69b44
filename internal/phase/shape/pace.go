package shape

import (
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// beats is how often in a second a response that is held sends: often enough that two seconds hold no more than 4 % above
// the rate, seldom enough that a response does not wake for each small piece.
const beats = 25

// maxRate is the highest rate that is one: nothing sends faster.
const maxRate = 100_000_000_000

// pace returns the limit of a rate. What may go at once is a slice of it, at least a byte, and as much again for a sender
// that wakes late or had nothing to send.
func pace(rate int64) (p limitgate.Pace, slice, spare int64) {
	slice, spare = max(rate/beats, 1), (rate+beats-1)/beats
	return limitgate.Pace{Rate: rate, Burst: slice + spare}, slice, spare
}

// take says how many of want bytes may be sent at now, and counts them. When none may, wait is how long until a useful
// number may. It reads and writes nothing but p.
func take(p *request.Pace, now limitgate.Time, want int64) (n int64, wait time.Duration) {
	if p.Rate <= 0 || p.Rate > maxRate {
		p.Sent += want
		return want, 0
	}
	if p.Sent < p.After {
		n = min(want, p.After-p.Sent)
		p.Sent += n
		return n, 0
	}
	limit, slice, spare := pace(p.Rate)
	switch {
	case !p.Held: // what is spare is for those who were late, and nobody was yet
		p.Held, p.State = true, limit.Account(0, now, spare)
	case now < p.Seen: // the clock steps back, and the debt with it
		p.State -= min(p.State, limitgate.State(p.Seen-now))
	}
	p.Seen = now
	if n, wait = limit.Check(p.State, now, want, slice); n > 0 {
		p.State = limit.Account(p.State, now, n)
		p.Sent += n
	}
	return n, wait
}

// count adds bytes that were sent without asking: a head, and framing.
func count(p *request.Pace, n int64) {
	limit, _, _ := pace(p.Rate)
	p.State = limit.Account(p.State, p.Seen, n)
	p.Sent += n
}

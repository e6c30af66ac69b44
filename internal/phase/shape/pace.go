package shape

import (
	"math"
	"math/bits"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// quantum is how much time of the rate may be sent in one go: short enough that two seconds hold no more than 4 % above
// the rate, long enough that a response wakes about 25 times a second and not for each piece.
const quantum = 40 * time.Millisecond

// burst is the time whose bytes may go at once: the quantum, or one byte's time where the rate is lower than that.
func burst(rate int64) time.Duration {
	return max(quantum, time.Duration((int64(time.Second)+rate-1)/rate))
}

// take says how many of want bytes may be sent at now, and counts them. When none may, wait is how long until a useful
// number may. It reads and writes nothing but p.
//
// What was sent since From is compared with what the rate gives for the time since then, in whole bytes, so that no
// rounding adds up. A sender that had nothing to send saves up no more than the burst and one quantum; a clock that steps back to
// before From gives nothing and begins again.
func take(p *request.Pace, now limitgate.Time, want int64) (n int64, wait time.Duration) {
	if p.Rate <= 0 {
		p.Sent += want
		return want, 0
	}
	if p.Sent < p.After {
		n = min(want, p.After-p.Sent)
		p.Sent += n
		return n, 0
	}
	most := burst(p.Rate)
	if !p.Held {
		p.Held, p.From, p.Mark = true, now.Add(-most), p.After
	}
	if now < p.From {
		p.From, p.Mark = now, p.Sent
	}
	saved := earned(p.Rate, now.Sub(p.From)) - (p.Sent - p.Mark)
	if limit := earned(p.Rate, most+quantum); saved > limit {
		p.From, p.Mark, saved = now.Add(-most-quantum), p.Sent, limit
	}
	if saved > 0 {
		n = min(want, saved)
		p.Sent += n
		return n, 0
	}
	// Woken for what it wants alone, a sender of small pieces would wake for each.
	piece := max(earned(p.Rate, most), 1)
	return 0, p.From.Add(costs(p.Rate, p.Sent-p.Mark+piece)).Sub(now)
}

// earned is how many whole bytes a rate gives for a time.
func earned(rate int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(rate), uint64(d))
	if hi >= uint64(time.Second) {
		return math.MaxInt64 / 2
	}
	n, _ := bits.Div64(hi, lo, uint64(time.Second))
	return int64(min(n, math.MaxInt64/2))
}

// costs is the time that a number of bytes takes at a rate, rounded up.
func costs(rate, n int64) time.Duration {
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n), uint64(time.Second))
	if hi >= uint64(rate) {
		return math.MaxInt64 / 2
	}
	d, rest := bits.Div64(hi, lo, uint64(rate))
	if rest > 0 {
		d++
	}
	return time.Duration(min(d, math.MaxInt64/2))
}

package top

import (
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

const (
	batch    = 512                   // calls that are looked at before the pace is judged
	tooFast  = 25 * time.Millisecond // for a batch: 20,000 a second
	tooSlow  = 4 * tooFast
	maxShift = 10
)

// pace keeps the calls that are looked at between 5,000 and 20,000 a second, or looks at all. Goroutines that judge at the same time
// may do so twice: the next batch mends it.
type pace struct {
	shift atomic.Uint32 // one in 1<<shift is looked at
	n     atomic.Uint32
	since atomic.Int64 // when the batch began
}

// note counts a call that is looked at.
func (p *pace) note(now limitgate.Time) {
	n := p.n.Add(1)
	took := now.Sub(limitgate.Time(p.since.Load()))
	if n < batch && took < tooSlow {
		return
	}
	p.n.Store(0)
	p.since.Store(int64(now))
	shift := p.shift.Load()
	switch {
	case n >= batch && took >= 0 && took < tooFast:
		p.shift.Store(min(shift+1, maxShift))
	default:
		for ; shift > 0 && took >= tooSlow; took /= 2 {
			shift--
		}
		p.shift.Store(shift)
	}
}

// chosen takes one time in 1<<shift, whatever the ticks of the clock are.
func chosen(now limitgate.Time, shift uint32) bool {
	const spread = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: neighbours go far apart
	x := uint64(now) * spread
	x ^= x >> 32
	return x*spread>>(64-shift) == 0
}

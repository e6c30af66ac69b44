package adaptive

import (
	"math"
	"time"

	"github.com/limitgate/limitgate"
)

// window is the requests that begin in some time, followed until nearly all of them have ended.
type window struct {
	serial uint32 // 0 before the first
	full   bool   // no more are let in

	from, until       limitgate.Time // in which they began
	begun             int64
	answered, dropped int64
	ignored           int64
	took              float64 // of the answered, in nanoseconds
	starts            float64 // of those that have not ended, counted from the beginning of the window
	peak              int64   // most requests at work at once, of all
}

const (
	enough   = 30 // requests that make a window
	nearly   = 10 // all but one in so many have ended
	patience = 5  // so many mean times are waited for them
	drops    = 10 // one drop in so many requests counts
)

// begin notes a request, as one of so many at work. It gives the serial of the window if that will follow it.
func (w *window) begin(c *Config, now limitgate.Time, inFlight int64) uint32 {
	if w.serial == 0 {
		w.next(now, 0)
	}
	w.peak = max(w.peak, inFlight)
	if w.full {
		return 0
	}
	w.begun++
	w.until = max(w.until, now)
	w.starts += float64(now.Sub(w.from))
	w.fill(c, now)
	return w.serial
}

// fill closes the window for new requests once it has some, and its time is over.
func (w *window) fill(c *Config, now limitgate.Time) {
	w.full = w.full || w.begun-w.ignored >= enough && now.Sub(w.from) >= c.Window
}

// end notes that a request of the window has ended.
func (w *window) end(began limitgate.Time, took time.Duration, o Outcome) {
	w.starts -= float64(began.Sub(w.from))
	switch o {
	case Answered:
		w.answered++
		w.took += float64(max(took, 1))
	case Dropped:
		w.dropped++
	default:
		w.ignored++
	}
}

// ended is how many have, of those that tell something.
func (w *window) ended() int64 { return w.answered + w.dropped }

// drops tells whether too much was dropped.
func (w *window) drops() bool { return w.dropped*drops >= w.ended() }

// open is how many have not.
func (w *window) open() int64 { return w.begun - w.ended() - w.ignored }

// mean is the time of a request: what all were at work until now, by those that were answered. 0: none was.
func (w *window) mean(now limitgate.Time) float64 {
	if w.answered == 0 {
		return 0
	}
	return (w.took + max(float64(w.open())*float64(now.Sub(w.from))-w.starts, 0)) / float64(w.answered)
}

// doubt is the standard error of the mean, as a part of it, were the times those of a memoryless server.
func (w *window) doubt() float64 { return 1 / math.Sqrt(float64(max(w.answered, 1))) }

// over tells whether the window has seen what it can. Some requests, such as streams, don't end in any useful time.
func (w *window) over(c *Config, now limitgate.Time) bool {
	w.fill(c, now)
	if !w.full || w.ended() == 0 {
		return false
	}
	open := w.open()
	if open*nearly <= w.begun {
		return true
	}
	return open*2 <= w.begun && float64(now.Sub(w.until)) > patience*w.mean(now)
}

// next begins the next one.
func (w *window) next(now limitgate.Time, inFlight int64) {
	serial := w.serial + 1
	if serial == 0 {
		serial = 1
	}
	*w = window{serial: serial, from: now, until: now, peak: inFlight}
}

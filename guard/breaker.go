package guard

import (
	"time"

	"github.com/limitgate/limitgate"
)

// Breaking says when calls are spared because they would fail, and when the store is tried again.
type Breaking struct {
	// Row is how many calls in a row fail before no more are made; 0 means 5.
	Row int

	// Share is how many of a hundred calls fail before no more are made, of those in one Window, if they are Least or more; 0
	// means 50, of 20 or more in 10s.
	Share  int
	Least  int
	Window time.Duration

	// First is how long nobody asks then, at most; each time the store is found failing again it is twice as long, up to Longest.
	// 0 means 200ms and 2s.
	First, Longest time.Duration

	// Width is how many calls may be under way at a time before all are let through again: one at first, twice as many with
	// each that succeeds. 0 means 64.
	Width int
}

// withDefaults fills in what is 0.
func (b Breaking) withDefaults() Breaking {
	or := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	or(&b.Row, 5)
	or(&b.Share, 50)
	or(&b.Least, 20)
	or(&b.Width, 64)
	for _, t := range []struct {
		at *time.Duration
		d  time.Duration
	}{{&b.Window, 10 * time.Second}, {&b.First, 200 * time.Millisecond}, {&b.Longest, 2 * time.Second}} {
		if *t.at <= 0 {
			*t.at = t.d
		}
	}
	return b
}

// Phase is how a store is asked.
type Phase uint8

// The phases.
const (
	Up     Phase = iota // all calls are made
	Down                // none but a probe, one at a time
	Rising              // a probe succeeded: more and more calls are made
)

// String names the phase.
func (p Phase) String() string { return [...]string{"up", "down", "rising"}[min(p, Rising)] }

// breaker is a state machine: it is told the time and what became of calls, and does nothing itself. Who calls it holds a lock.
type breaker struct {
	Breaking
	random  func() uint64 // spreads the tries of many instances
	watched bool          // somebody probes who is not a request

	phase Phase
	epoch uint64 // of the phase: what began in another one says nothing about it

	// up
	row           int
	since         limitgate.Time
	calls, failed int // since then

	// down
	until   limitgate.Time // nobody asks
	pause   time.Duration  // before the store is tried again
	probing bool

	// rising
	width, flying int
}

// ticket is the permission for one call.
type ticket struct {
	epoch uint64
}

// ask tells whether a call may be made at now; what became of it is told by tell, or drop.
func (b *breaker) ask(now limitgate.Time) (ticket, bool) {
	switch b.phase {
	case Down:
		if b.watched || !b.due(now) {
			return ticket{}, false
		}
		b.probing = true
	case Rising:
		if b.flying >= b.width {
			return ticket{}, false
		}
		b.flying++
	}
	return ticket{b.epoch}, true
}

// probe is ask for who watches the store: it may always call, unless a probe is under way or is not due.
func (b *breaker) probe(now limitgate.Time) (ticket, bool) {
	if b.phase == Down {
		if !b.due(now) {
			return ticket{}, false
		}
		b.probing = true
	} else if b.phase == Rising {
		b.flying++
	}
	return ticket{b.epoch}, true
}

// due tells whether the store may be tried again. A clock that was set back does not put it off for longer than a pause.
func (b *breaker) due(now limitgate.Time) bool {
	if b.until.Sub(now) > b.pause {
		b.until = now.Add(b.pause)
	}
	return !b.probing && now >= b.until
}

// drop takes back a ticket whose call says nothing about the store.
func (b *breaker) drop(t ticket) {
	if t.epoch != b.epoch {
		return
	}
	switch b.phase {
	case Down:
		b.probing = false
	case Rising:
		b.flying--
	}
}

// tell tells at now what became of a call, and answers whether the phase has changed.
func (b *breaker) tell(now limitgate.Time, t ticket, good bool) (changed bool) {
	if t.epoch != b.epoch {
		return false
	}
	was := b.phase
	switch b.phase {
	case Up:
		b.count(now, good)
	case Down:
		if b.probing = false; good {
			b.enter(Rising)
			b.width, b.flying = 1, 0
		} else {
			b.rest(now)
		}
	case Rising:
		b.flying--
		switch {
		case !good:
			b.enter(Down)
			b.rest(now)
		case b.width >= b.Width:
			b.enter(Up)
			b.row, b.since, b.calls, b.failed, b.pause = 0, now, 0, 0, 0
		default:
			b.width *= 2
		}
	}
	return b.phase != was
}

// count counts a call while all are made.
func (b *breaker) count(now limitgate.Time, good bool) {
	if since := now.Sub(b.since); since < 0 || since > b.Window {
		b.since, b.calls, b.failed = now, 0, 0
	}
	b.calls++
	if good {
		b.row = 0
		return
	}
	b.row++
	b.failed++
	if b.row >= b.Row || b.calls >= b.Least && b.failed*100 >= b.calls*b.Share {
		b.enter(Down)
		b.pause = 0
		b.rest(now)
	}
}

func (b *breaker) enter(p Phase) {
	b.phase = p
	b.epoch++
}

// rest sets when the store is tried again: after the pause less up to a quarter, so that many instances do not come at once.
func (b *breaker) rest(now limitgate.Time) {
	b.pause = min(max(2*b.pause, b.First), b.Longest)
	b.until = now.Add(b.pause - time.Duration(b.random()%uint64(b.pause/4+1)))
}

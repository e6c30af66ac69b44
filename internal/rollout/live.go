package rollout

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// Live is a rollout as requests see it: how much is enforced, and a window of what became of them. Requests read and add without a lock,
// from any goroutine; the other methods are of the owner. It outlives configurations, as the zones do.
type Live struct {
	now   func() limitgate.Time
	share atomic.Uint32
	open  atomic.Pointer[slot] // that requests add to: one of the ring

	mu    sync.Mutex // guards what follows
	ring  [spans + 2]slot
	at    int            // of open in ring
	since limitgate.Time // when open was opened; 0: not yet
	past  [2]Tally       // what left the ring
	base  [2]uint64      // requests of each side before Restart
}

// spans is in how many pieces the window moves on.
const spans = 12

// slot is a piece of the window. Beside those of the window there are the one that is filled and one more: who met a slot just before it
// was closed may still add to it.
type slot [2]struct {
	requests, refused, answers, errors, timed atomic.Uint32

	times [buckets]atomic.Uint32
}

// NewLive makes one that enforces nothing and has seen nothing. now tells the end of a request.
func NewLive(now func() limitgate.Time) *Live {
	l := &Live{now: now}
	l.open.Store(&l.ring[0])
	return l
}

// Share is how much is enforced.
func (l *Live) Share() Share { return Share(l.share.Load()) }

// Enforce sets how much is.
func (l *Live) Enforce(s Share) { l.share.Store(uint32(s)) }

// Part is what one request is to a rollout.
type Part struct {
	live    *Live
	side    Side
	refused [2]bool // by limits of each side; of the watched: would have been
}

// Begin is the part of a request that a limit of the rollout was asked about.
func (l *Live) Begin(s Side, refused bool) Part {
	p := Part{live: l, side: s}
	p.refused[s] = refused
	return p
}

// Join adds another part of the same request, if it is of the same rollout: of another limit, for another key. Who is enforced once is
// enforced.
func (p *Part) Join(o Part) bool {
	if p.live != o.live {
		return false
	}
	p.side = max(p.side, o.side)
	for s := range p.refused {
		p.refused[s] = p.refused[s] || o.refused[s]
	}
	return true
}

// End is how a request ended.
type End struct {
	Begun  limitgate.Time
	Status int
	Barred bool // a limit refused it, of the rollout or not
}

// End counts the request, once.
func (p *Part) End(e *End) {
	c := &p.live.open.Load()[p.side]
	c.requests.Add(1)
	switch {
	case p.refused[p.side]:
		c.refused.Add(1)
		return
	case p.refused[Watched] || e.Barred: // it is not of the kind of those whose answers are compared
		return
	}
	c.answers.Add(1)
	if e.Status >= 500 && e.Status <= 599 {
		c.errors.Add(1)
	}
	if e.Status != 101 {
		c.timed.Add(1)
		c.times[bucketOf(p.live.now().Sub(e.Begun))].Add(1)
	}
}

// Sample is what was seen of both sides.
type Sample struct {
	Enforced, Watched Tally         // within the window
	Step              [2]uint64     // requests of each side since the last Restart
	Window            time.Duration // how long the window is
}

// Turn moves the window on to now, and returns what was seen in it. The window is as long as told, or up to a twelfth longer.
func (l *Live) Turn(now limitgate.Time, window time.Duration) (s Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	piece := limitgate.Time(max(window/spans, 1))
	if l.since == 0 || now < l.since { // a clock that went back begins the piece anew
		l.since = now
	}
	for n := min((now-l.since)/piece, limitgate.Time(len(l.ring))); n > 0; n-- {
		l.next()
	}
	l.since += (now - l.since) / piece * piece
	sums := l.sum(spans + 1)
	s.Watched, s.Enforced, s.Window = sums[Watched], sums[Enforced], window
	all := l.totals()
	for side := range s.Step {
		s.Step[side] = all[side].Requests - l.base[side]
	}
	return s
}

// next opens the slot that was closed for the longest. What it held belongs to the past.
func (l *Live) next() {
	next := (l.at + 1) % len(l.ring)
	l.drain(next)
	l.at = next
	l.open.Store(&l.ring[next])
}

// drain takes what a slot holds into the past; what is added meanwhile is counted then or later, and never twice.
func (l *Live) drain(i int) {
	for side := range l.ring[i] {
		c := &l.ring[i][side]
		t := Tally{
			Requests: uint64(c.requests.Swap(0)), Refused: uint64(c.refused.Swap(0)), Answers: uint64(c.answers.Swap(0)),
			Errors: uint64(c.errors.Swap(0)), Timed: uint64(c.timed.Swap(0)),
		}
		for b := range c.times {
			t.times[b] = uint64(c.times[b].Swap(0))
		}
		l.past[side].add(&t)
	}
}

// sum adds up the last n slots, the open one first.
func (l *Live) sum(n int) (sums [2]Tally) {
	for i := range n {
		s := &l.ring[(l.at-i+len(l.ring))%len(l.ring)]
		for side := range s {
			c := &s[side]
			t := Tally{
				Requests: uint64(c.requests.Load()), Refused: uint64(c.refused.Load()), Answers: uint64(c.answers.Load()),
				Errors: uint64(c.errors.Load()), Timed: uint64(c.timed.Load()),
			}
			for b := range c.times {
				t.times[b] = uint64(c.times[b].Load())
			}
			sums[side].add(&t)
		}
	}
	return sums
}

// totals is all that was ever seen.
func (l *Live) totals() [2]Tally {
	all := l.sum(len(l.ring))
	for side := range all {
		all[side].add(&l.past[side])
	}
	return all
}

// Totals is all that was ever seen, by side: it only grows.
func (l *Live) Totals() [2]Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.totals()
}

// Restart empties the window: another share holds from now on.
func (l *Live) Restart(now limitgate.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ring {
		l.drain(i)
	}
	l.since = now
	for side := range l.base {
		l.base[side] = l.past[side].Requests
	}
}

package rollout

import (
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

const t0 = limitgate.Time(1_772_366_400_000_000_000)

// clock is a time that a test moves.
type clock struct{ now limitgate.Time }

func (c *clock) Now() limitgate.Time { return c.now }

// answer ends requests of a side with a status after a time.
func answer(l *Live, c *clock, s Side, n, status int, took time.Duration) {
	for range n {
		p := l.Begin(s, false)
		p.End(&End{Begun: c.now.Add(-took), Status: status})
	}
}

func TestWindow(t *testing.T) {
	c := &clock{t0}
	l := NewLive(c.Now)
	l.Restart(c.now)
	for i := range 120 {
		answer(l, c, Enforced, 10, 200, time.Millisecond)
		answer(l, c, Watched, 1, 500, time.Millisecond)
		c.now = c.now.Add(time.Second)
		s := l.Turn(c.now, time.Minute)
		seconds := uint64(i + 1)
		if s.Step != [2]uint64{seconds, 10 * seconds} {
			t.Fatalf("after %ds: got %v requests since the beginning", seconds, s.Step)
		}
		// A minute, and up to a twelfth of it more.
		if low, high := min(seconds, 60), min(seconds, 65); s.Enforced.Requests < 10*low || s.Enforced.Requests > 10*high || s.Watched.Errors < low || s.Watched.Errors > high {
			t.Fatalf("after %ds: got %d requests and %d errors, want those of %d to %d s", seconds, s.Enforced.Requests, s.Watched.Errors, low, high)
		}
	}
	if all := l.Totals(); all[Enforced].Requests != 1200 || all[Watched].Errors != 120 || all[Enforced].Timed != 1200 {
		t.Errorf("in all: got %d, %d and %d", all[Enforced].Requests, all[Watched].Errors, all[Enforced].Timed)
	}
	l.Restart(c.now)
	if s := l.Turn(c.now, time.Minute); s.Enforced.Requests+s.Watched.Requests != 0 || s.Step != [2]uint64{} {
		t.Errorf("after a restart: got %+v", s.Step)
	}
	if all := l.Totals(); all[Enforced].Requests != 1200 {
		t.Errorf("in all after a restart: got %d", all[Enforced].Requests)
	}
}

// A window that was not moved for hours, and a clock that goes back, leave nothing old in it.
func TestWindowOverJumps(t *testing.T) {
	c := &clock{t0}
	l := NewLive(c.Now)
	l.Turn(c.now, time.Minute)
	answer(l, c, Enforced, 7, 200, 0)
	if s := l.Turn(c.now.Add(-time.Hour), time.Minute); s.Enforced.Requests != 7 {
		t.Errorf("a clock that went back: got %d requests, want 7", s.Enforced.Requests)
	}
	if s := l.Turn(c.now.Add(10*time.Hour), time.Minute); s.Enforced.Requests != 0 {
		t.Errorf("hours later: got %d requests, want 0", s.Enforced.Requests)
	}
}

func TestWhatAPartCounts(t *testing.T) {
	c := &clock{t0}
	l := NewLive(c.Now)
	end := func(p Part, e End) { e.Begun = c.now; p.End(&e) }
	end(l.Begin(Enforced, true), End{Status: 503, Barred: true})  // refused by the rollout
	end(l.Begin(Enforced, false), End{Status: 503, Barred: true}) // by another limit
	end(l.Begin(Enforced, false), End{Status: 502})               // an error of the backend
	end(l.Begin(Enforced, false), End{Status: 101})               // a tunnel
	end(l.Begin(Watched, true), End{Status: 200})                 // would have been refused
	end(l.Begin(Watched, false), End{Status: 499})                // left
	joined := l.Begin(Watched, true)
	joined.Join(l.Begin(Enforced, false))
	end(joined, End{Status: 200}) // enforced for one key, and would have been refused for another
	s := l.Turn(c.now, time.Minute)
	type figures struct{ requests, refused, answers, errors, timed uint64 }
	for _, side := range []struct {
		name string
		is   Tally
		want figures
	}{{"enforced", s.Enforced, figures{5, 1, 2, 1, 1}}, {"watched", s.Watched, figures{2, 1, 1, 0, 1}}} {
		if got := (figures{side.is.Requests, side.is.Refused, side.is.Answers, side.is.Errors, side.is.Timed}); got != side.want {
			t.Errorf("%s: got %+v, want %+v", side.name, got, side.want)
		}
	}
}

// A time is told up to a sixteenth too long, and never too short.
func TestQuantiles(t *testing.T) {
	for _, took := range []time.Duration{0, time.Millisecond, 15 * time.Millisecond, 16 * time.Millisecond, 17 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, 999 * time.Millisecond, time.Second, time.Minute, 2 * time.Minute} {
		var tally Tally
		tally.Timed, tally.times[bucketOf(took)] = 1, 1
		if got := tally.Quantile(Whole / 2); got <= took || got > took+took/16+2*time.Millisecond {
			t.Errorf("%v: got %v", took, got)
		}
		if tally.slower(took) != 0 || took >= 100*time.Millisecond && tally.slower(took-took/15) != 1 {
			t.Errorf("%v: %d are slower, %d than %v", took, tally.slower(took), tally.slower(took-took/15), took-took/15)
		}
	}
	var tally Tally
	for i := range 1000 {
		tally.Timed++
		tally.times[bucketOf(time.Duration(i)*time.Millisecond)]++
	}
	for q, want := range map[Share]time.Duration{Whole / 2: 500, Whole / 10 * 9: 900, Whole / 100 * 99: 990} {
		if got := tally.Quantile(q); got < want*time.Millisecond || got > want*17/16*time.Millisecond {
			t.Errorf("%s: got %v, want %v", q, got, want*time.Millisecond)
		}
	}
	if bucketOf(time.Hour) != buckets-1 || bucketOf(-time.Second) != 0 {
		t.Error("times beyond the ends of the histogram are not at its ends")
	}
}

// Nothing is lost and nothing counted twice while the window moves.
func TestCountingIsExact(t *testing.T) {
	c := &clock{t0}
	l := NewLive(c.Now)
	const workers, each = 4, 20_000
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				p := l.Begin(Enforced, false)
				p.End(&End{Begun: t0, Status: 500})
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }() // owned by the test, ends with the workers
	now := t0
	for moving := true; moving; {
		select {
		case <-done:
			moving = false
		default:
		}
		now = now.Add(time.Second)
		l.Turn(now, 3*time.Second)
	}
	if all := l.Totals()[Enforced]; all.Requests != workers*each || all.Errors != workers*each || all.Timed != workers*each {
		t.Errorf("got %d requests, %d errors, %d times, want %d", all.Requests, all.Errors, all.Timed, workers*each)
	}
}

func TestCountingLeavesNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	c := &clock{t0}
	l := NewLive(c.Now)
	if n := testing.AllocsPerRun(100, func() {
		p := l.Begin(Enforced, false)
		p.End(&End{Begun: t0, Status: 200})
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkPart(b *testing.B) {
	c := &clock{t0}
	l := NewLive(c.Now)
	e := End{Begun: t0, Status: 200}
	for b.Loop() {
		p := l.Begin(Enforced, false)
		p.End(&e)
	}
}

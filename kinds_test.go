package limitgate_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// kind is a limit that is full after three requests at once; long is the longest time after which another one passes, whatever
// the clock did.
type kind struct {
	name  string
	limit limitgate.Algorithm
	long  time.Duration
}

// kinds are limits of every kind in time. Conn knows none.
func kinds() []kind {
	minute, step := limitgate.PerMinute(1), 61*time.Second // what a window takes for the clock of another processor
	return []kind{
		{"req", limitgate.Req{Rate: minute, Burst: 2, NoDelay: true}, 3 * time.Minute},
		{"nginx", limitgate.Req{Rate: minute, Burst: 2, NoDelay: true, Arithmetic: limitgate.Nginx}, 4 * time.Minute},
		{"token", limitgate.Token{Rate: minute, Capacity: 3}, 3 * time.Minute},
		{"sliding", limitgate.Count{Limit: 3, Window: time.Minute}, 2*time.Minute + step},
		{"fixed", limitgate.Count{Limit: 3, Window: time.Minute, Windowing: limitgate.Fixed}, time.Minute + step},
		{"first", limitgate.Count{Limit: 3, Window: time.Minute, Windowing: limitgate.Fixed, First: true}, time.Minute + step},
		{"days", limitgate.Count{Limit: 3, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: time.UTC}, 24*time.Hour + step},
		{"log", limitgate.Count{Limit: 3, Window: time.Minute, Windowing: limitgate.Log}, time.Minute + step},
		{"pace", limitgate.Pace{Rate: 1, Burst: 2, Queue: time.Second}, 3 * time.Second},
	}
}

// full makes a limiter on a zone of its own and fills a key at an instant.
func full(t *testing.T, a limitgate.Algorithm, at limitgate.Time) *limitgate.Limiter {
	t.Helper()
	l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), a)
	for i := range 4 {
		if d, err := l.TakeAt(context.Background(), at, "k", 1); err != nil || d.Admitted() != (i < 3) {
			t.Fatalf("request %d at %d: %+v %v", i, at, d, err)
		}
	}
	return l
}

// TestClocks: a step back is no credit and locks nobody out, a step ahead and idle years leave nothing behind, time may stand
// in fractions of a millisecond, before the epoch or at the end of its range.
func TestClocks(t *testing.T) {
	ctx := context.Background()
	noon := t0.Add(12*time.Hour + 123_456*time.Nanosecond)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			take := func(l *limitgate.Limiter, at limitgate.Time) limitgate.Decision {
				d, err := l.TakeAt(ctx, at, "k", 1)
				if err != nil || d.Outcome == limitgate.Rejected && d.RetryAfter() <= 0 {
					t.Errorf("at %d: %+v %v", at, d, err)
				}
				return d
			}
			for _, back := range []time.Duration{time.Nanosecond, time.Millisecond, time.Second, time.Minute, time.Hour, 5 * time.Hour, 300 * time.Hour} {
				l := full(t, k.limit, noon)
				now := noon.Add(-back)
				if d := take(l, now); d.Admitted() {
					t.Errorf("%v back: admitted %+v", back, d)
				}
				if k.name == "nginx" && back > time.Minute {
					continue // bit for bit: until the clock is where it was, a refused request leaves the old time in place
				}
				if d := take(l, now.Add(k.long+min(back, time.Minute))); !d.Admitted() {
					t.Errorf("%v back, and %v later: %+v", back, k.long, d)
				}
			}
			for _, ahead := range []time.Duration{25 * time.Hour, 100 * time.Hour, 3653 * 24 * time.Hour} {
				l := full(t, k.limit, noon)
				for i := range 4 {
					if d := take(l, noon.Add(ahead)); d.Admitted() != (i < 3) {
						t.Errorf("%v later, request %d: %+v", ahead, i, d)
					}
				}
			}
			for _, at := range []limitgate.Time{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64} {
				full(t, k.limit, at)
			}
		})
	}
}

// TestCostsThatNeverPass: they are refused without a time after which to come again, and change nothing.
func TestCostsThatNeverPass(t *testing.T) {
	ctx := context.Background()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), k.limit)
			for i := range 4 {
				for _, cost := range []limitgate.Cost{4, 1000, 1 << 40, math.MaxInt64} {
					if k.name == "pace" {
						cost = max(cost, 5) // a write goes when those before it are paid off
					}
					if d, err := l.TakeAt(ctx, t0, "k", cost); err != nil || d.Outcome != limitgate.Rejected || d.RetryAfter() != 0 || d.NoRoom() {
						t.Errorf("cost %d after %d: %+v %v", cost, i, d, err)
					}
				}
				if d, err := l.TakeAt(ctx, t0, "k", 1); err != nil || d.Admitted() != (i < 3) {
					t.Errorf("request %d: %+v %v", i, d, err)
				}
			}
		})
	}
}

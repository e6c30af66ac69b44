package admit

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/memzone"
)

// limits are the two limits most tests ask: 1 a second with some that wait, and two places.
func limits(t testing.TB) (req, conn *limitgate.Limiter) {
	t.Helper()
	return limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 3}), limiter(t, limitgate.Conn{Limit: 2})
}

func limiter(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// begin counts a piece of work for one key by all limits.
func begin(g *Gate, key string) *Visit {
	v := g.Visit()
	for i := range g.conns {
		v.Count(i, append(v.Key(), key...), 1)
	}
	return v
}

func remaining(t *testing.T, l *limitgate.Limiter, key string) int64 {
	t.Helper()
	d, err := l.CheckAt(t.Context(), limitgate.Now(), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return 0
	}
	return d.Remaining + 1
}

func TestAskWaitsForTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, conn := limits(t)
		g := New(Config{Limiters: []*limitgate.Limiter{req, conn}})
		for i := range 3 {
			start := time.Now()
			v := begin(g, "k")
			a := v.Ask(t.Context())
			want := time.Duration(min(i, 1)) * time.Second
			if took := time.Since(start); a.Refused || took != want || a.Delay() != want {
				t.Errorf("%d: got %+v after %v, want it to go on after %v", i, a, took, want)
			}
			if err := v.End(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if got := remaining(t, conn, "k"); got != 2 {
			t.Errorf("places free at the end: got %d, want 2", got)
		}
	})
}

func TestDeadlineBeforeTheTurnIsRefusedAtOnce(t *testing.T) {
	for name, wait := range map[string]time.Duration{"context": 0, "Wait": 700 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				req, conn := limits(t)
				g := New(Config{Limiters: []*limitgate.Limiter{req, conn}, Wait: wait})
				begin(g, "k").Ask(t.Context())
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if wait == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), 700*time.Millisecond)
				}
				defer cancel()
				start, before := time.Now(), remaining(t, req, "k")
				v := begin(g, "k")
				a := v.Ask(ctx)
				if !a.Refused || a.RetryAfter() != 300*time.Millisecond || time.Since(start) != 0 || a.Err != nil || a.Limit != 0 {
					t.Errorf("got %+v after %v, want a refusal at once with 300ms to go", a, time.Since(start))
				}
				if err := v.End(ctx); err != nil {
					t.Error(err)
				}
				if got := remaining(t, req, "k"); got != before {
					t.Errorf("remaining: got %d, want %d: the charge is given back", got, before)
				}
				// Who comes back when it was told to has its turn in time.
				time.Sleep(a.RetryAfter())
				ctx, cancel = context.WithTimeout(t.Context(), 700*time.Millisecond)
				defer cancel()
				if a := begin(g, "k").Ask(ctx); a.Refused {
					t.Errorf("after the time to retry: got %+v, want it to go on", a)
				}
			})
		})
	}
}

func TestWhoLeavesGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, conn := limits(t)
		g := New(Config{Limiters: []*limitgate.Limiter{req, conn}})
		begin(g, "k").Ask(t.Context())
		before := remaining(t, req, "k")
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("gone")
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		a := begin(g, "k").Ask(ctx)
		if !a.Refused || !a.Left || !errors.Is(a.Err, why) {
			t.Errorf("got %+v, want one that left", a)
		}
		if got := remaining(t, req, "k"); got != before {
			t.Errorf("remaining: got %d, want %d", got, before)
		}
	})
}

// Who leaves does not have two others go on in one turn, and what it was charged by a limit without turns is given back whole.
func TestWhoLeavesKeepsTurnsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, token := limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9}), limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 9})
		g := New(Config{Limiters: []*limitgate.Limiter{req, token}})
		begin(g, "k").Ask(t.Context())
		start := time.Now()
		turn := func(ctx context.Context, want time.Duration) {
			a := begin(g, "k").Ask(ctx)
			if took := time.Since(start); took != want || a.Refused != (ctx != t.Context()) {
				t.Errorf("got %+v after %v, want it after %v", a, took, want)
			}
		}
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { turn(ctx, 500*time.Millisecond) })
		synctest.Wait()
		all.Go(func() { turn(t.Context(), 2*time.Second) })
		time.Sleep(500 * time.Millisecond)
		cancel()
		synctest.Wait()
		all.Go(func() { turn(t.Context(), 3*time.Second) })
		all.Wait()
		if got := remaining(t, token, "k"); got != 6 {
			t.Errorf("the limit without turns: got %d left, want 6", got)
		}
	})
}

func TestPlacesRefusedGiveBackTheCharge(t *testing.T) {
	for _, dry := range []bool{false, true} {
		req, conn := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 10}), limiter(t, limitgate.Conn{Limit: 2})
		g := New(Config{Limiters: []*limitgate.Limiter{conn, req}, DryRun: dry})
		begin(g, "k").Ask(t.Context())
		begin(g, "k").Ask(t.Context())
		v := begin(g, "k")
		a := v.Ask(t.Context())
		if a.Refused == dry || a.Outcome != limitgate.Rejected || a.Limit != 0 {
			t.Errorf("dry run %v: got %+v, want a refusal by limit 0", dry, a)
		}
		if err := v.End(t.Context()); err != nil {
			t.Error(err)
		}
		if got := remaining(t, req, "k"); got != 8 {
			t.Errorf("dry run %v: remaining: got %d, want 8", dry, got)
		}
	}
}

func TestGiveBackIsOfOneLimit(t *testing.T) {
	a, b := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}), limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5})
	g := New(Config{Limiters: []*limitgate.Limiter{a, b}})
	v := g.Visit()
	v.Count(0, append(v.Key(), "k"...), 2)
	v.Count(1, append(v.Key(), "k"...), 3)
	if got := v.Ask(t.Context()); got.Refused {
		t.Fatal(got)
	}
	for range 2 { // the second time there is nothing left to give
		if err := v.GiveBack(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	if x, y := remaining(t, a, "k"), remaining(t, b, "k"); x != 3 || y != 5 {
		t.Errorf("remaining: got %d and %d, want 3 and 5", x, y)
	}
}

func TestCancelGivesBackAll(t *testing.T) {
	req, conn := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}), limiter(t, limitgate.Conn{Limit: 2})
	v := begin(New(Config{Limiters: []*limitgate.Limiter{req, conn}}), "k")
	if a := v.Ask(t.Context()); a.Refused {
		t.Fatal(a)
	}
	if err := v.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	if x, y := remaining(t, req, "k"), remaining(t, conn, "k"); x != 5 || y != 2 {
		t.Errorf("remaining: got %d and %d, want 5 and 2", x, y)
	}
}

func TestNothingAppendedTakesNoPart(t *testing.T) {
	a, b := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}), limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5})
	g := New(Config{Limiters: []*limitgate.Limiter{a, b}})
	v := g.Visit()
	v.Count(0, v.Key(), 1)
	v.Count(1, append(v.Key(), "free"...), 0)
	if got := v.Ask(t.Context()); got.Refused || got.Limit != -1 || got.Leg != -1 {
		t.Errorf("got %+v, want that nobody was asked", got)
	}
	v.Count(0, append(v.Key(), "k"...), 1)
	v.Ask(t.Context())
	if got := remaining(t, a, "k"); got != 4 {
		t.Errorf("remaining: got %d, want 4: the key holds nothing of what took no part", got)
	}
}

// broken is a zone that can't decide.
type broken struct{ limitgate.Zone }

var errBroken = errors.New("broken")

func (broken) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return limitgate.Decision{}, limitgate.Charge{}, errBroken
}

func TestZoneThatCantDecide(t *testing.T) {
	for _, kind := range []limitgate.Algorithm{limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 1}, limitgate.Conn{Limit: 1}} {
		bad, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, kind)
		if err != nil {
			t.Fatal(err)
		}
		req, conn := limits(t)
		for _, open := range []bool{false, true} {
			g := New(Config{Limiters: []*limitgate.Limiter{req, bad, conn}, FailOpen: open})
			key := map[bool]string{false: "closed", true: "open"}[open]
			v := begin(g, key)
			a := v.Ask(t.Context())
			if a.Refused == open || !errors.Is(a.Err, errBroken) {
				t.Errorf("%v, fail open %v: got %+v", kind.Kind(), open, a)
			}
			if err := v.End(t.Context()); err != nil {
				t.Error(err)
			}
			if got := remaining(t, conn, key); got != 2 {
				t.Errorf("%v, fail open %v: %d places are free, want 2", kind.Kind(), open, got)
			}
			if got := remaining(t, req, key); !open && got != 4 {
				t.Errorf("%v: remaining %d, want 4: what is not decided is not charged", kind.Kind(), got)
			}
		}
	}
}

func TestDryRunWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		req, conn := limits(t)
		g := New(Config{Limiters: []*limitgate.Limiter{req, conn}, DryRun: true, Wait: time.Minute})
		start := time.Now()
		for _, want := range []limitgate.Outcome{limitgate.Passed, limitgate.Delayed, limitgate.Rejected, limitgate.Rejected} {
			if a := begin(g, "k").Ask(t.Context()); a.Refused || a.Outcome != want {
				t.Errorf("got %+v, want %v and to go on", a, want)
			}
		}
		if time.Since(start) != 0 {
			t.Errorf("it took %v", time.Since(start))
		}
	})
}

// TestPassingAllocatesNothing: with any limits, a context as a server has it, and what is given back.
func TestPassingAllocatesNothing(t *testing.T) {
	token := limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 30}
	g := New(Config{Limiters: []*limitgate.Limiter{limiter(t, token), limiter(t, limitgate.Conn{Limit: 5}), limiter(t, token)}, Wait: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(1000, func() {
		v := begin(g, "192.0.2.1")
		if a := v.Ask(ctx); a.Refused {
			t.Fatal(a)
		}
		if err := errors.Join(v.GiveBack(ctx, 0), v.End(ctx)); err != nil {
			t.Fatal(err)
		}
	}); n > 0 && !racing.Detector {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestDescribe(t *testing.T) {
	for want, a := range map[string]limitgate.Algorithm{
		"at most 10 at once":        limitgate.Conn{Limit: 10},
		"5r/s, burst 3":             limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 3},
		"10r/m, at most 20 at once": limitgate.Token{Rate: limitgate.PerMinute(10), Capacity: 20},
		"7 in 1h0m0s":               limitgate.Count{Limit: 7, Window: time.Hour},
		"too much":                  limitgate.Pace{Rate: 1000},
	} {
		if got := Describe(a); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package admit

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

func TestPlacesAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Limiters: []*limitgate.Limiter{limiter(t, limitgate.Conn{Limit: 1})}, Wait: time.Minute})
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				v := begin(g, "k")
				a := v.Ask(t.Context())
				if want := time.Duration(i) * 3 * time.Second; a.Refused || a.Delay() > want || a.Delay() < want-4*time.Millisecond {
					t.Errorf("%d: got %+v, want it to wait about %v", i, a, want)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(3 * time.Second)
				if err := v.End(t.Context()); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
		if len(g.queues.waiting) != 0 || g.queues.some.Load() != 0 {
			t.Errorf("queues are left: %v", g.queues.waiting)
		}
	})
}

func TestNobodyWaitsLongerThanSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Limiters: []*limitgate.Limiter{limiter(t, limitgate.Conn{Limit: 1})}, Wait: time.Second})
		begin(g, "k").Ask(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				start := time.Now()
				a := begin(g, "k").Ask(t.Context())
				if took := time.Since(start); !a.Refused || a.Left || a.Limit != 0 || took != time.Second {
					t.Errorf("got %+v after %v, want a refusal after 1s", a, took)
				}
			})
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			a := begin(g, "k").Ask(ctx)
			if took := time.Since(start); !a.Refused || took != 300*time.Millisecond {
				t.Errorf("got %+v after %v, want a refusal after 300ms", a, took)
			}
		})
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(200*time.Millisecond, cancel)
			start := time.Now()
			a := begin(g, "k").Ask(ctx)
			if took := time.Since(start); !a.Refused || !a.Left || took != 200*time.Millisecond {
				t.Errorf("got %+v after %v, want one that left after 200ms", a, took)
			}
		})
		all.Wait()
		if a := begin(g, "other").Ask(t.Context()); a.Refused {
			t.Errorf("another key: got %+v", a)
		}
	})
}

// A place that is given back through another gate on the zone is found too.
func TestPlacesGivenBackElsewhereAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := memzone.New(memzone.Config{})
		gates := [2]*Gate{}
		for i := range gates {
			l, err := limitgate.NewLimiter(z, limitgate.Conn{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			gates[i] = New(Config{Limiters: []*limitgate.Limiter{l}, Wait: time.Minute})
		}
		v := begin(gates[0], "k")
		v.Ask(t.Context())
		time.AfterFunc(time.Second, func() { v.End(t.Context()) })
		start := time.Now()
		a := begin(gates[1], "k").Ask(t.Context())
		if took := time.Since(start); a.Refused || took < time.Second || took > time.Second+again {
			t.Errorf("got %+v after %v, want the place within %v after 1s", a, took, again)
		}
	})
}

// Work that needs two places waits for one and then for the other, and what waits for the first meanwhile gets it.
func TestTwoPlacesAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Limiters: []*limitgate.Limiter{limiter(t, limitgate.Conn{Limit: 1}), limiter(t, limitgate.Conn{Limit: 1})}, Wait: time.Minute})
		hold := func(limit int, d time.Duration) {
			v := g.Visit()
			v.Count(limit, append(v.Key(), 'k'), 1)
			if a := v.Ask(t.Context()); a.Refused {
				t.Errorf("limit %d: got %+v", limit, a)
			}
			time.Sleep(d)
			v.End(t.Context())
		}
		// A place that is given back at the instant of a look may be found by the next one.
		var all sync.WaitGroup
		all.Go(func() { hold(0, time.Second) })
		all.Go(func() { hold(1, 3*time.Second) })
		synctest.Wait()
		start := time.Now()
		all.Go(func() {
			v := begin(g, "k")
			a := v.Ask(t.Context())
			if took := time.Since(start); a.Refused || took < 3*time.Second || took > 3*time.Second+again {
				t.Errorf("both: got %+v after %v, want 3s, or one look more", a, took)
			}
			v.End(t.Context())
		})
		synctest.Wait()
		all.Go(func() {
			hold(0, time.Second)
			if took := time.Since(start); took < 2*time.Second || took > 2*time.Second+again {
				t.Errorf("the first alone: done after %v, want 2s, or one look more", took)
			}
		})
		all.Wait()
	})
}

// TestPlacesUnderLoad: never more at work than there are places, all come through, and nothing is left behind.
func TestPlacesUnderLoad(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 3})
	g := New(Config{Limiters: []*limitgate.Limiter{conn}, Wait: time.Minute})
	var working, most atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 500 {
				v := begin(g, "k")
				if a := v.Ask(t.Context()); a.Refused {
					t.Errorf("got %+v", a)
					return
				}
				n := working.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				working.Add(-1)
				if err := v.End(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := most.Load(); got > 3 {
		t.Errorf("got %d at work at once, want at most 3", got)
	}
	if got := remaining(t, conn, "k"); got != 3 || g.queues.some.Load() != 0 {
		t.Errorf("got %d places free and %d waiting, want 3 and 0", got, g.queues.some.Load())
	}
}

// Those who may wait as long as there is time do, and sooner deadlines hold beside it.
func TestTheLongestWaitThereIs(t *testing.T) {
	for name, wait := range map[string]time.Duration{"of the gate": math.MaxInt64, "of the context": time.Hour * 24 * 365 * 250} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, req := limiter(t, limitgate.Conn{Limit: 1}), limiter(t, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 5})
				far, cancel := context.WithDeadline(t.Context(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
				defer cancel()
				g := New(Config{Limiters: []*limitgate.Limiter{conn}, Wait: wait})
				first := begin(g, "k")
				first.Ask(far)
				time.AfterFunc(time.Minute, func() { _ = first.End(far) })
				start := time.Now()
				if a := begin(g, "k").Ask(far); a.Refused || time.Since(start) > time.Minute+again {
					t.Errorf("got %+v after %v, want the place after a minute", a, time.Since(start))
				}
				turns := New(Config{Limiters: []*limitgate.Limiter{req}, Wait: wait})
				begin(turns, "k").Ask(far)
				soon, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start = time.Now()
				if a := begin(turns, "k").Ask(soon); !a.Refused || a.Left || time.Since(start) != 0 {
					t.Errorf("got %+v after %v, want a refusal at once: the turn is in a minute", a, time.Since(start))
				}
			})
		})
	}
}

// A key function that has nobody to count may give nothing at all, whatever stands before its key.
func TestNoKeyAtAllTakesNoPart(t *testing.T) {
	req, conn := limits(t)
	g := New(Config{Limiters: []*limitgate.Limiter{req, conn}})
	v := g.Visit()
	v.Count(0, append(v.Key(), 'k'), 1)
	if v.Count(1, nil, 1) {
		t.Error("a limit without a key takes part")
	}
	if a := v.Ask(t.Context()); a.Refused || a.Limit != 0 {
		t.Errorf("got %+v, want it to go on by limit 0", a)
	}
	if got := remaining(t, req, "k"); got != 3 {
		t.Errorf("got %d left, want 3", got)
	}
	if err := v.End(t.Context()); err != nil {
		t.Error(err)
	}
}

package limitgate_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"pgregory.net/rapid"
)

// granted is something admitted: decided at one time, released at another.
type granted struct {
	decided, released limitgate.Time
	cost              int64
}

// promise is a limit and how much it lets through at most in a stretch of time that includes its end.
type promise struct {
	limit limitgate.Algorithm
	most  func(w time.Duration) float64
}

// drawPromise draws a limit of one of the kinds.
func drawPromise(t *rapid.T) promise {
	n, burst := rapid.Int64Range(1, 500).Draw(t, "n"), rapid.Int64Range(0, 20).Draw(t, "burst")
	per := time.Duration(rapid.Int64Range(5, 20_000).Draw(t, "per")) * time.Millisecond
	rate := limitgate.Per(n, per)
	bucket := func(w time.Duration) float64 { return float64(1+burst) + rate.Float()*1.001*w.Seconds() }
	// A window admits its limit, and what lies in a stretch of time touches one more than fit into it.
	windows := func(w time.Duration) float64 { return float64(burst+1) * float64(w/per+2) }
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return promise{limitgate.Req{Rate: rate, Burst: burst, Delay: rapid.Int64Range(0, 20).Draw(t, "delay")}, bucket}
	case 1:
		return promise{limitgate.Token{Rate: rate, Capacity: burst + 1}, bucket}
	case 2:
		return promise{limitgate.Count{Limit: burst + 1, Window: per}, windows}
	case 3:
		return promise{limitgate.Count{Limit: burst + 1, Window: per, Windowing: limitgate.Fixed}, windows}
	case 4:
		return promise{limitgate.Count{Limit: burst + 1, Window: per, Windowing: limitgate.Fixed, First: true}, windows}
	case 5:
		return promise{limitgate.Count{Limit: burst + 1, Window: per, Windowing: limitgate.Log}, func(w time.Duration) float64 {
			return float64(burst+1) * float64(w/per+1)
		}}
	}
	// A write goes as soon as those before it are paid off, however large it is itself.
	return promise{limitgate.Pace{Rate: n, Burst: burst, Queue: per}, func(w time.Duration) float64 {
		return float64(burst) + float64(n)*w.Seconds() + 3
	}}
}

// TestPromises: no limit lets through more than it promises in any stretch of time, as decided and as released; who obeys
// Retry-After alone is admitted, and a nanosecond earlier is not.
func TestPromises(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPromise(t)
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{Bytes: 4096}), p.limit)
		if err != nil {
			t.Skip(err)
		}
		ask := func(at limitgate.Time, cost int64) limitgate.Decision {
			d, _ := l.CheckAt(ctx, at, "k", limitgate.Cost(cost))
			return d
		}
		now, gap := t0, int64(100*time.Millisecond)
		var all []granted
		for _, g := range rapid.SliceOfN(rapid.Int64Range(0, 3*gap), 1, 100).Draw(t, "gaps") {
			if g%3 > 0 { // a third comes at once
				now = now.Add(time.Duration(g))
			}
			cost := 1 + g%2
			d, err := l.TakeAt(ctx, now, "k", limitgate.Cost(cost))
			if err != nil {
				t.Fatal(err)
			}
			if d.Admitted() {
				all = append(all, granted{now, now.Add(d.Delay()), cost})
			} else if d.RetryAfter() > 0 {
				if again := ask(now.Add(d.RetryAfter()), cost); !again.Admitted() {
					t.Fatalf("%+v: refused at %d, and after %v again: %+v", p.limit, now, d.RetryAfter(), again)
				}
				whole := (d.RetryAfter() + time.Second - 1) / time.Second * time.Second // as the header says it
				if again := ask(now.Add(whole), cost); !again.Admitted() {
					t.Fatalf("%+v: refused at %d, and after %v again: %+v", p.limit, now, whole, again)
				}
				if early := ask(now.Add(d.RetryAfter()-1), cost); early.Admitted() {
					t.Fatalf("%+v: refused at %d, but admitted before %v", p.limit, now, d.RetryAfter())
				}
			}
		}
		pace := l.Algorithm().Kind() == limitgate.KindPace
		for i, a := range all {
			decided, released := int64(0), int64(0)
			for _, b := range all[i:] {
				decided, released = decided+b.cost, released+b.cost
				if got, most := float64(decided), p.most(b.decided.Sub(a.decided)); !pace && got > most+1e-6 {
					t.Fatalf("%+v: decided for %v in %v, promised %v", p.limit, got, b.decided.Sub(a.decided), most)
				}
				if got, most := float64(released), p.most(b.released.Sub(a.released)); got > most+1e-6 {
					t.Fatalf("%+v: released %v in %v, promised %v", p.limit, got, b.released.Sub(a.released), most)
				}
			}
		}
	})
}

// TestAllOrNone: sixteen goroutines ask limits of every kind together; each limit is charged exactly what was admitted.
func TestAllOrNone(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(20, 60).Draw(t, "least")
		kinds := []limitgate.Algorithm{
			limitgate.Req{Rate: limitgate.PerDay(1), Burst: n + 9, NoDelay: true},
			limitgate.Token{Rate: limitgate.PerDay(1), Capacity: n + 20},
			limitgate.Count{Limit: n + 30, Window: time.Hour},
			limitgate.Count{Limit: n, Window: time.Hour, Windowing: limitgate.Fixed},
			limitgate.Count{Limit: n + 5, Window: time.Hour, Windowing: limitgate.Log},
		}
		kinds = rapid.Permutation(kinds).Draw(t, "order")
		var ls []*limitgate.Limiter
		for _, a := range kinds {
			l, err := limitgate.NewLimiter(memzone.New(memzone.Config{Bytes: 64 << 10}), a)
			if err != nil {
				t.Fatal(err)
			}
			ls = append(ls, l)
		}
		var admitted, late atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { // ends after its requests
				legs := make([]limitgate.Leg, len(ls))
				for i := range legs {
					legs[i] = limitgate.Leg{Limiter: ls[i], Key: strconv.Itoa(i)}
				}
				for range 6 {
					v, err := limitgate.All(ctx, t0, legs)
					if err == nil && v.Admitted() {
						admitted.Add(1)
					} else if v.Late {
						late.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if a := admitted.Load(); a > n || a+late.Load() < n {
			t.Fatalf("admitted %d, late %d of %d", a, late.Load(), n)
		}
		for i, l := range ls {
			d, _ := l.CheckAt(ctx, t0, strconv.Itoa(i), 1)
			left := d.Remaining
			if d.Admitted() {
				left++
			}
			if fresh, _ := l.CheckAt(ctx, t0, "fresh", 1); fresh.Remaining+1-left != admitted.Load() {
				t.Fatalf("%+v was charged %d, admitted were %d", kinds[i], fresh.Remaining+1-left, admitted.Load())
			}
		}
	})
}

// TestLiveChange: limits are changed all the time under a key's feet. What remains never goes below nothing, nobody waits
// longer than the new full bucket, or two windows, and who obeys Retry-After is admitted.
func TestLiveChange(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		z := memzone.New(memzone.Config{Bytes: 4096})
		now := t0
		for range 30 {
			z.Rebind()
			rate := limitgate.Per(rapid.Int64Range(1, 100).Draw(t, "rate"), time.Second)
			burst := rapid.Int64Range(0, 50).Draw(t, "burst")
			window := rapid.SampledFrom([]time.Duration{time.Second, time.Second, time.Minute}).Draw(t, "window")
			a := []limitgate.Algorithm{
				limitgate.Req{Rate: rate, Burst: burst, NoDelay: true}, limitgate.Token{Rate: rate, Capacity: burst + 1},
				limitgate.Count{Limit: burst + 1, Window: window}, limitgate.Count{Limit: burst + 1, Window: window, Windowing: limitgate.Fixed},
				limitgate.Count{Limit: burst + 1, Window: window, Windowing: limitgate.Fixed, First: true},
				limitgate.Count{Limit: burst + 1, Window: window, Windowing: limitgate.Log},
				limitgate.Pace{Rate: burst + 1, Burst: burst, Queue: time.Minute},
			}[kind]
			l, err := limitgate.NewLimiter(z, a)
			if err != nil {
				t.Fatal(err)
			}
			longest := 2 * window
			switch a.Kind() {
			case limitgate.KindReq, limitgate.KindToken:
				longest = time.Duration(burst+1)*rate.Interval() + 10*time.Millisecond // a time may be stale
			case limitgate.KindPace:
				longest = time.Minute + time.Second + 10*time.Millisecond
			}
			for range rapid.IntRange(1, 20).Draw(t, "asks") {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Millisecond)).Draw(t, "gap")))
				d, err := l.TakeAt(ctx, now, "k", 1)
				if err != nil || d.Remaining < 0 || d.Remaining > burst+1 || d.RetryAfter() > longest || !d.Admitted() && d.RetryAfter() == 0 {
					t.Fatalf("%+v: %+v %v, at most %v", a, d, err, longest)
				}
				if !d.Admitted() {
					if again, _ := l.CheckAt(ctx, now.Add(d.RetryAfter()), "k", 1); !again.Admitted() {
						t.Fatalf("%+v: after %v again %+v", a, d.RetryAfter(), again)
					}
				}
			}
		}
	})
}

// TestAcquireAllNeedsRoom: without room for each place nothing is held.
func TestAcquireAllNeedsRoom(t *testing.T) {
	z := memzone.New(memzone.Config{})
	l, err := limitgate.NewLimiter(z, limitgate.Conn{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	legs := []limitgate.Leg{{Limiter: l, Key: "a"}, {Limiter: l, Key: "b"}}
	if v, err := limitgate.AcquireAll(context.Background(), t0, legs, make([]limitgate.Place, 1)); err == nil || v.Leg != -1 || z.Held() != 0 {
		t.Errorf("got %+v, %v and %d held", v, err, z.Held())
	}
}

// TestAcquireAllNamesTheTightest: the verdict is of the leg with the fewest places left, wherever it stands.
func TestAcquireAllNamesTheTightest(t *testing.T) {
	for _, c := range []struct {
		limits []int64
		leg    int
	}{{[]int64{2, 5}, 0}, {[]int64{5, 2}, 1}, {[]int64{5, 2, 4}, 1}, {[]int64{3, 3}, 0}} {
		var legs []limitgate.Leg
		for _, n := range c.limits {
			l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: n})
			if err != nil {
				t.Fatal(err)
			}
			legs = append(legs, limitgate.Leg{Limiter: l, Key: "k"})
		}
		v, err := limitgate.AcquireAll(context.Background(), t0, legs, make([]limitgate.Place, len(legs)))
		if err != nil || v.Leg != c.leg || v.Remaining != c.limits[c.leg]-1 {
			t.Errorf("%v: got leg %d with %d left (%v), want leg %d", c.limits, v.Leg, v.Remaining, err, c.leg)
		}
	}
}

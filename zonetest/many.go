package zonetest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate"
)

// HotKey tests this: a limit of 20,000 hit by 30,000 goroutines on a key that nobody has seen admits exactly 20,000, while others churn
// keys around it.
func HotKey(t testing.TB, f Factory) {
	l := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 19_999, NoDelay: true})
	var admitted, failed atomic.Int64
	var stop atomic.Bool
	var asks, churn sync.WaitGroup
	for w := range 2 {
		churn.Go(func() { // ends with stop
			for i := 0; !stop.Load(); i++ {
				_, _ = l.TakeAt(context.Background(), t0, strconv.Itoa(w)+"/"+strconv.Itoa(i%5000), 1)
				runtime.Gosched()
			}
		})
	}
	start := make(chan struct{})
	for range 30_000 {
		asks.Go(func() { // ends after one request
			<-start
			d, err := l.TakeAt(context.Background(), t0, "hot", 1)
			if err != nil {
				failed.Add(1)
			} else if d.Admitted() {
				admitted.Add(1)
			}
		})
	}
	close(start)
	asks.Wait()
	stop.Store(true)
	churn.Wait()
	if admitted.Load() != 20_000 || failed.Load() > 0 {
		t.Errorf("admitted %d, failed %d; want 20000 and 0", admitted.Load(), failed.Load())
	}
}

// FirstMeeting tests this: goroutines that meet at a key nobody has seen share one budget, and all of it.
func FirstMeeting(t testing.TB, f Factory) {
	const workers, rounds = 6, 300
	l := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerDay(1), Burst: 2, NoDelay: true})
	for r := range rounds {
		key := "new" + strconv.Itoa(r)
		var admitted atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range workers {
			wg.Go(func() { // ends after two requests
				<-start
				for range 2 {
					if d, err := l.TakeAt(context.Background(), t0, key, 1); err == nil && d.Admitted() {
						admitted.Add(1)
					}
				}
			})
		}
		close(start)
		wg.Wait()
		if admitted.Load() != 3 {
			t.Fatalf("round %d: admitted %d, want 3", r, admitted.Load())
		}
	}
}

// AllExact tests this: two limits on each request, in different zones, the second the tight one. It admits its number, and the loose
// one is charged exactly that.
func AllExact(t testing.TB, f Factory) {
	const tight, loose = 2000, 2500
	ctx := context.Background()
	a := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerDay(1), Burst: loose - 1, NoDelay: true})
	b := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerDay(1), Burst: tight - 1, NoDelay: true})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { // ends after its requests
			legs := []limitgate.Leg{{Limiter: a, Key: "a"}, {Limiter: b, Key: "b"}}
			for range 400 {
				if v, err := limitgate.All(ctx, t0, legs); err == nil && v.Admitted() {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if admitted.Load() != tight {
		t.Errorf("admitted %d, want %d", admitted.Load(), tight)
	}
	if got := used(t, a, "a", loose); got != tight {
		t.Errorf("the loose limit was charged %d, want %d", got, tight)
	}
}

// used is how much of a limit that holds n at once is gone.
func used(t testing.TB, l *limitgate.Limiter, key string, n int64) int64 {
	t.Helper()
	d := check(t, l, t0, key, 1)
	if d.Outcome == limitgate.Rejected {
		return n
	}
	return n - 1 - d.Remaining
}

// AllConservation tests this: requests over two of a few keys of one zone. In the end each limit is charged what was admitted of it,
// whatever was taken back in between.
func AllConservation(t testing.TB, f Factory) {
	const keys = 6
	ctx := context.Background()
	z := f(t)
	var ls [keys]*limitgate.Limiter
	limit := func(k int) int64 { return int64(50 + 90*k) }
	for k := range keys {
		ls[k] = limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: limit(k) - 1, NoDelay: true})
	}
	var admitted [keys]atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 5))
			for range 500 {
				a, b := r.IntN(keys), r.IntN(keys)
				if a == b {
					continue
				}
				legs := []limitgate.Leg{{Limiter: ls[a], Key: strconv.Itoa(a)}, {Limiter: ls[b], Key: strconv.Itoa(b)}}
				if v, err := limitgate.All(ctx, t0, legs); err == nil && v.Admitted() {
					admitted[a].Add(1)
					admitted[b].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for k := range keys {
		if got, want := used(t, ls[k], strconv.Itoa(k), limit(k)), admitted[k].Load(); got != want || want > limit(k) {
			t.Errorf("key %d: charged %d, admitted %d of %d", k, got, want, limit(k))
		}
	}
}

// AllSameState tests this: two legs that name one state each judge it, and it is charged once.
func AllSameState(t testing.TB, f Factory) {
	ctx := context.Background()
	z := f(t)
	wide := limiter(t, z, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9, NoDelay: true})
	thin := limiter(t, z, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2, NoDelay: true})
	legs := []limitgate.Leg{{Limiter: wide, Key: "k"}, {Limiter: thin, Key: "k"}}
	for i := range 3 {
		if v, err := limitgate.All(ctx, t0, legs); err != nil || !v.Admitted() {
			t.Fatalf("request %d: got %+v %v", i, v, err)
		}
	}
	v, err := limitgate.All(ctx, t0, legs)
	if err != nil || v.Outcome != limitgate.Rejected || v.Leg != 1 {
		t.Fatalf("fourth request: got %+v %v, want the second leg to refuse", v, err)
	}
	if d := check(t, wide, t0, "k", 1); d.Remaining != 6 {
		t.Errorf("after three requests %d remain of 10 with this one, want 6", d.Remaining)
	}
}

// ConnConservation tests this: places balance to nothing, and the limit holds at every instant.
func ConnConservation(t testing.TB, f Factory) {
	const keys, limit = 20, 3
	ctx := context.Background()
	l := limiter(t, f(t), limitgate.Conn{Limit: limit})
	var held [keys]atomic.Int64
	var over, failed atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() { // ends after its operations, holding nothing
			type mine struct {
				p limitgate.Place
				k int
			}
			r := rand.New(rand.NewPCG(uint64(w), 6))
			var ps []mine
			drop := func(j int) {
				held[ps[j].k].Add(-1)
				if ps[j].p.Release(ctx) != nil {
					failed.Add(1)
				}
				ps[j] = ps[len(ps)-1]
				ps = ps[:len(ps)-1]
			}
			for range 2000 {
				if len(ps) > 0 && (len(ps) > 3 || r.IntN(2) == 0) {
					drop(r.IntN(len(ps)))
					continue
				}
				k := r.IntN(keys)
				p, d, err := l.AcquireAt(ctx, t0, strconv.Itoa(k))
				if err != nil {
					failed.Add(1)
				} else if d.Admitted() {
					if held[k].Add(1) > limit {
						over.Add(1)
					}
					ps = append(ps, mine{p, k})
				}
			}
			for len(ps) > 0 {
				drop(0)
			}
		})
	}
	wg.Wait()
	for k := range keys {
		if d := check(t, l, t0, strconv.Itoa(k), limit); d.Outcome != limitgate.Passed {
			t.Errorf("key %d: places left: %+v", k, d)
		}
	}
	if over.Load()+failed.Load() > 0 {
		t.Errorf("over the limit %d times, failed %d times", over.Load(), failed.Load())
	}
}

// AcquireAll tests this: several limits are asked in order; the first that is full refuses and nothing stays held.
func AcquireAll(t testing.TB, f Factory) {
	ctx := context.Background()
	ip := limiter(t, f(t), limitgate.Conn{Limit: 5})
	site := limiter(t, f(t), limitgate.Conn{Limit: 2})
	legs := []limitgate.Leg{{Limiter: ip, Key: "a"}, {Limiter: site, Key: "s"}}
	var places [3][2]limitgate.Place
	for i := range 2 {
		if v, err := limitgate.AcquireAll(ctx, t0, legs, places[i][:]); err != nil || !v.Admitted() || v.Leg != 1 {
			t.Fatalf("request %d: got %+v %v", i, v, err)
		}
	}
	v, err := limitgate.AcquireAll(ctx, t0, legs, places[2][:])
	if err != nil || v.Outcome != limitgate.Rejected || v.Leg != 1 || v.RetryAfter != 0 || places[2][0].Held() {
		t.Fatalf("third request: got %+v %v, first place held: %v", v, err, places[2][0].Held())
	}
	if d := check(t, ip, t0, "a", 3); d.Outcome != limitgate.Passed {
		t.Errorf("the refused request holds a place: %+v", d)
	}
	for i := range places {
		for j := range places[i] {
			if err := places[i][j].Release(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	if d := check(t, ip, t0, "a", 5); d.Outcome != limitgate.Passed {
		t.Errorf("all released: %+v", d)
	}
}

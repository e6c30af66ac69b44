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
	"github.com/limitgate/limitgate/internal/racing"
)

// HotKey tests this: a limit of 20,000 (of logs, 10,000; a tenth under the race detector, which makes each goroutine dear) hit by
// half as many goroutines more, on a key that nobody has seen, admits exactly its number, while others churn keys around it.
func HotKey(t testing.TB, f Factory) {
	limit := int64(20_000)
	if racing.Detector {
		limit /= 10
	}
	for _, a := range takers(limit) {
		hotKey(t, f, a, limit)
	}
}

func hotKey(t testing.TB, f Factory, a limitgate.Algorithm, limit int64) {
	l, around := limiter(t, f(t), a), 5000
	if a.Kind() == limitgate.KindLog {
		limit, around = min(limit, limitgate.Log.Max()), 500
	}
	var admitted, failed atomic.Int64
	var stop atomic.Bool
	var asks, churn sync.WaitGroup
	for w := range 2 {
		churn.Go(func() { // ends with stop
			for i := 0; !stop.Load(); i++ {
				key := strconv.Itoa(w) + "/" + strconv.Itoa(i%around)
				_, _ = l.TakeAt(context.Background(), t0, key, 1)
				if a.Kind() == limitgate.KindLog || i%7 == 0 {
					_ = l.Reset(context.Background(), key)
				}
				runtime.Gosched()
			}
		})
	}
	start := make(chan struct{})
	for range limit * 3 / 2 {
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
	if admitted.Load() != limit || failed.Load() > 0 {
		t.Errorf("%v: admitted %d, failed %d; want %d and 0", a.Kind(), admitted.Load(), failed.Load(), limit)
	}
}

// FirstMeeting tests this: goroutines that meet at a key nobody has seen share one budget, and all of it.
func FirstMeeting(t testing.TB, f Factory) {
	for _, a := range takers(3) {
		firstMeeting(t, limiter(t, f(t), a))
	}
}

func firstMeeting(t testing.TB, l *limitgate.Limiter) {
	const workers, rounds = 6, 100
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
			t.Fatalf("%+v, round %d: admitted %d, want 3", l.Algorithm(), r, admitted.Load())
		}
	}
}

// AllExact tests this: two limits on each request, of all kinds, in different zones, the second the tight one. It admits its
// number, and the loose one is charged exactly that.
func AllExact(t testing.TB, f Factory) {
	const tight, loose = 500, 625
	for i, a := range takers(loose) {
		kinds := takers(tight)
		b := kinds[(i+3)%len(kinds)]
		allExact(t, limiter(t, f(t), a), limiter(t, f(t), b), tight, loose)
	}
}

// allExact asks with 16 goroutines.
func allExact(t testing.TB, a, b *limitgate.Limiter, tight, loose int64) {
	ctx := context.Background()
	var admitted, late atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { // ends after its requests
			legs := []limitgate.Leg{{Limiter: a, Key: "a"}, {Limiter: b, Key: "b"}}
			for range 2 * tight / 16 {
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
	if n := admitted.Load(); n > tight || n+late.Load() < tight {
		t.Errorf("%v and %v: admitted %d, late %d; want %d", a.Algorithm().Kind(), b.Algorithm().Kind(), n, late.Load(), tight)
	}
	if got := used(t, a, "a", loose); got != admitted.Load() {
		t.Errorf("%v and %v: the loose limit was charged %d, admitted were %d", a.Algorithm().Kind(), b.Algorithm().Kind(), got, admitted.Load())
	}
}

// used is how much of a limit that holds n at once is gone.
func used(t testing.TB, l *limitgate.Limiter, key string, n int64) int64 {
	t.Helper()
	d := check(t, l, t0, key, 1)
	switch {
	case l.Algorithm().Kind() == limitgate.KindPace:
		return int64(d.Excess) / 1000
	case d.Outcome == limitgate.Rejected:
		return n
	}
	return n - 1 - d.Remaining
}

// AllConservation tests this: requests over two of a few keys of one zone. In the end each limit is charged what was admitted of it,
// whatever was taken back in between.
func AllConservation(t testing.TB, f Factory) {
	for i := range takers(1) {
		allConservation(t, f(t), i)
	}
}

func allConservation(t testing.TB, z limitgate.Zone, kind int) {
	const keys = 6
	ctx := context.Background()
	var ls [keys]*limitgate.Limiter
	limit := func(k int) int64 { return int64(50 + 90*k) }
	for k := range keys {
		ls[k] = limiter(t, z, takers(limit(k))[kind])
	}
	var admitted [keys]atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 5))
			for range 400 {
				a, b := r.IntN(keys), r.IntN(keys)
				if a == b {
					continue
				}
				legs := []limitgate.Leg{{Limiter: ls[a], Key: strconv.Itoa(a)}, {Limiter: ls[b], Key: strconv.Itoa(b)}}
				v, err := limitgate.All(ctx, t0, legs)
				if err != nil || !v.Admitted() {
					continue
				}
				if r.IntN(10) == 0 {
					_ = limitgate.RefundAll(ctx, t0, legs)
					continue
				}
				admitted[a].Add(1)
				admitted[b].Add(1)
			}
		})
	}
	wg.Wait()
	for k := range keys {
		if got, want := used(t, ls[k], strconv.Itoa(k), limit(k)), admitted[k].Load(); got != want || want > limit(k) {
			t.Errorf("%v, key %d: charged %d, admitted %d of %d", ls[k].Algorithm().Kind(), k, got, want, limit(k))
		}
	}
}

// AllSameState tests this: two legs that name one state each judge it, and it is charged once.
func AllSameState(t testing.TB, f Factory) {
	for i, wide := range takers(10) {
		z := f(t)
		if wide.Kind() != limitgate.KindPace { // tells no limit by what remains
			allSameState(t, limiter(t, z, wide), limiter(t, z, takers(3)[i]))
		}
	}
}

func allSameState(t testing.TB, wide, thin *limitgate.Limiter) {
	ctx := context.Background()
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
		t.Errorf("%v: after three requests %d remain of 10 with this one, want 6", wide.Algorithm().Kind(), d.Remaining)
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
	if err != nil || v.Outcome != limitgate.Rejected || v.Leg != 1 || v.RetryAfter() != 0 || places[2][0].Held() {
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

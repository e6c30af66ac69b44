package memzone

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// resizer changes the size of z until stop, and counts how often.
func resizer(t *testing.T, z *Zone, sizes []int, stop *atomic.Bool, n *atomic.Int64) {
	for ; !stop.Load(); n.Add(1) {
		if _, err := z.Resize(sizes[int(n.Load())%len(sizes)], t0); err != nil {
			t.Error(err)
		}
		runtime.Gosched()
	}
}

// TestResizeKeepsDebt: while the table is replaced all the time, every key admits its 1+burst and no more, and nothing
// is evicted.
func TestResizeKeepsDebt(t *testing.T) {
	const workers, nkeys, limit = 6, 500, 50
	z := New(Config{Bytes: 64 << 10})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: limit - 1, NoDelay: true})
	ks := keys(nkeys)
	var admitted [nkeys]atomic.Int64
	var stop, twice atomic.Bool
	var resizes atomic.Int64
	var wg, rs sync.WaitGroup
	for w := range workers {
		wg.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 3))
			for i := 0; i < scale(150000) || resizes.Load() < 3; i++ {
				k := r.IntN(nkeys)
				if r.IntN(3) == 0 {
					k = r.IntN(10)
				}
				if d, _ := l.TakeAt(context.Background(), t0, ks[k], 1); d.Admitted() {
					admitted[k].Add(1)
				}
				if i&7 == 0 && z.table.Load().twice(named(z, ks[k])) {
					twice.Store(true)
				}
			}
		})
	}
	rs.Go(func() { resizer(t, z, []int{128 << 10, 48 << 10, 256 << 10, 64 << 10}, &stop, &resizes) }) // ends with stop
	wg.Wait()
	stop.Store(true)
	rs.Wait()
	_, of := names(z, nkeys)
	charged := [nkeys]int64{}
	z.each(func(h, s uint64) { charged[of[h]] += (int64(s) - int64(t0)) / int64(24*time.Hour) })
	for k := range nkeys {
		if a := admitted[k].Load(); a != charged[k] || a > limit {
			t.Errorf("key %d: admitted %d, charged %d, limit %d", k, a, charged[k], limit)
		}
	}
	if st := z.Stats(); st.HotEvictions > 0 || twice.Load() {
		t.Errorf("%d resizes, a key seen twice: %v, %+v", resizes.Load(), twice.Load(), st)
	}
}

// TestResizeKeepsFirstMeeting: keys that are new in the middle of a resize have one budget. The tables are so small that
// a request meets a seal more often than not.
func TestResizeKeepsFirstMeeting(t *testing.T) {
	const workers, limit = 4, 3
	rounds := 3000
	if injecting {
		rounds = 20000
	}
	z := New(Config{Bytes: 256})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: limit - 1, NoDelay: true})
	var stop atomic.Bool
	var turn, finished, admitted atomic.Int64
	var wg sync.WaitGroup
	at := func(r int64) limitgate.Time { return t0.Add(time.Duration(r) * time.Second) } // all older states are drained
	wg.Go(func() {                                                                       // ends with stop
		for n := 0; !stop.Load(); n++ {
			_, _ = z.Resize([]int{512, 128, 256}[n%3], at(turn.Load()))
		}
	})
	for range workers {
		wg.Go(func() { // ends after its rounds
			for r := range int64(rounds) {
				for turn.Load() < r+1 {
					runtime.Gosched()
				}
				key := strconv.FormatInt(r, 10)
				for range 2 {
					if d, _ := l.TakeAt(context.Background(), at(r+1), key, 1); d.Admitted() {
						admitted.Add(1)
					}
				}
				finished.Add(1)
			}
		})
	}
	wrong := 0
	for r := range int64(rounds) {
		admitted.Store(0)
		finished.Store(0)
		turn.Store(r + 1)
		for finished.Load() < workers {
			runtime.Gosched()
		}
		if admitted.Load() != limit {
			wrong++
		}
	}
	stop.Store(true)
	wg.Wait()
	if wrong > 0 {
		t.Errorf("%d of %d new keys did not admit exactly %d", wrong, rounds, limit)
	}
}

// TestResizeKeepsPlaces: places are taken and released while the table is replaced; the limit holds at every instant, and
// in the end nothing is held.
func TestResizeKeepsPlaces(t *testing.T) {
	const workers, nkeys, limit = 6, 40, 3
	z := New(Config{Bytes: 1 << 10})
	l := limiter(t, z, limitgate.Conn{Limit: limit})
	ks := keys(nkeys)
	var count [nkeys]atomic.Int64
	var over, resizes atomic.Int64
	var stop atomic.Bool
	var wg, rs sync.WaitGroup
	for w := range workers {
		wg.Go(func() { // ends after its operations, holding nothing
			tell := func(k int, d int64) {
				if count[k].Add(d) > limit {
					over.Add(1)
				}
			}
			for again := true; again; again = resizes.Load() < 3 {
				holder(l, ks, uint64(w), scale(150000), tell)
			}
		})
	}
	rs.Go(func() { resizer(t, z, []int{2 << 10, 128, 4 << 10, 1 << 10}, &stop, &resizes) }) // ends with stop
	wg.Wait()
	stop.Store(true)
	rs.Wait()
	if z.Held() != 0 || over.Load() > 0 {
		t.Errorf("left %d, over the limit %d, %d resizes", z.Held(), over.Load(), resizes.Load())
	}
}

// TestResizeTakesBackCharges: charges of All are taken back exactly although the table was replaced in between.
func TestResizeTakesBackCharges(t *testing.T) {
	const nkeys = 6
	ctx := context.Background()
	z := New(Config{Bytes: 256})
	limit := func(k int) int64 { return int64(2000 + 1500*k) }
	var ls [nkeys]*limitgate.Limiter
	for k := range nkeys {
		ls[k] = limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: limit(k) - 1, NoDelay: true})
	}
	ks, of := names(z, nkeys)
	var admitted [nkeys]atomic.Int64
	var resizes atomic.Int64
	var stop atomic.Bool
	var wg, rs sync.WaitGroup
	for w := range 6 {
		wg.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 3))
			for i := 0; i < scale(40000) || resizes.Load() < 3; i++ {
				a := r.IntN(nkeys)
				b := (a + 1 + r.IntN(nkeys-1)) % nkeys
				legs := []limitgate.Leg{{Limiter: ls[a], Key: ks[a]}, {Limiter: ls[b], Key: ks[b]}}
				if v, err := limitgate.All(ctx, t0, legs); err == nil && v.Admitted() {
					admitted[a].Add(1)
					admitted[b].Add(1)
				}
			}
		})
	}
	rs.Go(func() { resizer(t, z, []int{512, 128, 256}, &stop, &resizes) }) // ends with stop
	wg.Wait()
	stop.Store(true)
	rs.Wait()
	z.each(func(h, s uint64) {
		k := of[h]
		if got := (int64(s) - int64(t0)) / int64(24*time.Hour); got != admitted[k].Load() || got > limit(k) {
			t.Errorf("key %d: charged %d, admitted %d of %d", k, got, admitted[k].Load(), limit(k))
		}
	})
}

// TestRefundAfterResize: a charge is taken back from the state wherever it was carried, but not from a later life of the key.
func TestRefundAfterResize(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 256})
	l := limitOf(t, z)
	charge := func(now limitgate.Time) limitgate.Charge {
		t.Helper()
		d, c, err := z.Do(ctx, now, l, "k", 1, limitgate.Take)
		if err != nil || !d.Admitted() {
			t.Fatalf("got %+v %v", d, err)
		}
		return c
	}
	outcome := func(now limitgate.Time) limitgate.Outcome {
		d, _, _ := z.Do(ctx, now, l, "k", 1, limitgate.Peek)
		return d.Outcome
	}
	c := charge(t0)
	for _, size := range []int{1024, 512} {
		if _, err := z.Resize(size, t0); err != nil {
			t.Fatal(err)
		}
	}
	if outcome(t0) != limitgate.Rejected {
		t.Fatal("the debt was lost in a resize")
	}
	_ = z.Refund(ctx, t0, l, c)
	if outcome(t0) != limitgate.Passed {
		t.Error("a charge from before a resize was not taken back")
	}
	c = charge(t0)
	for i := 0; z.Stats().HotEvictions == 0 || outcome(t0) == limitgate.Rejected; i++ { // until somebody has taken k's slot
		_, _, _ = z.Do(ctx, t0, l, strconv.Itoa(i), 1, limitgate.Take)
	}
	charge(t0)
	_ = z.Refund(ctx, t0, l, c)
	if outcome(t0) != limitgate.Rejected {
		t.Error("a charge was taken back from another life of the key")
	}
}

// TestResizeShrink: what a smaller table can't hold.
func TestResizeShrink(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name    string
		policy  Overflow
		limit   limitgate.Algorithm
		kept    bool // all states are in force afterwards
		evicted bool
	}{
		{"evict forgets debt", Evict, limitgate.Req{Rate: limitgate.PerDay(1)}, false, true},
		{"reject keeps it in a larger table", Reject, limitgate.Req{Rate: limitgate.PerDay(1)}, true, false},
		{"held places stay", Evict, limitgate.Conn{Limit: 1}, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := New(Config{Bytes: 16 << 10, Overflow: c.policy})
			l := limiter(t, z, c.limit)
			ks := keys(200)
			places := make([]limitgate.Place, len(ks))
			for i, k := range ks {
				if z.Kind() == limitgate.KindConn {
					places[i], _, _ = l.AcquireAt(ctx, t0, k)
				} else {
					_, _ = l.TakeAt(ctx, t0, k, 1)
				}
			}
			got, err := z.Resize(1024, t0)
			if err != nil || got != z.Bytes() || (got > 1024) != c.kept || got >= 16<<10 {
				t.Fatalf("resized to %d bytes, error %v", got, err)
			}
			refused := 0
			for _, k := range ks {
				if d, _ := l.CheckAt(ctx, t0, k, 1); d.Outcome == limitgate.Rejected {
					refused++
				}
			}
			if (refused == len(ks)) != c.kept || (z.Stats().HotEvictions > 0) != c.evicted {
				t.Errorf("%d of %d still in force, %+v", refused, len(ks), z.Stats())
			}
			for i := range places {
				_ = places[i].Release(ctx)
			}
			if z.Held() != 0 {
				t.Errorf("%d places left", z.Held())
			}
		})
	}
}

func TestResizeDropsDrained(t *testing.T) {
	z := New(Config{Bytes: 16 << 10})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerSecond(1)})
	for _, k := range keys(100) {
		_, _ = l.TakeAt(context.Background(), t0, k, 1)
	}
	if _, err := z.Resize(8<<10, t0.Add(time.Minute)); err != nil || z.Len() != 0 {
		t.Errorf("%d drained states were carried over, error %v", z.Len(), err)
	}
}

func TestResizeSizes(t *testing.T) {
	z := New(Config{Bytes: 1 << 10})
	if _, err := z.Resize(100, t0); err == nil {
		t.Error("100 bytes: no error")
	}
	for _, size := range []int{1 << 10, 1<<10 + 100, 128} {
		want := size / 128 * 128
		if got, err := z.Resize(size, t0); got != want || err != nil || z.Bytes() != want {
			t.Errorf("%d bytes: got %d %v", size, got, err)
		}
	}
}

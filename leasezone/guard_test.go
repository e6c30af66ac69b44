package leasezone_test

import (
	"context"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// TestGuarded: while the store does not answer, what is leased is spent first, and then this instance goes on alone; several limits
// on a request are spent from what is leased, too. What is leased costs no call and no garbage.
func TestGuarded(t *testing.T) {
	ctx := context.Background()
	server := redistest.Start(t)
	store := dial(t, server.URL())
	out := guard.New(guard.Config{Timeout: time.Second})
	limit := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1000}
	var ls []*limitgate.Limiter
	for _, name := range []string{"a", "b"} {
		z := lease(t, leasezone.Config{Zone: strict(t, store, name, rediszone.ServerTime), Lease: 64, Every: -1})
		ls = append(ls, bind(t, out.Zone(z, 0).Fail(limitgate.FailClosed), limit))
	}
	ask := func(l *limitgate.Limiter, n int) (admitted int, fell int) {
		for range n {
			d, err := l.TakeAt(ctx, limitgate.Now(), "k", 1)
			if err != nil {
				t.Fatal(err)
			}
			if d.Admitted() {
				admitted++
			}
			if d.Fallback() != limitgate.NoFallback {
				fell++
			}
		}
		return admitted, fell
	}
	for _, l := range ls {
		if got, _ := ask(l, 24); got != 24 { // 1, 4, 16 and 3 of 64
			t.Fatalf("got %d of 24 from the store", got)
		}
	}
	calls := out.Stats().Calls
	if n := testing.AllocsPerRun(10, func() { _, _ = ls[0].TakeAt(ctx, limitgate.Now(), "k", 1) }); n != 0 || out.Stats().Calls != calls {
		t.Errorf("leased: got %v allocations and %d calls a decision, want none", n, out.Stats().Calls-calls)
	}
	server.Kill()
	legs := []limitgate.Leg{{Limiter: ls[0], Key: "k"}, {Limiter: ls[1], Key: "k"}}
	for i := range 20 {
		if v, err := limitgate.All(ctx, limitgate.Now(), legs); err != nil || !v.Admitted() || v.Fallback() != limitgate.NoFallback {
			t.Fatalf("request %d by two limits: got %+v %v, want it from what is leased", i, v, err)
		}
	}
	// 61 were left of the first, 11 of which and 20 are spent.
	if got, fell := ask(ls[0], 100); got != 61-11-20 || fell != 100-got {
		t.Errorf("got %d admitted and %d decided by the fallback, want 30 and 70", got, fell)
	}
	if st := out.Stats(); st.Closed != 70 {
		t.Errorf("got %d decisions without the store, want 70", st.Closed)
	}
}

// TestFourInstances: four instances that borrow share 100 a second with ten times the demand, by the clock: never more than the limit
// admits, and nearly all of it.
func TestFourInstances(t *testing.T) {
	const instances = 4
	server := redistest.Start(t)
	a := limitgate.Req{Rate: limitgate.PerSecond(100), Burst: 100, NoDelay: true}
	var zones []*leasezone.Zone
	var ls []*limitgate.Limiter
	for range instances {
		z := lease(t, leasezone.Config{Zone: strict(t, dial(t, server.URL()), "shared", rediszone.ServerTime), Keys: 64})
		zones, ls = append(zones, z), append(ls, bind(t, z, a))
	}
	admitted := make(chan struct{}, 10_000)
	begin := limitgate.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	done := make(chan int)
	for _, l := range ls {
		// owned by the test; ends with ctx
		go func() {
			n := 0
			for tick := time.NewTicker(4 * time.Millisecond); ctx.Err() == nil; n++ { // 250 a second each
				<-tick.C
				if d, err := l.Take(context.Background(), "k"); err != nil {
					t.Error(err)
				} else if d.Admitted() {
					admitted <- struct{}{}
				}
			}
			done <- n
		}()
	}
	asked := 0
	for range instances {
		asked += <-done
	}
	took := limitgate.Now().Sub(begin)
	close(admitted)
	n := int64(len(admitted))
	most := int64(1 + 100 + took/(10*time.Millisecond))
	calls := uint64(0)
	for _, z := range zones {
		st := z.Stats()
		calls += st.Borrows + st.Single
	}
	t.Logf("%d asked, %d admitted in %v, of at most %d; %.3f calls a decision", asked, n, took, most, float64(calls)/float64(asked))
	if n > most || n < most-most/10-instances*10 {
		t.Errorf("got %d admitted in %v, want at most %d and at least a tenth and the leases less", n, took, most)
	}
	if float64(calls) > 0.25*float64(asked) {
		t.Errorf("got %d calls for %d decisions", calls, asked)
	}
}

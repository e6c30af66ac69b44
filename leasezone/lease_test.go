package leasezone

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// tenPerSecond is a limit whose tenth is 10.
func tenPerSecond() limitgate.Req {
	return limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 100, NoDelay: true}
}

// takes asks n times at now and counts what is admitted.
func takes(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string, n int) (admitted int64) {
	t.Helper()
	for range n {
		d, err := l.TakeAt(context.Background(), now, key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d.Admitted() {
			admitted++
		}
	}
	return admitted
}

// TestBatches: one at first, then four times as many while they are spent, a tenth of the burst at most, less as the limit comes near; all
// that the limit admits at once is admitted, and what is refused then costs no call.
func TestBatches(t *testing.T) {
	far := newDistant()
	l := bind(t, leaseOf(t, far, Config{}), tenPerSecond())
	for i, want := range []int{1, 2, 2, 2, 2, 3, 3, 3} {
		takes(t, l, t0, "k", 1)
		if far.calls != want {
			t.Errorf("request %d: got %d calls, want %d", i, far.calls, want)
		}
	}
	if got := 8 + takes(t, l, t0, "k", 200); got != 101 || far.asked != 10 {
		t.Errorf("got %d admitted, %d in the largest batch; want 101 and 10", got, far.asked)
	}
	if far.calls > 20 {
		t.Errorf("got %d calls for 101 requests, want at most 20", far.calls)
	}
	calls := far.calls
	if got := takes(t, l, t0.Add(99*time.Millisecond), "k", 1000); got != 0 || far.calls != calls {
		t.Errorf("hammering: got %d admitted with %d calls, want none", got, far.calls-calls)
	}
	if got := takes(t, l, t0.Add(100*time.Millisecond), "k", 1000); got != 1 || far.calls != calls+1 {
		t.Errorf("when the refusal ends: got %d admitted with %d calls, want 1 and 1", got, far.calls-calls)
	}
}

// TestHammering: a client that asks ten times as much as it may has all that it may, in batches.
func TestHammering(t *testing.T) {
	for _, a := range []limitgate.Algorithm{
		tenPerSecond(), limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 101},
		limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 100, NoDelay: true, Arithmetic: limitgate.Nginx},
		limitgate.Count{Limit: 100, Window: 10 * time.Second}, limitgate.Count{Limit: 100, Window: 10 * time.Second, Windowing: limitgate.Fixed},
	} {
		far, strict := newDistant(), newDistant()
		l, s := bind(t, leaseOf(t, far, Config{}), a), bind(t, strict, a)
		var got, want int64
		for i := range 20_000 {
			now := t0.Add(time.Duration(i) * 10 * time.Millisecond)
			got += takes(t, l, now, "k", 1)
			want += takes(t, s, now, "k", 1)
		}
		if got > want || got < want-10 || far.calls > 1000 {
			t.Errorf("%+v: got %d admitted of 20000 in %d calls, want %d or up to a lease less, in 1000", a, got, far.calls, want)
		}
	}
}

// TestSlowKeys: who asks less than the limit is borrowed for as much as is used; a key that nobody asks for twice is borrowed for one.
func TestSlowKeys(t *testing.T) {
	far := newDistant()
	l := bind(t, leaseOf(t, far, Config{}), tenPerSecond())
	for i := range 1000 {
		takes(t, l, t0.Add(time.Duration(i)*time.Minute), "slow", 1)
	}
	if far.calls != 1000 || far.asked != 1 {
		t.Errorf("slow: got %d calls, of at most %d; want 1000 of 1", far.calls, far.asked)
	}
	far.calls = 0
	for i := range 1000 { // half the rate
		takes(t, l, t0.Add(time.Duration(i)*200*time.Millisecond), "steady", 1)
	}
	if far.calls > 400 {
		t.Errorf("steady: got %d calls for 1000 requests, want at most 400", far.calls)
	}
}

// TestReturns: what is left goes back when nobody asks any more, and another instance has it then; what others are charged behind
// does not, since who leased that would be moved up.
func TestReturns(t *testing.T) {
	ctx := context.Background()
	for _, a := range []limitgate.Algorithm{tenPerSecond(), limitgate.Count{Limit: 101, Window: time.Hour}, limitgate.Count{Limit: 101, Window: time.Hour, Windowing: limitgate.Fixed}} {
		far := newDistant()
		one, two := leaseOf(t, far, Config{}), leaseOf(t, far, Config{})
		l, m := bind(t, one, a), bind(t, two, a)
		takes(t, l, t0, "k", 16) // 1, 4, 10 and 10
		if st := one.Stats(); st.Borrowed != 25 {
			t.Fatalf("%+v: borrowed %d, want 25", a, st.Borrowed)
		}
		one.Settle(ctx, t0.Add(time.Second))
		if st := one.Stats(); st.Returned != 0 {
			t.Errorf("%+v: got %d back within a second, want none", a, st.Returned)
		}
		later := t0.Add(time.Second + 1)
		one.Settle(ctx, later)
		if st := one.Stats(); st.Returned != 9 || far.backs != 1 {
			t.Errorf("%+v: got %d back in %d calls, want 9 in one", a, st.Returned, far.backs)
		}
		want := int64(101 - 16)
		if _, is := a.(limitgate.Req); is {
			want += 10 // of a second
		}
		if got := takes(t, m, later, "k", 200); got != want {
			t.Errorf("%+v: another instance got %d, want %d", a, got, want)
		}
	}
}

// TestReturnsBehindOthers: a batch that others are charged behind does not go back, so that these are not spent when they are drained.
func TestReturnsBehindOthers(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	a := limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 100, NoDelay: true}
	one, two := leaseOf(t, far, Config{Lease: 50}), leaseOf(t, far, Config{Lease: 50})
	l, m := bind(t, one, a), bind(t, two, a)
	var all []spent
	ask := func(l *limitgate.Limiter, at time.Duration, n int) {
		for range n {
			if takes(t, l, t0.Add(at), "k", 1) > 0 {
				all = append(all, spent{t0.Add(at), 1})
			}
		}
	}
	ask(l, 0, 6) // 1, 4 and 1 of 16
	ask(m, 0, 6)
	one.Forget(t0, "k")
	one.Settle(ctx, t0)
	ask(m, 36*time.Second, 120)
	ask(l, 36*time.Second, 120)
	ask(l, 37*time.Second, 120)
	p := promise{a, func(w time.Duration) int64 { return 101 + int64(w/time.Second) }, 0}
	p.keeps(t, all, 0, nil)
}

// TestLostReplies: what was asked and not answered is not asked again, and what was granted in vain is as if it were spent.
func TestLostReplies(t *testing.T) {
	far := newDistant()
	l := bind(t, leaseOf(t, far, Config{}), limitgate.Count{Limit: 100, Window: time.Hour})
	admitted, lost := int64(0), 0
	for i := range 300 {
		if far.calls%3 == 2 {
			far.lose = 1
		}
		calls := far.calls
		d, err := l.TakeAt(context.Background(), t0.Add(time.Duration(i)), "k", 1)
		switch {
		case err != nil && !errors.Is(err, errLost):
			t.Fatal(err)
		case err != nil:
			if lost++; far.calls != calls+1 {
				t.Errorf("a lost reply took %d calls, want 1", far.calls-calls)
			}
		case d.Admitted():
			admitted++
		}
		far.lose = 0
	}
	if lost == 0 || admitted+int64(lost) > 100 {
		t.Errorf("got %d admitted and %d lost, want at most 100 together", admitted, lost)
	}
}

// TestFailover: a store that loses everything it acknowledged lets a limit be exceeded by what was leased: at most one lease for
// each instance.
func TestFailover(t *testing.T) {
	const instances, lease = 5, 10
	for _, a := range []limitgate.Algorithm{tenPerSecond(), limitgate.Count{Limit: 101, Window: time.Hour}} {
		worst := int64(0)
		for asked := range 40 {
			far := newDistant()
			var ls []*limitgate.Limiter
			for range instances {
				ls = append(ls, bind(t, leaseOf(t, far, Config{Lease: lease, Keys: 64}), a))
			}
			before := int64(0)
			for _, l := range ls {
				before += takes(t, l, t0, "k", asked)
			}
			far.lost()
			after := int64(0)
			for range 300 { // what is leased may be spent, and all that a fresh store has
				for _, l := range ls {
					after += takes(t, l, t0, "k", 1)
				}
			}
			worst = max(worst, after-101)
			if after > 101+instances*lease || before > 101 {
				t.Errorf("%+v: got %d, and %d after the store lost it; want at most 101 and %d", a, before, after, 101+instances*lease)
			}
		}
		if worst <= 0 {
			t.Errorf("%+v: nothing leased survived: the test shows nothing", a)
		}
		t.Logf("%T: at most %d more than a fresh limit, with %d instances and leases of %d", a, worst, instances, lease)
	}
}

// TestOneCall: many who come at once wait for the one call of the first, and those who waited in vain are not many calls.
func TestOneCall(t *testing.T) {
	far := newDistant()
	var under, most atomic.Int64
	far.during = func() {
		most.Store(max(most.Load(), under.Add(1)))
		time.Sleep(time.Millisecond) // as a store takes; moves no clock
		under.Add(-1)
	}
	l := bind(t, leaseOf(t, far, Config{Lease: 50}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 500})
	takes(t, l, t0, "k", 1)
	far.calls = 0
	most.Store(0)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { // ends after one request
			if d, err := l.TakeAt(context.Background(), t0, "k", 1); err == nil && d.Admitted() {
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	if admitted.Load() != 50 || far.calls > 3 || most.Load() != 1 {
		t.Errorf("got %d admitted in %d calls, %d at a time; want 50 in at most 3, one at a time", admitted.Load(), far.calls, most.Load())
	}
}

// TestWaitersShareAFailure: those who wait for a call that fails are told so, without calls of their own; those who wait for somebody
// who left are not.
func TestWaitersShareAFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		leaves bool
		calls  int
		failed int64
	}{{"no answer", false, 1, 4}, {"the borrower left", true, 2, 1}} {
		far := newDistant()
		enter, leave := make(chan struct{}), make(chan struct{})
		far.during = func() {
			enter <- struct{}{}
			<-leave
		}
		z := leaseOf(t, far, Config{Lease: 50})
		l := bind(t, z, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 500})
		ctx, cancel := context.WithCancel(context.Background())
		var failed atomic.Int64
		var wg sync.WaitGroup
		ask := func(ctx context.Context) {
			wg.Go(func() { // ends after one request
				if _, err := l.TakeAt(ctx, t0, "k", 1); err != nil {
					failed.Add(1)
				}
			})
		}
		ask(ctx)
		<-enter
		for range 3 {
			ask(context.Background())
		}
		b := z.table.of("k")
		for waiting := int64(0); waiting < 3; {
			b.lock.Lock()
			for i := range b.entries {
				if f := b.entries[i].flight; f != nil {
					waiting = f.waiting
				}
			}
			b.lock.Unlock()
		}
		if c.leaves {
			cancel()
		} else {
			far.lose = 1
		}
		leave <- struct{}{}
		if c.leaves {
			<-enter
			leave <- struct{}{}
		}
		wg.Wait()
		cancel()
		if failed.Load() != c.failed {
			t.Errorf("%s: got %d failures, want %d", c.name, failed.Load(), c.failed)
		}
	}
}

// TestNoRoom: a key that finds no room is decided about one by one, and as right.
func TestNoRoom(t *testing.T) {
	far := newDistant()
	z := leaseOf(t, far, Config{Keys: 1})
	l := bind(t, z, tenPerSecond())
	for k := range 20 {
		if got := takes(t, l, t0, strconv.Itoa(k), 150); got != 101 {
			t.Errorf("key %d: got %d admitted, want 101", k, got)
		}
	}
	if st := z.Stats(); st.Full < 4*100 || st.Single < st.Full {
		t.Errorf("got %d without room and %d alone, want at least 400", st.Full, st.Single)
	}
	if far.asked != 10 {
		t.Errorf("got batches of %d for the keys that have room, want 10", far.asked)
	}
}

// TestRefunds: what is of the batch goes back into it, without a call, and once; of an older one it goes back to the store.
func TestRefunds(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	z := leaseOf(t, far, Config{})
	l := bind(t, z, limitgate.Count{Limit: 40, Window: time.Hour})
	takes(t, l, t0, "k", 1)
	var rs []limitgate.Receipt
	for range 4 { // 4
		r, _, err := l.TakeReceiptAt(ctx, t0, "k", 1)
		if err != nil || !r.Charged() {
			t.Fatal(err)
		}
		rs = append(rs, r)
	}
	for i := range rs[:2] {
		for range 2 {
			if err := rs[i].RefundAt(ctx, t0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if far.backs != 0 {
		t.Errorf("got %d calls to give back what is of the batch, want none", far.backs)
	}
	calls := far.calls
	if got := takes(t, l, t0, "k", 2); got != 2 || far.calls != calls {
		t.Errorf("got %d of 2 from what was given back, with %d calls, want 2 with none", got, far.calls-calls)
	}
	got := 5 + takes(t, l, t0, "k", 3)
	if err := rs[3].RefundAt(ctx, t0); err != nil || far.backs != 1 {
		t.Errorf("got %v and %d calls for what is of an older batch, want 1", err, far.backs)
	}
	if got += takes(t, l, t0, "k", 100) - 1; got != 40 {
		t.Errorf("got %d admitted that were not refunded, want 40", got)
	}
}

// TestRefundsOfParts: a part of what was spent of a batch is given back, and no more than that.
func TestRefundsOfParts(t *testing.T) {
	ctx := context.Background()
	for _, a := range []limitgate.Algorithm{
		limitgate.Count{Limit: 200, Window: time.Hour},
		limitgate.Count{Limit: 200, Window: time.Hour, Windowing: limitgate.Fixed},
		limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 200},
		limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 199, NoDelay: true, Arithmetic: limitgate.Nginx},
	} {
		z := leaseOf(t, newDistant(), Config{})
		l := bind(t, z, a)
		got, leased := takes(t, l, t0, "k", 30), 0
		for range 3 {
			legs := []limitgate.Leg{{Limiter: l, Key: "k", Cost: 3}}
			before := z.Stats().Single
			v, err := limitgate.All(ctx, t0, legs)
			if err != nil || !v.Admitted() {
				t.Fatalf("%v: got %+v, %v", a.Kind(), v, err)
			}
			if z.Stats().Single == before {
				leased++
			}
			for _, cost := range []limitgate.Cost{1, 1, 0} { // 1 stays
				if err := limitgate.RefundPart(ctx, t0, &legs[0], cost); err != nil {
					t.Fatal(err)
				}
			}
			got++
		}
		if leased == 0 {
			t.Errorf("%v: nothing was spent of a batch: the test shows nothing", a.Kind())
		}
		if got += takes(t, l, t0, "k", 300); got != 200 {
			t.Errorf("%v: got %d admitted, want 200", a.Kind(), got)
		}
	}
}

// TestAllOrNone: what one limit refuses is not charged to another, be that leased or not.
func TestAllOrNone(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	wide := bind(t, leaseOf(t, far, Config{}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 200})
	tight := bind(t, leaseOf(t, far, Config{}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 50})
	admitted := int64(0)
	for range 150 {
		legs := []limitgate.Leg{{Limiter: wide, Key: "w"}, {Limiter: tight, Key: "t"}}
		v, err := limitgate.All(ctx, t0, legs)
		if err != nil {
			t.Fatal(err)
		}
		if v.Admitted() {
			admitted++
		} else if v.Leg != 1 {
			t.Fatalf("got a refusal by leg %d, want the tight one", v.Leg)
		}
	}
	if admitted != 50 || far.calls > 30 {
		t.Errorf("got %d admitted in %d calls, want 50 in at most 30", admitted, far.calls)
	}
	if got := takes(t, wide, t0, "w", 300); got != 150 {
		t.Errorf("got %d of the wide limit afterwards, want 150", got)
	}
}

// TestResetAndPeek: a key that is reset is new, and a check costs nothing and changes nothing.
func TestResetAndPeek(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	l := bind(t, leaseOf(t, far, Config{}), tenPerSecond())
	takes(t, l, t0, "k", 6)
	calls := far.calls
	for range 10 {
		if d, err := l.CheckAt(ctx, t0, "k", 1); err != nil || d.Outcome != limitgate.Passed || d.Remaining != 94 {
			t.Errorf("got %+v %v, want to pass, with 94 remaining", d, err)
		}
	}
	if far.calls != calls {
		t.Errorf("got %d calls for checks of what is leased, want none", far.calls-calls)
	}
	takes(t, l, t0, "k", 200)
	if err := l.Reset(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if got := takes(t, l, t0, "k", 200); got != 101 {
		t.Errorf("got %d after a reset, want 101", got)
	}
}

// TestRemember: a refusal that is remembered for a while only lets through what somebody gave back elsewhere.
func TestRemember(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	a := limitgate.Count{Limit: 10, Window: time.Hour}
	l, m := bind(t, leaseOf(t, far, Config{Remember: time.Second}), a), bind(t, far, a)
	takes(t, l, t0, "k", 11)
	if err := m.Reset(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if got := takes(t, l, t0.Add(time.Second-1), "k", 1); got != 0 {
		t.Errorf("got %d admitted, want none within a second", got)
	}
	if got := takes(t, l, t0.Add(time.Second), "k", 1); got != 1 {
		t.Errorf("got %d admitted after a second, want 1", got)
	}
}

// TestDecisionsAllocateNothing: on what is leased, and on what is known.
func TestDecisionsAllocateNothing(t *testing.T) {
	ctx := context.Background()
	far := newDistant()
	z := leaseOf(t, far, Config{Lease: 30_000})
	l := bind(t, z, limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1_000_000})
	takes(t, l, t0, "k", 20_000)
	full := bind(t, z, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1})
	takes(t, full, t0, "full", 1)
	calls := far.calls
	for key, l := range map[string]*limitgate.Limiter{"k": l, "full": full} {
		if n := testing.AllocsPerRun(1000, func() { _, _ = l.TakeAt(ctx, t0, key, 1) }); n != 0 {
			t.Errorf("%s: got %v allocations a decision, want none", key, n)
		}
	}
	if far.calls != calls {
		t.Errorf("got %d calls, want none", far.calls-calls)
	}
}

// TestClose gives back all that is left, and decides without leases afterwards.
func TestClose(t *testing.T) {
	far := newDistant()
	z, err := New(Config{Zone: far})
	if err != nil {
		t.Fatal(err)
	}
	a := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100}
	l := bind(t, z, a)
	now := limitgate.Now()
	takes(t, l, now, "k", 8)
	z.Close()
	z.Close()
	if got := takes(t, bind(t, far, a), limitgate.Now(), "k", 200); got != 92 {
		t.Errorf("got %d left after closing, want 92", got)
	}
	if st := z.Stats(); st.Returned != 7 || st.Borrowed != 15 {
		t.Errorf("got %+v, want 7 of 15 given back", st)
	}
}

package zonetest

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// t0 is an instant like any other.
const t0 = limitgate.Time(1_800_000_000 * int64(time.Second))

// limiter binds a limit or ends the test.
func limiter(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// take asks and ends the test if there is no answer.
func take(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string, cost limitgate.Cost) limitgate.Decision {
	t.Helper()
	d, err := l.TakeAt(context.Background(), now, key, cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// check asks what take would be told.
func check(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string, cost limitgate.Cost) limitgate.Decision {
	t.Helper()
	d, err := l.CheckAt(context.Background(), now, key, cost)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ms is an instant of a test.
func ms(n int64) limitgate.Time { return t0 + limitgate.Time(n*int64(time.Millisecond)) }

// Kinds tests this: the first limit fixes what a zone holds, and another kind is refused.
func Kinds(t testing.TB, f Factory) {
	kinds := append(takers(1), limitgate.Conn{Limit: 1})
	for _, a := range kinds {
		z := f(t)
		limiter(t, z, a)
		for _, b := range kinds {
			want := a.Kind() == b.Kind() && (a.Kind() != limitgate.KindFixed || a == b)
			if _, err := limitgate.NewLimiter(z, b); (err == nil) != want {
				t.Errorf("%+v on a zone of %v: error %v", b, a.Kind(), err)
			}
		}
	}
}

// alike are limits of each kind that decide something about once in 100 ms.
func alike(burst int64) []limitgate.Algorithm {
	rate := limitgate.PerSecond(10)
	return []limitgate.Algorithm{
		limitgate.Req{Rate: rate, Burst: burst, Delay: 1},
		limitgate.Req{Rate: rate, Burst: burst, Delay: 1, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: rate, Capacity: burst + 1},
		limitgate.Count{Limit: burst + 1, Window: 400 * time.Millisecond},
		limitgate.Count{Limit: burst + 1, Window: 400 * time.Millisecond, Windowing: limitgate.Fixed},
		limitgate.Count{Limit: burst + 1, Window: 400 * time.Millisecond, Windowing: limitgate.Fixed, First: true},
		limitgate.Count{Limit: burst + 1, Window: 400 * time.Millisecond, Windowing: limitgate.Log},
		limitgate.Pace{Rate: 10, Burst: 1, Queue: time.Duration(burst) * 100 * time.Millisecond},
	}
}

// CheckChangesNothing tests this: a check tells what a take would, as often as asked, at every state, a cut included.
func CheckChangesNothing(t testing.TB, f Factory) {
	for _, a := range alike(3) {
		l := limiter(t, f(t), a)
		r := rand.New(rand.NewPCG(1, 2))
		now := int64(0)
		for i := range 500 {
			now += r.Int64N(150)
			at := ms(now)
			if i%100 == 99 {
				at = ms(now - 3_600_000)
			}
			cost := limitgate.Cost(1 + r.Int64N(3))
			c, d := check(t, l, at, "k", cost), check(t, l, at, "k", cost)
			if got := take(t, l, at, "k", cost); got != c || got != d {
				t.Fatalf("%v step %d: checked %+v and %+v, took %+v", a.Kind(), i, c, d, got)
			}
		}
	}
}

// KeepsNoKey tests this: the bytes of a key may change after the call.
func KeepsNoKey(t testing.TB, f Factory) {
	l := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerSecond(1)})
	buf := make([]byte, 0, 8)
	for i := range 100 {
		buf = strconv.AppendInt(buf[:0], int64(i), 10)
		if d := take(t, l, t0, limitgate.BytesKey(buf), 1); d.Outcome != limitgate.Passed {
			t.Fatalf("key %d: got %v, want PASSED", i, d.Outcome)
		}
	}
	for i := range 100 {
		if d := take(t, l, t0, strconv.Itoa(i), 1); d.Outcome != limitgate.Rejected {
			t.Fatalf("key %d: got %v, want REJECTED", i, d.Outcome)
		}
	}
}

// Places tests this: a place is released once, a refused request has none, and the verbs of one kind of limit refuse the other.
func Places(t testing.TB, f Factory) {
	ctx := context.Background()
	conn := limiter(t, f(t), limitgate.Conn{Limit: 2})
	a, _, err := conn.AcquireAt(ctx, t0, "k")
	if err != nil {
		t.Fatal(err)
	}
	b, _, _ := conn.AcquireAt(ctx, t0, "k")
	c, d, _ := conn.AcquireAt(ctx, t0, "k")
	if d.Outcome != limitgate.Rejected || c.Held() || !a.Held() || !b.Held() {
		t.Fatalf("third of two: got %+v", d)
	}
	for range 2 { // the second time does nothing
		if err := a.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if d := check(t, conn, t0, "k", 1); d.Remaining != 0 || d.Outcome != limitgate.Passed {
		t.Errorf("after one release of two: got %+v, want one place free", d)
	}
	if d := check(t, conn, t0, "k", 2); d.Outcome != limitgate.Rejected {
		t.Errorf("after one release of two: got %+v for two places", d)
	}
	_ = b.Release(ctx)
	if d := check(t, conn, t0, "k", 2); d.Outcome != limitgate.Passed {
		t.Errorf("after both: got %+v", d)
	}
	if _, err := conn.TakeAt(ctx, t0, "k", 1); err == nil {
		t.Error("a conn limit was taken")
	}
	if _, _, err := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerSecond(1)}).AcquireAt(ctx, t0, "k"); err == nil {
		t.Error("a req limit was acquired")
	}
}

// Twin tests this: over random requests, refunds and resets the zone decides as Model does, to the last field.
func Twin(t testing.TB, f Factory) {
	for i := range alike(1) {
		for seed := range uint64(6) {
			twin(t, f(t), i, rand.New(rand.NewPCG(seed, 4)))
		}
	}
}

// twin asks a zone and a Model the same. Two limits of one kind share each.
func twin(t testing.TB, z limitgate.Zone, kind int, r *rand.Rand) {
	ctx := context.Background()
	m := NewModel()
	var a, b [2]*limitgate.Limiter
	for i := range a {
		q := alike(r.Int64N(12))[kind]
		a[i], b[i] = limiter(t, z, q), limiter(t, m, q)
	}
	type pair struct{ a, b limitgate.Receipt }
	var kept []pair
	now := t0
	for i := range 400 {
		now += limitgate.Time(r.Int64N(int64(100 * time.Millisecond)))
		switch r.IntN(40) {
		case 0:
			now -= limitgate.Time(r.Int64N(int64(time.Hour)))
		case 1:
			now -= limitgate.Time(r.Int64N(int64(time.Second)))
		case 2:
			now += limitgate.Time(r.Int64N(int64(time.Hour)))
		}
		key, cost, n := strconv.Itoa(r.IntN(5)), limitgate.Cost(1), r.IntN(2)
		switch r.IntN(12) {
		case 0, 1:
			cost += limitgate.Cost(r.Int64N(4))
		case 2:
			if len(kept) > 0 {
				k := r.IntN(len(kept))
				_, _ = kept[k].a.RefundAt(ctx, now), kept[k].b.RefundAt(ctx, now)
			}
		case 3:
			if r.IntN(10) == 0 {
				_, _ = a[n].Reset(ctx, key), b[n].Reset(ctx, key)
			}
		}
		ra, got, err := a[n].TakeReceiptAt(ctx, now, key, cost)
		rb, want, err2 := b[n].TakeReceiptAt(ctx, now, key, cost)
		if got != want || err != nil || err2 != nil {
			t.Fatalf("%+v, step %d: got %+v %v, want %+v", a[n].Algorithm(), i, got, err, want)
		}
		kept = append(kept, pair{ra, rb})
	}
}

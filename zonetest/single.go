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
	req := limitgate.Req{Rate: limitgate.PerSecond(1)}
	nginx := limitgate.Req{Rate: limitgate.PerSecond(1), Arithmetic: limitgate.Nginx}
	kinds := []limitgate.Algorithm{req, nginx, limitgate.Conn{Limit: 1}}
	for i, a := range kinds {
		z := f(t)
		limiter(t, z, a)
		for j, b := range kinds {
			if _, err := limitgate.NewLimiter(z, b); (err == nil) != (i == j) {
				t.Errorf("%v on a zone of %v: error %v", b.Kind(), a.Kind(), err)
			}
		}
	}
}

// CheckChangesNothing tests this: a check tells what a take would, as often as asked, at every state, a cut included.
func CheckChangesNothing(t testing.TB, f Factory) {
	for _, a := range []limitgate.Arithmetic{limitgate.Exact, limitgate.Nginx} {
		l := limiter(t, f(t), limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 3, Delay: 1, Arithmetic: a})
		r := rand.New(rand.NewPCG(1, 2))
		now := int64(0)
		for i := range 500 {
			now += r.Int64N(150)
			at := ms(now)
			if i%100 == 99 {
				at = ms(now - 3_600_000)
			}
			cost := limitgate.Cost(1 + r.Int64N(3))
			a, b := check(t, l, at, "k", cost), check(t, l, at, "k", cost)
			if got := take(t, l, at, "k", cost); got != a || got != b {
				t.Fatalf("step %d: checked %+v and %+v, took %+v", i, a, b, got)
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

// Twin tests this: over random requests the zone decides as Model does, to the last field.
func Twin(t testing.TB, f Factory) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		q := limitgate.Req{Rate: limitgate.Per(1+r.Int64N(50), time.Duration(1+r.Int64N(90))*time.Second), Burst: r.Int64N(6), Delay: r.Int64N(3)}
		if r.IntN(2) == 0 {
			q.Arithmetic = limitgate.Nginx
		}
		other := q
		other.Burst = r.Int64N(12)
		za, zb := f(t), NewModel()
		var a, b [2]*limitgate.Limiter
		for i, q := range []limitgate.Req{q, other} {
			a[i], b[i] = limiter(t, za, q), limiter(t, zb, q)
		}
		now := t0
		for i := range 300 {
			now += limitgate.Time(r.Int64N(int64(q.Rate.Interval())))
			if r.IntN(40) == 0 {
				now -= limitgate.Time(r.Int64N(int64(time.Hour)))
			}
			key, cost, n := strconv.Itoa(r.IntN(5)), limitgate.Cost(1), r.IntN(2)
			if r.IntN(5) == 0 {
				cost += limitgate.Cost(r.Int64N(4))
			}
			if got, want := take(t, a[n], now, key, cost), take(t, b[n], now, key, cost); got != want {
				t.Fatalf("%+v, step %d: got %+v, want %+v", q, i, got, want)
			}
		}
	}
}

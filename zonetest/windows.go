package zonetest

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/vectors"
)

// TokenVectors runs token.json and the token buckets of articles.json, but for three corners of other products: two clocks
// that go back, and a cost that can never pass told as if it could.
func TokenVectors(t testing.TB, f Factory) {
	skip := []string{"tk-s2-back", "tk-gcra-6", "tk-gcra-0"}
	for _, c := range slices.Concat(vectors.Load(t, "token").Select("token_ms"), vectors.Load(t, "articles").Select("token_ms")) {
		if !slices.Contains(skip, c.ID) {
			runCount(t, f, c, limitgate.Token{Rate: limitgate.PerSecond(c.Params.RatePerS), Capacity: c.Params.Capacity}, time.Millisecond)
		}
	}
	for _, c := range vectors.Load(t, "token").Select("gcra_throttled") {
		if !slices.Contains(skip, c.ID) {
			runCount(t, f, c, limitgate.Token{Rate: limitgate.Per(1, time.Duration(c.Params.PeriodNS)), Capacity: c.Params.MaxBurst + 1}, 1)
		}
	}
}

// FixedVectors runs what fixed.json says of windows that do not count refusals.
func FixedVectors(t testing.TB, f Factory) {
	for _, model := range []string{"fixed_aligned", "fixed_first_hit"} {
		for _, c := range vectors.Load(t, "fixed").Select(model) {
			if p := c.Params; p.CountRejected != nil && !*p.CountRejected {
				runCount(t, f, c, limitgate.Count{
					Limit: p.Limit, Window: vectors.MS(p.WindowMS), Windowing: limitgate.Fixed, First: model == "fixed_first_hit",
				}, 1)
			}
		}
	}
}

// SlidingVectors runs sliding_counter.json, model sliding_rl.
func SlidingVectors(t testing.TB, f Factory) {
	for _, c := range vectors.Load(t, "sliding_counter").Select("sliding_rl") {
		runCount(t, f, c, limitgate.Count{Limit: c.Params.Limit, Window: vectors.MS(c.Params.WindowMS)}, 1)
	}
}

// LogVectors runs sliding_log.json and the log of articles.json.
func LogVectors(t testing.TB, f Factory) {
	for _, c := range slices.Concat(vectors.Load(t, "sliding_log").Select("log_set"), vectors.Load(t, "articles").Select("log_set")) {
		runCount(t, f, c, limitgate.Count{Limit: c.Params.Limit, Window: vectors.MS(c.Params.WindowMS), Windowing: limitgate.Log}, 1)
	}
}

// ArticleVectors runs the nginx parts of articles.json under its arithmetic; and under the exact one, where a millisecond
// of difference is allowed: the rates are whole thousandths a second.
func ArticleVectors(t testing.TB, f Factory) {
	a := vectors.Load(t, "articles")
	for _, c := range a.Select("nginx_limit_req") {
		newReqCase(t, f, c, limitgate.Nginx).run(epochs()[1])
		c.ToleranceMS = 1
		newReqCase(t, f, c, limitgate.Exact).run(epochs()[1])
	}
	for _, c := range a.Select("nginx_limit_conn") {
		runConn(t, f, c)
	}
}

// runCount tells a case of a bucket or a window from two epochs, both multiples of its window. grain is what its times are
// rounded up to.
func runCount(t testing.TB, f Factory, c vectors.Case, a limitgate.Algorithm, grain time.Duration) {
	t.Helper()
	window := int64(max(vectors.MS(c.Params.WindowMS), 1))
	for _, epoch := range []limitgate.Time{0, t0 - limitgate.Time(int64(t0)%window)} {
		l := limiter(t, f(t), a)
		for i, e := range c.Events {
			now, x, cost := epoch.Add(e.At()), c.Expect[i], limitgate.Cost(e.Amount())
			d, free := ask(t, l, now, e, cost)
			if want := x.Verdict != "reject"; d.Admitted() != want || x.Remaining != nil && free != *x.Remaining {
				t.Errorf("%s event %d: got %v, remaining %d; want %s, %v", c.ID, i, d.Outcome, free, x.Verdict, *x.Remaining)
			}
			retry := time.Duration(0)
			if x.RetryAfterMS != nil && *x.RetryAfterMS > 0 {
				retry = vectors.MS(*x.RetryAfterMS)
			}
			if got := (d.RetryAfter() + grain - 1) / grain * grain; e.Op == "take" && got != retry && (x.RetryAfterMS != nil || c.Params.Model != "sliding_rl") {
				t.Errorf("%s event %d: retry after %v, want %v", c.ID, i, d.RetryAfter(), retry)
			}
			if x.Tokens != nil {
				left := float64(c.Params.Capacity) - 1 - float64(d.Excess)/1000
				if d.Outcome == limitgate.Rejected {
					left += float64(cost)
				}
				if math.Abs(left-*x.Tokens) > 0.001000001 { // excess is rounded down, tokens are too
					t.Errorf("%s event %d: %v tokens left, want %v", c.ID, i, left, *x.Tokens)
				}
			}
			if x.ResetMS != nil {
				resets(t, l, now, e.Key, vectors.MS(*x.ResetMS), c.ID, i)
			}
		}
	}
}

// ask asks as an event says, and gives what is left after it.
func ask(t testing.TB, l *limitgate.Limiter, now limitgate.Time, e vectors.Event, cost limitgate.Cost) (d limitgate.Decision, free int64) {
	t.Helper()
	if cost > 0 && e.Op != "peek" {
		d = take(t, l, now, e.Key, cost)
		return d, d.Remaining
	}
	d = check(t, l, now, e.Key, max(cost, 1)) // charges nothing
	if free = d.Remaining; d.Admitted() {
		free += int64(max(cost, 1))
	}
	if cost == 0 {
		d = limitgate.Decision{}
	}
	return d, free
}

// resets tests that from reset on, and not before, the key is as new: all of the limit passes at once.
func resets(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string, reset time.Duration, id string, i int) {
	t.Helper()
	all := int64(0)
	switch a := l.Algorithm().(type) {
	case limitgate.Token:
		all = a.Capacity
	case limitgate.Count:
		all = a.Limit
	}
	if d := check(t, l, now.Add(reset), key, limitgate.Cost(all)); !d.Admitted() {
		t.Errorf("%s event %d: not as new after %v: %+v", id, i, reset, d)
	}
	if untouched := check(t, l, now, key, 1).Remaining == all-1; untouched || reset == 0 {
		return
	}
	if d := check(t, l, now.Add(reset-1), key, limitgate.Cost(all)); d.Admitted() {
		t.Errorf("%s event %d: as new before %v", id, i, reset)
	}
}

// Windows tests this: what a window does when it is changed, asked for too much, reset and refunded, on a zone.
func Windows(t testing.TB, f Factory) {
	ctx := context.Background()
	for _, w := range []limitgate.Windowing{limitgate.Sliding, limitgate.Fixed, limitgate.Log} {
		z := f(t)
		l := limiter(t, z, limitgate.Count{Limit: 10, Window: time.Minute, Windowing: w})
		if d := take(t, l, t0, "k", 11); d.Outcome != limitgate.Rejected || d.RetryAfter() != 0 || d.Remaining != 10 {
			t.Errorf("%v: more than ever: %+v", w, d)
		}
		r, d, err := l.TakeReceiptAt(ctx, t0, "k", 4)
		if err != nil || d.Remaining != 6 || !r.Charged() {
			t.Fatalf("%v: %+v %v", w, d, err)
		}
		take(t, l, t0, "k", 5)
		for range 2 { // the second refund does nothing
			if err := r.RefundAt(ctx, t0); err != nil {
				t.Fatal(err)
			}
			if d := check(t, l, t0, "k", 1); d.Remaining != 4 {
				t.Errorf("%v: refunded four of nine: %+v", w, d)
			}
		}
		// A larger limit keeps what is counted, another window does not, and needs a zone or a configuration of its own.
		if d := check(t, limiter(t, z, limitgate.Count{Limit: 20, Window: time.Minute, Windowing: w}), t0, "k", 1); d.Remaining != 14 {
			t.Errorf("%v: twice the limit: %+v", w, d)
		}
		if _, err := limitgate.NewLimiter(z, limitgate.Count{Limit: 10, Window: time.Hour, Windowing: w}); err == nil {
			t.Errorf("%v: two windows in one configuration", w)
		}
		if z, ok := z.(interface{ Rebind() }); ok {
			z.Rebind()
			hour := limiter(t, z.(limitgate.Zone), limitgate.Count{Limit: 10, Window: time.Hour, Windowing: w})
			if d := check(t, hour, t0, "k", 1); d.Remaining != 9 {
				t.Errorf("%v: another window does not begin afresh: %+v", w, d)
			}
		}
		resetKey(t, l)
	}
}

// Resets tests this: after a reset a key is new, and receipts from before are for nothing.
func Resets(t testing.TB, f Factory) {
	for _, a := range takers(8) {
		resetKey(t, limiter(t, f(t), a))
	}
	conn := limiter(t, f(t), limitgate.Conn{Limit: 1})
	if err := conn.Reset(context.Background(), "k"); err == nil {
		t.Error("a conn limit was reset")
	}
}

func resetKey(t testing.TB, l *limitgate.Limiter) {
	t.Helper()
	ctx := context.Background()
	name := l.Algorithm().Kind()
	fresh := check(t, l, t0, "reset", 1)
	r, _, err := l.TakeReceiptAt(ctx, t0, "reset", 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Reset(ctx, "reset"); err != nil {
		t.Fatal(err)
	}
	if d := take(t, l, t0, "reset", 1); d != fresh {
		t.Errorf("%v: after a reset %+v, want %+v", name, d, fresh)
	}
	was := check(t, l, t0, "reset", 1)
	if err := r.RefundAt(ctx, t0); err != nil {
		t.Fatal(err)
	}
	if d := check(t, l, t0, "reset", 1); d != was {
		t.Errorf("%v: a receipt from before the reset gave something back: %+v, want %+v", name, d, was)
	}
	if err := l.Reset(ctx, "reset"); err != nil {
		t.Fatal(err)
	}
}

// Parts tests this: of what was charged a part can be given back, whether it is the last charge or others came behind it; the rest stays
// charged, and can be given back too.
func Parts(t testing.TB, f Factory) {
	for _, a := range takers(20) {
		for _, behind := range []limitgate.Cost{0, 3} {
			l := limiter(t, f(t), a)
			part(t, l, behind)
		}
	}
}

func part(t testing.TB, l *limitgate.Limiter, behind limitgate.Cost) {
	t.Helper()
	ctx := context.Background()
	take(t, l, t0, "part", 2)
	legs := []limitgate.Leg{{Limiter: l, Key: "part", Cost: 10}}
	if v, err := limitgate.All(ctx, t0, legs); err != nil || !v.Admitted() {
		t.Fatalf("%v: got %+v, %v", l.Algorithm().Kind(), v, err)
	}
	if behind > 0 {
		take(t, l, t0, "part", behind)
	}
	free := int64(20 - 2 - 10 - behind)
	for _, back := range []struct{ cost, gives limitgate.Cost }{{0, 0}, {-1, 0}, {4, 4}, {1, 1}, {9, 5}, {1, 0}} {
		if err := limitgate.RefundPart(ctx, t0, &legs[0], back.cost); err != nil {
			t.Fatal(err)
		}
		free += int64(back.gives)
		fits, over := check(t, l, t0, "part", limitgate.Cost(free)), check(t, l, t0, "part", limitgate.Cost(free+1))
		if !fits.Admitted() || over.Admitted() {
			t.Errorf("%v, %d behind it, %d given back: got %+v for %d and %+v for one more, want just so many left",
				l.Algorithm().Kind(), behind, back.cost, fits, free, over)
		}
	}
}

// takers is a limit of each kind that can be taken: n at once, then none for a long time.
func takers(n int64) []limitgate.Algorithm {
	return []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerDay(1), Burst: n - 1, NoDelay: true},
		limitgate.Req{Rate: limitgate.PerMinute(1), Burst: n - 1, NoDelay: true, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: limitgate.PerDay(1), Capacity: n},
		limitgate.Count{Limit: n, Window: time.Hour},
		limitgate.Count{Limit: n, Window: time.Hour, Windowing: limitgate.Fixed},
		limitgate.Count{Limit: n, Window: time.Hour, Windowing: limitgate.Fixed, First: true},
		limitgate.Count{Limit: min(n, limitgate.Log.Max()), Window: time.Hour, Windowing: limitgate.Log},
		limitgate.Pace{Rate: 1, Queue: time.Duration(n) * time.Second},
	}
}

package rediszone

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/memzone"
)

// TestSeveralLimitsDecideAsInMemory: several limits of all kinds on one request, in one script, say what the same limits say in
// memory, and leave what they leave there; refunds, too.
func TestSeveralLimitsDecideAsInMemory(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	ctx, round := t.Context(), 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		var near, far []limitgate.Leg
		for i := range rapid.IntRange(2, 5).Draw(r, "limits") {
			rate := limitgate.Per(1, time.Duration(rapid.Int64Range(1e6, 1e10).Draw(r, "per")))
			n, w := rapid.Int64Range(1, 8).Draw(r, "n"), time.Duration(rapid.Int64Range(1e7, 2e10).Draw(r, "window")).Truncate(time.Millisecond)
			a := []limitgate.Algorithm{
				limitgate.Req{Rate: rate, Burst: n, Delay: n / 2},
				limitgate.Req{Rate: rate, Burst: n, NoDelay: true, Arithmetic: limitgate.Nginx},
				limitgate.Token{Rate: rate, Capacity: n},
				limitgate.Pace{Rate: 1 + 1e9/int64(rate.Interval()), Burst: n, Queue: time.Second},
				limitgate.Count{Limit: n, Window: w},
				limitgate.Count{Limit: n, Window: w, Windowing: limitgate.Fixed, First: n%2 == 0},
				limitgate.Count{Limit: n, Window: w, Windowing: limitgate.Log},
			}[rapid.IntRange(0, 6).Draw(r, "kind")]
			if a.Validate() != nil {
				r.Skip("no such limit")
			}
			z := zone(t, Config{Store: s, Name: fmt.Sprint(round, ".", i), Clock: CallerTime})
			m := memzone.New(memzone.Config{Bytes: 1 << 16})
			key, cost := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "key"), limitgate.Cost(rapid.IntRange(1, 2).Draw(r, "cost"))
			near = append(near, limitgate.Leg{Limiter: bound(t, m, a), Key: key, Cost: cost})
			far = append(far, limitgate.Leg{Limiter: bound(t, z, a), Key: key, Cost: cost})
		}
		now := t0
		for range 25 {
			now = now.Add(time.Duration(rapid.Int64Range(-1e8, 3e9).Draw(r, "gap")))
			want, err := limitgate.All(ctx, now, near)
			if err != nil {
				r.Fatal(err)
			}
			got, err := limitgate.All(ctx, now, far)
			if err != nil || got != want {
				r.Fatalf("got %+v %v, want %+v", got, err, want)
			}
			for i := range near {
				if d, w := far[i].Decision, near[i].Decision; want.Admitted() && d != w {
					r.Fatalf("limit %d: got %+v, want %+v", i, d, w)
				}
			}
			if rapid.IntRange(0, 3).Draw(r, "refund") == 0 {
				now = now.Add(time.Duration(rapid.Int64Range(0, 1e9).Draw(r, "later")))
				if err := limitgate.RefundAll(ctx, now, near); err != nil {
					r.Fatal(err)
				}
				if err := limitgate.RefundAll(ctx, now, far); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

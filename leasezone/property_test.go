package leasezone

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"pgregory.net/rapid"
)

// spent is something admitted, and when.
type spent struct {
	at   limitgate.Time
	cost int64
}

// promise is a limit and how much it lets through at most in a stretch of time that includes its end.
type promise struct {
	limit limitgate.Algorithm
	most  func(w time.Duration) int64
	per   time.Duration // of windows that end for everybody at the same time; 0: of others
}

// drawPromise draws a limit of one of the kinds that are leased.
func drawPromise(t *rapid.T) promise {
	burst := rapid.Int64Range(0, 60).Draw(t, "burst")
	per := time.Duration(rapid.Int64Range(5, 2_000).Draw(t, "per")) * time.Millisecond
	rate := limitgate.Per(1, per)
	bucket := func(w time.Duration) int64 { return 1 + burst + int64(w/rate.Interval()) }
	windows := func(w time.Duration) int64 { return (burst + 1) * int64(w/(10*per)+2) }
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return promise{limitgate.Req{Rate: rate, Burst: burst, NoDelay: true}, bucket, 0}
	case 1:
		return promise{limitgate.Req{Rate: rate, Burst: burst, Delay: rapid.Int64Range(0, 60).Draw(t, "delay")}, bucket, 0}
	case 2:
		return promise{limitgate.Token{Rate: rate, Capacity: burst + 1}, bucket, 0}
	case 3:
		// Thousandths of a request in whole milliseconds, of which a stretch of time touches one more than it is long.
		return promise{limitgate.Req{Rate: rate, Burst: burst, NoDelay: true, Arithmetic: limitgate.Nginx}, func(w time.Duration) int64 {
			return 1 + burst + rate.Thousandths()*(w.Milliseconds()+1)/1_000_000
		}, 0}
	case 4:
		return promise{limitgate.Count{Limit: burst + 1, Window: 10 * per}, windows, 10 * per}
	case 5:
		return promise{limitgate.Count{Limit: burst + 1, Window: 10 * per, Windowing: limitgate.Fixed}, windows, 10 * per}
	}
	return promise{limitgate.Count{Limit: burst + 1, Window: 10 * per, Windowing: limitgate.Fixed, First: true}, windows, 0}
}

// keeps ends the test if more was admitted than promised in any stretch of time, or in any window.
func (p promise) keeps(t interface{ Fatalf(string, ...any) }, all []spent, more int64, trace *strings.Builder) {
	counts := map[limitgate.Time]int64{}
	for i, a := range all {
		n := int64(0)
		for _, b := range all[i:] {
			n += b.cost
			if most := p.most(b.at.Sub(a.at)) + more; n > most {
				t.Fatalf("%+v: %d in %v, at most %d\n%s", p.limit, n, b.at.Sub(a.at), most, trace)
			}
		}
		if p.per > 0 {
			w := a.at / limitgate.Time(p.per)
			if counts[w] += a.cost; counts[w] > p.most(-p.per)+more {
				t.Fatalf("%+v: %d in one window\n%s", p.limit, counts[w], trace)
			}
		}
	}
}

// TestNeverExceeded: some instances that borrow, and one that does not, share a limit, and whatever they do, no more is admitted in any
// stretch of time, or window, than the limit admits, by the time of the store. Replies get lost, charges are refunded, keys are
// settled in between, and a store with its own clock is as far ahead of the instances as it likes. After each refusal the one
// instance that asks alone is admitted when it was told to come again.
func TestNeverExceeded(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPromise(rt)
		far := newDistant()
		if rapid.Bool().Draw(rt, "own clock") {
			far.offset = time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(rt, "ahead"))
		}
		lease := rapid.Int64Range(0, 20).Draw(rt, "lease")
		var zones []*Zone
		var ls []*limitgate.Limiter
		for range rapid.IntRange(1, 4).Draw(rt, "instances") {
			zones = append(zones, leaseOf(t, far, Config{Lease: lease, Keys: 8, Idle: 1}))
		}
		for _, z := range zones {
			ls = append(ls, bind(t, z, p.limit))
		}
		if rapid.Bool().Draw(rt, "strict too") {
			ls = append(ls, bind(t, far, p.limit))
		}
		type taken struct {
			r limitgate.Receipt
			i int // in all
		}
		var all []spent
		var kept []taken
		var trace strings.Builder
		now, lost := t0, false // a reply was lost: what is known is less than what is charged
		more := int64(0)
		gap := rapid.Int64Range(1, int64(time.Second)).Draw(rt, "gap")
		for range rapid.IntRange(1, 300).Draw(rt, "requests") {
			if g := rapid.Int64Range(0, 3*gap).Draw(rt, "wait"); g%3 > 0 {
				now = now.Add(time.Duration(g))
			}
			n := rapid.IntRange(0, len(ls)-1).Draw(rt, "instance")
			cost := int64(1)
			switch rapid.IntRange(0, 20).Draw(rt, "what") {
			case 0:
				cost = rapid.Int64Range(2, 5).Draw(rt, "cost")
			case 1:
				far.lose, lost = 1, true
			case 2, 3, 4:
				if n < len(zones) { // it gives back, and asks again right away
					zones[n].Forget(now, "k")
					zones[n].Settle(ctx, now)
				}
			case 5:
				if n < len(zones) {
					zones[n].Settle(ctx, now)
				}
			case 6:
				if len(kept) > 0 {
					k := rapid.IntRange(0, len(kept)-1).Draw(rt, "receipt")
					if kept[k].r.Charged() {
						// It is as if it had never been, and who came behind it is up to as much later as it gives back.
						more += all[kept[k].i].cost
						all[kept[k].i].cost = 0
						if err := kept[k].r.RefundAt(ctx, now); err != nil {
							rt.Fatal(err)
						}
					}
				}
			}
			r, d, err := ls[n].TakeReceiptAt(ctx, now, "k", limitgate.Cost(cost))
			fmt.Fprintf(&trace, "%v instance %d cost %d: %+v %v\n", now.Sub(t0), n, cost, d, err)
			if err != nil && err != errLost {
				rt.Fatal(err)
			}
			if err == nil && d.Admitted() {
				kept = append(kept, taken{r, len(all)})
				all = append(all, spent{now.Add(d.Delay() + far.offset), cost})
			} else if wait := d.RetryAfter(); err == nil && wait > 0 && len(ls) == 1 && !lost {
				if again, err := ls[n].CheckAt(ctx, now.Add(wait), "k", limitgate.Cost(cost)); err != nil || !again.Admitted() {
					rt.Fatalf("%+v: refused, told to come in %v: %+v %v\n%s", p.limit, wait, again, err, &trace)
				}
			}
		}
		if far.asked > max(20, 5) {
			rt.Fatalf("asked for %d at a time", far.asked)
		}
		p.keeps(rt, sorted(all), more, &trace)
	})
}

// sorted sorts by time: what was delayed goes on later than what was decided about after it.
func sorted(all []spent) []spent {
	for i := range all {
		for j := i; j > 0 && all[j].at < all[j-1].at; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return all
}

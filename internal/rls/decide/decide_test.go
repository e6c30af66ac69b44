package decide_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/memzone"
)

// t0 is the beginning of an hour.
const t0 = limitgate.Time(1_700_000_000 / 3600 * 3600 * 1_000_000_000)

func decider(t testing.TB, rules string, o decide.Options) (*decide.Decider, *stats.Registry) {
	t.Helper()
	table, _, err := load.Compile([]config.Source{{Name: "rules.yaml", Text: []byte(rules)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	r := new(stats.Registry)
	if o.NearRatio == 0 {
		o.NearRatio = 0.8
	}
	d, err := decide.New(table, o, decide.NewMemory(memzone.Config{Bytes: 1 << 20, Seed: 1}), r, decide.NewCache(1))
	if err != nil {
		t.Fatal(err)
	}
	return d, r
}

// request asks for one entry of each key, all with one value.
func request(domain, value string, keys ...string) *decide.Request {
	r := &decide.Request{Domain: domain}
	r.Grow(len(keys))
	for _, k := range keys {
		r.Add(1).Entries[0] = match.Entry{Key: k, Value: value}
	}
	return r
}

const kinds = `
domain: d
descriptors:
  - key: fixed
    rate_limit: {unit: hour, requests_per_unit: 4}
  - key: sliding
    rate_limit: {unit: hour, requests_per_unit: 4, algorithm: sliding}
  - key: token
    rate_limit: {unit: hour, requests_per_unit: 4, algorithm: token, burst: 2}
  - key: leaky
    rate_limit: {unit: hour, requests_per_unit: 4, algorithm: leaky}
  - key: twohours
    rate_limit: {unit: hour, requests_per_unit: 4, unit_multiplier: 2}
  - key: nested
    descriptors:
      - key: user
        value: a*
        detailed_metric: true
        rate_limit: {unit: hour, requests_per_unit: 1000000}
`

// What each algorithm lets pass in an hour of a request a minute, and when those that it refuses may come again.
func TestAlgorithms(t *testing.T) {
	d, _ := decider(t, kinds, decide.Options{})
	for _, c := range []struct {
		key     string
		minutes []int // that pass
		resets  map[int]int64
	}{
		{"fixed", []int{0, 1, 2, 3, 60, 61, 62, 63}, map[int]int64{0: 3600, 10: 3000, 59: 60}},
		{"sliding", []int{0, 1, 2, 3, 61, 76, 91, 106}, map[int]int64{0: 3600}},
		{"token", []int{0, 1, 15, 30, 45, 60, 75, 90, 105}, map[int]int64{0: 900, 1: 1740, 2: 13 * 60}},
		{"leaky", []int{0, 15, 30, 45, 60, 75, 90, 105}, map[int]int64{0: 900, 1: 14 * 60}},
		{"twohours", []int{0, 1, 2, 3}, map[int]int64{0: 7200}},
	} {
		begin := t0 - t0%limitgate.Time(2*time.Hour)
		var passed []int
		var a decide.Answer
		for m := range 120 {
			if err := d.Decide(context.Background(), begin.Add(time.Duration(m)*time.Minute), request("d", "x", c.key), &a); err != nil {
				t.Fatal(err)
			}
			if !a.Over {
				passed = append(passed, m)
			}
			if want, ok := c.resets[m]; ok && a.Statuses[0].Reset != want {
				t.Errorf("%s at minute %d: got a reset in %d s, want %d", c.key, m, a.Statuses[0].Reset, want)
			}
			if a.Over && a.RetryAfter != a.Statuses[0].Reset {
				t.Errorf("%s at minute %d: got Retry-After %d, want %d", c.key, m, a.RetryAfter, a.Statuses[0].Reset)
			}
		}
		if got, want := fmt.Sprint(passed), fmt.Sprint(c.minutes); got != want {
			t.Errorf("%s: minutes %s pass, want %s", c.key, got, want)
		}
	}
}

// A limit that refuses a cost for ever, or everything, has no time to come again.
func TestNoTimeToComeAgain(t *testing.T) {
	d, _ := decider(t, kinds+"  - key: never\n    rate_limit: {unit: hour, requests_per_unit: 0}\n", decide.Options{})
	var a decide.Answer
	for _, key := range []string{"fixed", "token", "never"} {
		r := request("d", "y", key)
		r.Hits = 5
		if err := d.Decide(context.Background(), t0, r, &a); err != nil {
			t.Fatal(err)
		}
		if !a.Over || a.RetryAfter != 0 {
			t.Errorf("%s: got over %v, Retry-After %d; want over and 0", key, a.Over, a.RetryAfter)
		}
	}
}

// The same request again and again makes no garbage.
func TestDecideAllocatesNothing(t *testing.T) {
	if racing.Detector {
		t.Skip("garbage is not counted under the race detector")
	}
	d, _ := decider(t, kinds, decide.Options{})
	var a decide.Answer
	nested := &decide.Request{Domain: "d"}
	nested.Grow(2)
	e := nested.Add(2).Entries
	e[0], e[1] = match.Entry{Key: "nested", Value: "shop"}, match.Entry{Key: "user", Value: "ann"}
	for name, r := range map[string]*decide.Request{
		"one": request("d", "x", "fixed"), "three": request("d", "x", "fixed", "token", "none"), "nested": nested, "sliding": request("d", "x", "sliding"),
	} {
		now, ctx := t0, context.Background()
		n := testing.AllocsPerRun(1000, func() {
			now = now.Add(time.Millisecond)
			if err := d.Decide(ctx, now, r, &a); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// Any pair of window and number that is read can be bound.
func TestWhatIsReadCanBeBound(t *testing.T) {
	for _, algorithm := range []string{"fixed", "sliding", "token", "leaky"} {
		for _, unit := range []string{"second", "minute", "hour", "day", "week", "month", "year"} {
			for _, n := range []uint32{0, 1, 3, 4, 1_000_000, 1_048_575, 1 << 24, 1<<32 - 1} {
				rules := fmt.Sprintf("domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: %s, requests_per_unit: %d, algorithm: %s}\n", unit, n, algorithm)
				table, _, err := load.Compile([]config.Source{{Name: "rules.yaml", Text: []byte(rules)}}, false)
				if err != nil {
					continue
				}
				if _, err := decide.New(table, decide.Options{}, decide.NewMemory(memzone.Config{Bytes: 1 << 10}), new(stats.Registry), nil); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// Many that ask at once: exactly as many pass as the limit says.
func TestConservation(t *testing.T) {
	d, r := decider(t, "domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: hour, requests_per_unit: 1000}\n", decide.Options{})
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var a decide.Answer
			for range 500 {
				if err := d.Decide(context.Background(), t0, request("d", "x", "a"), &a); err != nil {
					t.Error(err)
					return
				}
				if !a.Over {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != 1000 {
		t.Errorf("%d passed, want 1000", n)
	}
	c := r.Rule("d.a")
	if got := [3]uint64{c.Total.Load(), c.Within.Load(), c.Over.Load()}; got != [3]uint64{4000, 1000, 3000} {
		t.Errorf("got total, within, over %v, want 4000, 1000, 3000", got)
	}
}

// Metadata of rules is merged into maps of the answer, never into those of the rules.
func TestMergeLeavesRulesAlone(t *testing.T) {
	d, _ := decider(t, `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: hour, requests_per_unit: 10}
    metadata: {x: {p: 1}}
  - key: b
    rate_limit: {unit: hour, requests_per_unit: 10}
    metadata: {x: {p: 9, q: 2}}
`, decide.Options{})
	var a decide.Answer
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"a", "b"}, "map[x:map[p:1 q:2]]"}, {[]string{"a"}, "map[x:map[p:1]]"}, {[]string{"b", "a"}, "map[x:map[p:9 q:2]]"},
	} {
		if err := d.Decide(context.Background(), t0, request("d", "x", c.keys...), &a); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(a.Merge()); got != c.want {
			t.Errorf("%v: got %s, want %s", c.keys, got, c.want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	d, _ := decider(b, "domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: hour, requests_per_unit: 4000000000}\n", decide.Options{})
	r, ctx := request("d", "192.0.2.1", "a"), context.Background()
	var a decide.Answer
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Decide(ctx, t0, r, &a); err != nil {
			b.Fatal(err)
		}
	}
}

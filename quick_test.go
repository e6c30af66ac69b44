package limitgate

import (
	"testing"

	"pgregory.net/rapid"
)

// TestQuickIsStep: where Quick says so, QuickStep does what Step of the limit's steps does, also of the steps that Wait asks; and
// limits without a quick way have none.
func TestQuickIsStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := PerSecond(rapid.Int64Range(1, 1_000_000).Draw(t, "rate"))
		burst := rapid.Int64Range(0, 20).Draw(t, "burst")
		a := rapid.SampledFrom([]Algorithm{
			Req{Rate: rate, Burst: burst, Delay: burst / 2}, Req{Rate: rate, Burst: burst, Arithmetic: Nginx},
			Token{Rate: rate, Capacity: burst + 1}, Token{Rate: rate, Capacity: burst + 1, Queue: 7},
			Conn{Limit: burst + 1}, Count{Limit: burst + 1, Window: maxWindow}, Pace{Rate: 1000},
		}).Draw(t, "limit")
		limits := []*Limit{{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}}
		if p, ok := limits[0].Steps.(promiser); ok {
			if s := p.promises(); s != nil {
				limits = append(limits, &Limit{Algorithm: a, Kind: a.Kind(), Steps: s})
			}
		}
		now := Time(rapid.SampledFrom([]int64{-5, 0, 1, 1 << 60, 1<<63 - 1}).Draw(t, "now"))
		word := State(int64(now) + rapid.Int64Range(-3, 3).Draw(t, "ahead"))
		if rapid.Bool().Draw(t, "new") {
			word = 0
		}
		cost := Cost(rapid.Int64Range(1, 2).Draw(t, "cost"))
		for _, l := range limits {
			if err := new(Bound).Join(l); err != nil {
				t.Fatal(err)
			}
			_, able := l.Steps.(quick)
			if got, want := l.Quick(word, now, cost), able && cost == 1 && now >= 0 && word <= State(now); got != want {
				t.Fatalf("%+v: %d at %d, cost %d: quick %v, want %v", a, word, now, cost, got, want)
			} else if !got {
				continue
			}
			after, d := l.QuickStep(now)
			if wantAfter, want := l.Steps.Step(word, now, cost, l.Bound.Full()); after != wantAfter || d != want {
				t.Fatalf("%+v: %d at %d: got %d %+v, want %d %+v", a, word, now, after, d, wantAfter, want)
			}
		}
	})
}

package memzone

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// plain is an algorithm whose steps have no quick way: what it embeds are the interfaces alone.
type plain struct{ limitgate.Algorithm }

type plainSteps struct{ limitgate.Steps }

func (p plain) Compile() limitgate.Steps { return plainSteps{p.Algorithm.Compile()} }

// twin is one of two zones that get the same operations.
type twin struct {
	zone    *Zone
	limits  []*limitgate.Limit
	charges []limitgate.Charge
	of      []*limitgate.Limit // each charge
}

func (w *twin) bind(t *testing.T, a limitgate.Algorithm) {
	t.Helper()
	l := &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	if err := w.zone.Bind(l); err != nil {
		t.Fatal(err)
	}
	w.limits = append(w.limits, l)
}

// operation is what happens to both.
type operation struct {
	now   limitgate.Time
	what  int // a percent
	pick  uint
	key   string
	cost  limitgate.Cost
	limit limitgate.Algorithm
	size  int
}

// do runs an operation and gives what can be seen of it.
func (w *twin) do(t *testing.T, o operation) string {
	t.Helper()
	ctx, l := context.Background(), w.limits[o.pick%uint(len(w.limits))]
	switch {
	case o.what < 1:
		n, err := w.zone.Resize(o.size, o.now)
		return fmt.Sprint("resize ", n, err)
	case o.what < 2:
		w.zone.Rebind()
		w.limits = w.limits[:0]
		w.bind(t, o.limit)
		return "another configuration"
	case o.what < 4:
		w.bind(t, o.limit)
		return "another limit"
	case o.what < 15 && len(w.charges) > 0:
		i := o.pick % uint(len(w.charges))
		return fmt.Sprint("refund ", w.zone.Refund(ctx, o.now, w.of[i], w.charges[i]))
	}
	mode := []limitgate.Mode{limitgate.Take, limitgate.Take, limitgate.Spend, limitgate.Spend, limitgate.Check, limitgate.Peek, limitgate.Reset}[o.what%7]
	d, c, err := w.zone.Do(ctx, o.now, l, o.key, o.cost, mode)
	if c != (limitgate.Charge{}) {
		w.charges, w.of = append(w.charges, c), append(w.of, l)
	}
	return fmt.Sprintf("mode %d of %q: %+v %+v %v", mode, o.key, d, c, err)
}

func (w *twin) states() map[uint64]uint64 {
	m := map[uint64]uint64{}
	w.zone.each(func(h, state uint64) { m[h] = state })
	return m
}

// wander moves a clock: mostly on, sometimes far or back, around the instant at which a debt is paid, and to the ends of time.
func wander(r *rand.Rand, now limitgate.Time, states map[uint64]uint64) limitgate.Time {
	switch k := r.IntN(100); {
	case k < 30:
		return now
	case k < 50 && len(states) > 0:
		debts := slices.Sorted(maps.Values(states))
		return limitgate.Time(debts[r.IntN(len(debts))] + uint64(r.IntN(3)) - 1)
	case k < 85:
		return now.Add(time.Duration(r.Int64N(int64(time.Second))))
	case k < 90:
		return now.Add(-time.Duration(r.Int64N(int64(time.Hour))))
	case k < 95:
		return now.Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
	}
	return []limitgate.Time{-5, 0, 1, 1 << 60, 1<<60 + 1, math.MaxInt64 - 1, math.MaxInt64}[r.IntN(7)]
}

// TestQuickZoneIsPlainZone: a zone that decides quickly does what one that runs the steps for every request does, to the last
// state and charge: with clocks that go anywhere, in a zone too small, over resizes, resets, refunds and other limits.
func TestQuickZoneIsPlainZone(t *testing.T) {
	for seed := range uint64(scale(60)) {
		r := rand.New(rand.NewPCG(seed, 1))
		draw := func() limitgate.Algorithm {
			rate := limitgate.PerSecond([]int64{1, 7, 1_000_000}[r.IntN(3)])
			if seed%2 == 0 {
				return limitgate.Req{Rate: rate, Burst: r.Int64N(6), Delay: r.Int64N(3)}
			}
			return limitgate.Token{Rate: rate, Capacity: 1 + r.Int64N(6), Queue: r.Int64N(2)}
		}
		c := Config{Bytes: 512, Overflow: Overflow(seed / 2 % 2), Seed: seed + 1}
		quick, steps := &twin{zone: New(c)}, &twin{zone: New(c)}
		first := draw()
		quick.bind(t, first)
		steps.bind(t, plain{first})
		now, log := limitgate.Time(0), ""
		for i := range 2000 {
			now = wander(r, now, quick.states())
			o := operation{now: now, what: r.IntN(100), pick: uint(r.Uint32()), key: strconv.Itoa(r.IntN(40)), cost: 1, limit: draw(), size: 128 << r.IntN(4)}
			if r.IntN(4) == 0 {
				o.cost = limitgate.Cost(1 + r.IntN(3))
			}
			got := quick.do(t, o)
			p := o
			p.limit = plain{o.limit}
			want := steps.do(t, p)
			if log = fmt.Sprintf("seed %d, operation %d at %d", seed, i, now); got != want {
				t.Fatalf("%s: got %s, want %s", log, got, want)
			}
			if got, want := quick.states(), steps.states(); !maps.Equal(got, want) {
				t.Fatalf("%s: got states %v, want %v", log, got, want)
			}
		}
	}
}

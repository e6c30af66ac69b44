// Package adaptive compares limits that find themselves before the same simulated backend.
package adaptive

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/overload"
)

type ours struct{ *adaptive.Limiter }

func (p ours) Acquire(now limitgate.Time) (func(limitgate.Time, bool), bool) {
	t, ok := p.Limiter.Acquire(now)
	return func(now limitgate.Time, _ bool) { t.Done(now, adaptive.Answered) }, ok
}

type failsafe struct {
	adaptivelimiter.AdaptiveLimiter[any]
}

func (p failsafe) Acquire(limitgate.Time) (func(limitgate.Time, bool), bool) {
	t, ok := p.TryAcquirePermit()
	return func(limitgate.Time, bool) { t.Record() }, ok
}

// TestCompare prints the worst of three seeds. failsafe-go reads the clock itself: it runs where the clock is fake.
func TestCompare(t *testing.T) {
	const seeds = 3
	makers := []struct {
		name string
		make func() overload.Limiter
	}{
		{"limitgate", func() overload.Limiter {
			l, err := adaptive.New(adaptive.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return ours{l}
		}},
		{"failsafe", func() overload.Limiter {
			return failsafe{adaptivelimiter.NewBuilder[any]().WithLimits(1, 1000, 20).Build()}
		}},
	}
	for _, shape := range []overload.Shape{overload.Fixed, overload.Exponential} {
		for i, s := range overload.Scenarios(shape, true) {
			if i == 1 {
				s.Stages, s.Names = s.Stages[:1], s.Names[:1]
			}
			for _, m := range makers {
				worst := make([]overload.Result, len(s.Stages))
				for seed := range uint64(seeds) {
					synctest.Test(t, func(*testing.T) {
						var first limitgate.Time
						begun := time.Now()
						at := func(now limitgate.Time) {
							if first == 0 {
								first = now
							}
							time.Sleep(now.Sub(first) - time.Since(begun))
						}
						if m.name == "limitgate" {
							at = nil
						}
						for j, r := range overload.Run(seed, m.make(), at, s.Stages...) {
							worst[j].Take(s.Stages[j], r, seed == 0)
						}
					})
				}
				for j, w := range worst {
					if s.Names[j] != "" {
						fmt.Printf("%-10s %-11v %-28s %-16s %v\n", m.name, shape, s.Name, s.Names[j], w)
					}
				}
			}
		}
	}
}

package overload

import (
	"fmt"
	"time"
)

// Scenario is stages in a row. A stage without a name only leads to the next.
type Scenario struct {
	Name   string
	Names  []string
	Stages []Stage
}

const ms = time.Millisecond

// Scenarios are backends of 1,000 a second that get ten times that, whose requests become slower from 5 to 500 ms, in the ways there are:
// a pool of workers that had been idle for the most part, so that the capacity is what is left of it; few workers, whose capacity sinks
// to 10 a second; and as many more workers as it needs. long ones have the way back too.
func Scenarios(shape Shape, long bool) []Scenario {
	stage := func(lasts, warmup int, rate float64, workers int, service time.Duration) Stage {
		return Stage{time.Duration(lasts) * time.Second, time.Duration(warmup) * time.Second, rate, workers, service, shape, 0}
	}
	pool := Scenario{"500 workers", []string{"", "500 ms, 10x"}, []Stage{
		stage(10, 0, 10_000, 500, 5*ms),
		stage(45, 25, 10_000, 500, 500*ms),
	}}
	if !long {
		return []Scenario{pool}
	}
	pool.Stages[1].Lasts += 40 * time.Second
	return []Scenario{pool,
		{"5 workers", []string{"5 ms, 10x", "500 ms, 1000x", "500 ms, 10x", "5 ms again, 10x"}, []Stage{
			stage(20, 5, 10_000, 5, 5*ms),
			stage(400, 100, 10_000, 5, 500*ms),
			stage(300, 0, 100, 5, 500*ms),
			stage(60, 40, 10_000, 5, 5*ms),
		}},
		{"5 workers, then 500, then 5", []string{"5 ms, 10x", "500 ms, 10x", "5 ms again, 10x"}, []Stage{
			stage(20, 5, 10_000, 5, 5*ms),
			stage(90, 40, 10_000, 500, 500*ms),
			stage(140, 110, 10_000, 5, 5*ms),
		}},
	}
}

// Result is the worst of several runs of a stage.
type Result struct {
	Slower  float64       // the 99th percentile of admitted requests, by that of requests without load
	P99     time.Duration // of the slowest run
	Share   float64       // goodput, of the capacity or of what was offered
	Goodput float64       // a second
	Reached time.Duration // see Measured; -1: never
}

// String is the line that is printed.
func (r Result) String() string {
	return fmt.Sprintf("p99 %7.1f ms = %.2f of unloaded, goodput %6.1f/s = %5.1f%% of capacity, 90%% reached after %v",
		float64(r.P99)/float64(ms), r.Slower, r.Goodput, 100*r.Share, r.Reached)
}

// Worst runs the scenario with as many seeds, each with a limiter of its own, and takes the worst of each figure.
func (s Scenario) Worst(seeds int, limiter func() Limiter) []Result {
	worst := make([]Result, len(s.Stages))
	for seed := range seeds {
		for i, m := range Run(uint64(seed), limiter(), nil, s.Stages...) {
			worst[i].Take(s.Stages[i], m, seed == 0)
		}
	}
	return worst
}

// Take keeps the worse of each figure, of what there was and one more run.
func (r *Result) Take(s Stage, m Measured, first bool) {
	if slower := float64(m.P99) / float64(Unloaded(s)); slower > r.Slower {
		r.Slower, r.P99 = slower, m.P99
	}
	if share := m.Goodput / min(s.Capacity(), s.Rate); first || share < r.Share {
		r.Share, r.Goodput = share, m.Goodput
	}
	if first || m.Reached < 0 || r.Reached >= 0 && m.Reached > r.Reached {
		r.Reached = m.Reached
	}
}

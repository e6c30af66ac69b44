// Package overload is a backend that a limit protects, in virtual time: requests arrive at random, some are admitted, those queue for
// workers. It stands beside the limiters, for tests and comparisons, and decides nothing.
package overload

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
)

// Limiter is what protects the backend: it admits a request and is told when it ended, and whether the backend had turned it away.
type Limiter interface {
	Acquire(now limitgate.Time) (done func(now limitgate.Time, dropped bool), admitted bool)
}

// Shape is how the times of requests spread around their mean.
type Shape uint8

// The shapes.
const (
	Fixed       Shape = iota // all take the same
	Exponential              // as a memoryless server: the mean is also the deviation
	Heavy                    // lognormal, with a deviation of twice the mean
)

// String names the shape.
func (s Shape) String() string { return [...]string{"fixed", "exponential", "heavy"}[s] }

// sample draws a time.
func (s Shape) sample(r *rand.Rand, mean time.Duration) time.Duration {
	f := 1.0
	switch s {
	case Exponential:
		f = r.ExpFloat64()
	case Heavy:
		v := math.Log(1 + 2*2)
		f = math.Exp(math.Sqrt(v)*r.NormFloat64() - v/2)
	}
	return max(time.Duration(f*float64(mean)), 1)
}

// Stage is a stretch of time in which load and backend stay the same.
type Stage struct {
	Lasts   time.Duration
	Warmup  time.Duration // not measured
	Rate    float64       // of arrivals, a second
	Workers int
	Service time.Duration // mean
	Shape   Shape
	Room    int // who finds so many waiting is turned away at once; 0: all wait
}

// Capacity is how many requests a second the backend can do.
func (s Stage) Capacity() float64 { return float64(s.Workers) / s.Service.Seconds() }

// Measured is what became of the requests of a stage after its warm-up.
type Measured struct {
	Offered, Admitted, Done int
	P50, P99                time.Duration // of those that ended
	Goodput                 float64       // a second
	Reached                 time.Duration // from the beginning of the stage until the first whole second with nine tenths of the capacity; -1: never
}

type event struct {
	at    limitgate.Time
	begun limitgate.Time
	done  func(limitgate.Time, bool)
}

type agenda []event

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	old := *a
	e := old[len(old)-1]
	*a = old[:len(old)-1]
	return e
}

// run is a simulation under way.
type run struct {
	r      *rand.Rand
	l      Limiter
	at     func(limitgate.Time) // the clock is moved by it
	stage  Stage
	begins limitgate.Time

	busy  agenda
	queue []event

	m       Measured
	took    []time.Duration
	seconds []int // done, by second of the stage
}

// Run sends the requests of all stages through l. at, if not nil, is called with the time before l is asked or told.
func Run(seed uint64, l Limiter, at func(limitgate.Time), stages ...Stage) []Measured {
	s := &run{r: rand.New(rand.NewPCG(seed, 7)), l: l, at: at}
	if at == nil {
		s.at = func(limitgate.Time) {}
	}
	now := limitgate.Time(time.Hour)
	var all []Measured
	for _, stage := range stages {
		s.stage, s.begins, s.m, s.took = stage, now, Measured{Reached: -1}, s.took[:0]
		s.seconds = make([]int, stage.Lasts/time.Second+1)
		end := now.Add(stage.Lasts)
		s.start(now) // more workers than before
		for now < end {
			now = now.Add(time.Duration(s.r.ExpFloat64() / stage.Rate * 1e9))
			s.work(min(now, end))
			if now < end {
				s.arrive(now)
			}
		}
		now = end
		all = append(all, s.measure())
	}
	return all
}

func (s *run) counts(at limitgate.Time) bool { return at.Sub(s.begins) >= s.stage.Warmup }

func (s *run) arrive(now limitgate.Time) {
	if s.counts(now) {
		s.m.Offered++
	}
	s.at(now)
	done, ok := s.l.Acquire(now)
	if !ok {
		return
	}
	if s.counts(now) {
		s.m.Admitted++
	}
	if s.stage.Room > 0 && len(s.queue) >= s.stage.Room {
		done(now, true)
		return
	}
	s.queue = append(s.queue, event{begun: now, done: done})
	s.start(now)
}

// start gives free workers something to do.
func (s *run) start(now limitgate.Time) {
	for len(s.queue) > 0 && len(s.busy) < s.stage.Workers {
		e := s.queue[0]
		s.queue = s.queue[1:]
		e.at = now.Add(s.stage.Shape.sample(s.r, s.stage.Service))
		heap.Push(&s.busy, e)
	}
}

// work ends what ends until then.
func (s *run) work(until limitgate.Time) {
	for len(s.busy) > 0 && s.busy[0].at <= until {
		e := heap.Pop(&s.busy).(event)
		s.at(e.at)
		e.done(e.at, false)
		s.seconds[e.at.Sub(s.begins)/time.Second]++
		if s.counts(e.at) {
			s.m.Done++
			s.took = append(s.took, e.at.Sub(e.begun))
		}
		s.start(e.at)
	}
}

func (s *run) measure() Measured {
	m := s.m
	m.Goodput = float64(m.Done) / (s.stage.Lasts - s.stage.Warmup).Seconds()
	if len(s.took) > 0 {
		slices.Sort(s.took)
		m.P50, m.P99 = s.took[len(s.took)/2], s.took[len(s.took)*99/100]
	}
	for i, n := range s.seconds {
		if float64(n) >= 0.9*s.stage.Capacity() {
			m.Reached = time.Duration(i+1) * time.Second
			break
		}
	}
	return m
}

// Unloaded is the 99th percentile of a stage's requests where each finds a free worker.
func Unloaded(s Stage) time.Duration {
	r := rand.New(rand.NewPCG(1, 1))
	took := make([]time.Duration, 100_000)
	for i := range took {
		took[i] = s.Shape.sample(r, s.Service)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

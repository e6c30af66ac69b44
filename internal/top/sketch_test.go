package top

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

const t0 = limitgate.Time(1_800_000_000_000_000_000)

// exact is a Sketch without bounds: the stupid twin.
type exact struct {
	epoch  int64
	counts map[string]float64
}

func (e *exact) decay(now limitgate.Time) {
	if n := epochOf(now) - e.epoch; n > 0 {
		for k := range e.counts {
			e.counts[k] *= math.Pow(2, float64(-n))
		}
		e.epoch = epochOf(now)
	}
}

// streams are ways in which keys come: each gives the key of the i-th of n requests.
var streams = map[string]func(r *rand.Rand, n int) func(i int) string{
	"zipf 1.1": func(r *rand.Rand, n int) func(int) string {
		z := rand.NewZipf(r, 1.1, 1, 1<<20)
		return func(int) string { return fmt.Sprint("k", z.Uint64()) }
	},
	"zipf 2": func(r *rand.Rand, n int) func(int) string {
		z := rand.NewZipf(r, 2, 1, 1<<20)
		return func(int) string { return fmt.Sprint("k", z.Uint64()) }
	},
	"uniform": func(r *rand.Rand, n int) func(int) string {
		return func(int) string { return fmt.Sprint("k", r.IntN(5000)) }
	},
	"each once": func(r *rand.Rand, n int) func(int) string {
		return func(i int) string { return fmt.Sprint("k", i) }
	},
	"round robin of more than fit": func(r *rand.Rand, n int) func(int) string {
		return func(i int) string { return fmt.Sprint("k", i%(Keys+Keys/2)) }
	},
	"a heavy one, then strangers": func(r *rand.Rand, n int) func(int) string {
		return func(i int) string {
			if i < n/4 {
				return "heavy"
			}
			return fmt.Sprint("k", i)
		}
	},
	"strangers, then a heavy one": func(r *rand.Rand, n int) func(int) string {
		return func(i int) string {
			if i > n-n/50 {
				return "heavy"
			}
			return fmt.Sprint("k", i)
		}
	},
	"one that hides among strangers": func(r *rand.Rand, n int) func(int) string {
		return func(i int) string {
			if i%200 == 0 {
				return "hidden"
			}
			return fmt.Sprint("k", i)
		}
	},
}

// TestBounds holds a sketch against exact counts, for each stream, while time goes on: every key lies within the bounds that are
// promised, the total is the stream's, and no key that is absent came more often than what is said of such.
func TestBounds(t *testing.T) {
	racing.Alone(t)
	const n = 60_000
	for name, stream := range streams {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, " ", seed), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(seed, 7))
				next := stream(r, n)
				s, e := New(maphash.MakeSeed(), t0), exact{counts: map[string]float64{}}
				now := t0
				for i := range n {
					now += limitgate.Time(r.Int64N(int64(6 * time.Millisecond))) // three minutes in all
					e.decay(now)
					k := next(i)
					e.counts[k]++
					s.add(now, k, 0, 0)
					if i%(n/5) == n/5-1 {
						checkBounds(t, s, &e, now)
					}
				}
			})
		}
	}
}

// slack is what rounding may do.
const slack = 1e-3

func checkBounds(t *testing.T, s *Sketch, e *exact, now limitgate.Time) {
	t.Helper()
	v := s.View(now, -1)
	total := 0.0
	for _, c := range e.counts {
		total += c
	}
	if math.Abs(v.Total-total) > total*slack+1 {
		t.Errorf("a total of %v, want %v", v.Total, total)
	}
	held := map[string]Entry{}
	for _, h := range v.Entries {
		held[h.Name] = h
	}
	for k, true := range e.counts {
		h, is := held[k]
		switch {
		case is && (h.Count+slack < true || h.Count-h.Over-slack > true):
			t.Errorf("%s: got %v, over by at most %v, want %v within", k, h.Count, h.Over, true)
		case !is && true > v.Absent+slack:
			t.Errorf("%s came %v times and is not held, though those not held came %v times at most", k, true, v.Absent)
		}
	}
	if v.Absent > total/ways+slack {
		t.Errorf("those not held came up to %v times, want an eighth of %v at most", v.Absent, total)
	}
	few := s.View(now, 10)
	if len(v.Entries) > 10 && few.Absent != max(v.Absent, v.Entries[10].Count) {
		t.Errorf("of ten: those absent came up to %v times, want what the eleventh did, %v, or %v", few.Absent, v.Entries[10].Count, v.Absent)
	}
}

// TestHeavyKeys: what makes up a hundredth of a stream is found, and known well, under whatever else comes.
func TestHeavyKeys(t *testing.T) {
	racing.Alone(t)
	s := New(maphash.MakeSeed(), t0)
	const n = 200_000
	for i := range n {
		k := fmt.Sprint("stranger", i)
		if i%4 == 0 {
			k = fmt.Sprint("heavy", i/4%20) // 20 keys with 1.25 % each
		}
		s.add(t0, k, 0, time.Duration(i&1)*time.Millisecond)
	}
	v := s.View(t0, 20)
	for _, e := range v.Entries {
		if len(e.Name) < 5 || e.Name[:5] != "heavy" {
			t.Errorf("got %s with %v among the first twenty", e.Name, e.Count)
		}
		if got, want := e.Count, float64(n/80); got < want || got > want*1.2 {
			t.Errorf("%s: got %v, want %v and a fifth more at most", e.Name, got, want)
		}
	}
}

// TestRates: a steady key has its rate at any time, also in a young sketch.
func TestRates(t *testing.T) {
	for _, after := range []time.Duration{5 * time.Second, 50 * time.Second, 70 * time.Second, 250 * time.Second, time.Hour} {
		s := New(maphash.MakeSeed(), t0+limitgate.Time(17*time.Second))
		for at := 17 * time.Second; at < 17*time.Second+after; at += 100 * time.Millisecond {
			s.add(t0.Add(at), "steady", 0, 0)
		}
		v := s.View(t0.Add(17*time.Second+after), 1)
		if rate := v.Entries[0].Count / v.Seconds; math.Abs(rate-10) > 0.1 {
			t.Errorf("after %v: got %v a second, want 10", after, rate)
		}
	}
}

// TestForgets: what has not come for an hour is gone, and a clock that steps back changes nothing.
func TestForgets(t *testing.T) {
	s := New(maphash.MakeSeed(), t0)
	s.add(t0, "k", 0, 0)
	s.add(t0.Add(-time.Hour), "k", 0, 0)
	if v := s.View(t0, -1); len(v.Entries) != 1 || v.Entries[0].Count != 2 {
		t.Errorf("got %+v, want k twice", v.Entries)
	}
	if v := s.View(t0.Add(time.Hour), -1); len(v.Entries) != 0 || v.Total != 0 {
		t.Errorf("an hour later: got %+v, want nothing", v)
	}
}

// TestPace: under a flood few calls are looked at, what they say is right all the same, and when it is over all count again.
func TestPace(t *testing.T) {
	racing.Alone(t)
	s := New(maphash.MakeSeed(), t0)
	now := t0
	r := rand.New(rand.NewPCG(1, 2))
	const each = 2 * time.Microsecond // half a million a second
	const flood = 4_000_000           // eight seconds, in one epoch
	for range flood {
		now += limitgate.Time(each) + limitgate.Time(r.Int64N(3)) - 1
		k := "often"
		if r.IntN(10) == 0 {
			k = "seldom"
		}
		s.Add(now, k, 0)
	}
	if shift := s.pace.shift.Load(); shift < 4 || shift > 8 {
		t.Errorf("looks at one of %d at half a million a second, want one of 16 to 256", 1<<shift)
	}
	v := s.View(now, 2)
	for i, want := range []float64{0.9 * flood, 0.1 * flood} {
		if got := v.Entries[i].Count; math.Abs(got-want) > 0.05*want {
			t.Errorf("%s: got %v, want %v", v.Entries[i].Name, got, want)
		}
	}
	for range 3000 { // a thousand a second
		now += limitgate.Time(time.Millisecond)
		s.Add(now, "after", 0)
	}
	if shift := s.pace.shift.Load(); shift != 0 {
		t.Errorf("after the flood: looks at one of %d, want all", 1<<shift)
	}
}

// TestTogether: what many goroutines count is all there, but for what is told to be missed.
func TestTogether(t *testing.T) {
	s := New(maphash.MakeSeed(), t0)
	const goroutines, each = 8, 5000
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			for i := range each {
				s.add(t0, fmt.Sprint("k", (i*7+g)%900), 0, 0)
			}
		})
	}
	wait.Wait()
	v := s.View(t0, -1)
	if got := v.Total + v.Missed; math.Abs(got-goroutines*each) > slack {
		t.Errorf("got %v and %v missed, want %d", v.Total, v.Missed, goroutines*each)
	}
}

func TestLongNames(t *testing.T) {
	s := New(maphash.MakeSeed(), t0)
	long := fmt.Sprintf("%0100d", 0)
	s.Add(t0, long+"a", 0)
	s.Add(t0, long+"b", 0)
	s.Add(t0, "", time.Second)
	v := s.View(t0, -1)
	if len(v.Entries) != 3 || v.Entries[0].Name != "" || v.Entries[0].Waited != time.Second || v.Entries[0].Delayed != 1 || !v.Entries[1].Cut || v.Entries[1].Name != long[:NameSize] {
		t.Errorf("got %+v, want two keys with one beginning, and the empty one", v.Entries)
	}
}

func TestAllocs(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	s, i := New(maphash.MakeSeed(), t0), 0
	keys := make([]string, 2000)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	if n := testing.AllocsPerRun(5000, func() { i++; s.add(t0, keys[i%len(keys)], 0, time.Second) }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = fmt.Sprint("192.0.2.", i)
	}
	for _, all := range []bool{true, false} {
		b.Run(map[bool]string{true: "all", false: "paced"}[all], func(b *testing.B) {
			s, now, i := New(maphash.MakeSeed(), t0), t0, 0
			for b.Loop() {
				i++
				now += 100
				if all {
					s.add(now, keys[i&4095], 0, 0)
				} else {
					s.Add(now, keys[i&4095], 0)
				}
			}
		})
	}
}

package meter

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

const t0 = limitgate.Time(1_800_000_000_000_000_000)

// TestTogether: what many goroutines count is all there.
func TestTogether(t *testing.T) {
	var s Set
	const each = 1000
	var wait sync.WaitGroup
	var clock atomic.Int64
	for g := range uint64(8) {
		wait.Go(func() {
			z := s.Zone("login")
			for i := range each {
				now := t0.Add(time.Duration(clock.Add(1)) * 100 * time.Microsecond) // few enough to be all counted
				z.Count(now, g, Outcome(i%int(Outcomes)), "k", time.Duration(i)*time.Millisecond)
			}
		})
	}
	wait.Wait()
	c := s.Zone("login").Counts()
	if c.Sum() != 8*each {
		t.Errorf("got %d decisions, want %d", c.Sum(), 8*each)
	}
	limited := uint64(0)
	for o := range Outcomes {
		if want := uint64(8 * (each / int(Outcomes))); c.Outcomes[o] < want || c.Outcomes[o] > want+8 {
			t.Errorf("%v: got %d, want %d or 8 more", o, c.Outcomes[o], want)
		}
		if o.limited() {
			limited += c.Outcomes[o]
		}
	}
	if c.Waits.Count() != limited || c.Waits.Counts[len(c.Waits.Counts)-1] != 0 {
		t.Errorf("got %d waits, want %d, none beyond a second", c.Waits.Count(), limited)
	}
	hits, who := s.Zone("login").Hits(t0.Add(time.Second), 5), s.Zone("login").Limited(t0.Add(time.Second), 5)
	if hits.Total+hits.Missed != 8*each || who.Total+who.Missed != float64(limited) {
		t.Errorf("got %v hits and %v limited, want %d and %d", hits.Total, who.Total, 8*each, limited)
	}
}

func TestSet(t *testing.T) {
	var none *Set
	none.Zone("z").Count(t0, 0, Passed, "k", 0)
	none.Zone("z").Unsaid()
	var s Set
	s.Zone("a").Unsaid()
	if !s.Zone("a").Tell(t0, time.Hour) || s.Zone("a").Tell(t0.Add(59*time.Minute), time.Hour) || !none.Zone("z").Tell(t0, time.Hour) || !s.Zone("new").Tell(t0, time.Hour) || s.Zone("new").Tell(t0, time.Hour) {
		t.Error("what was told is told again within the hour, or what was not is not")
	}
	s.Zone("b")
	if c := s.Find("a").Counts(); c.Unsaid != 1 || c.Told != t0 {
		t.Errorf("got %+v, want one refusal without a time", c)
	}
	s.Keep(func(name string) bool { return name == "a" })
	if s.Find("b") != nil || s.Find("a") == nil {
		t.Error("got b kept or a forgotten")
	}
	if v := s.Zone("b").Limited(t0, 3); len(v.Entries) != 0 {
		t.Errorf("got %+v, want nobody", v)
	}
}

func TestHistogram(t *testing.T) {
	h := NewHistogram([]time.Duration{time.Millisecond, time.Second})
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, time.Second, time.Minute} {
		h.Observe(d)
	}
	b := h.Read()
	if want := []uint64{2, 2, 1}; !slices.Equal(b.Counts, want) || b.Count() != 5 || b.Sum != time.Minute+time.Second+2*time.Millisecond+1 {
		t.Errorf("got %v, sum %v; want %v", b.Counts, b.Sum, want)
	}
}

// TestLanes: counters of two lanes never share a cache line, nor the pair of lines that processors fetch.
func TestLanes(t *testing.T) {
	if n := unsafe.Sizeof(lane{}); n%128 != 0 {
		t.Errorf("a lane takes %d bytes, want a multiple of 128", n)
	}
}

func TestAllocs(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	var s Set
	z, i := s.Zone("z"), 0
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	count := func() {
		i++
		z.Count(t0+limitgate.Time(i*100), uint64(i), Refused, keys[i%len(keys)], 0)
	}
	count()
	if n := testing.AllocsPerRun(3000, count); n != 0 {
		t.Errorf("%v allocations a decision, want 0", n)
	}
}

func BenchmarkCount(b *testing.B) {
	var s Set
	z := s.Zone("z")
	for name, o := range map[string]Outcome{"passed": Passed, "refused": Refused} {
		b.Run(name, func(b *testing.B) {
			now := t0
			for b.Loop() {
				now += 1007
				z.Count(now, 5, o, "192.0.2.7", 0)
			}
		})
	}
}

package replay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// TestTopAgainstCounting holds the sketch against counting everything: no text is told too low, none by more than its error too
// high, and none that is frequent enough is missing.
func TestTopAgainstCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.3, 2, 5000)
	sketch, exact := newTop(64), map[string]int64{}
	for range 50_000 {
		text := fmt.Sprint(zipf.Uint64())
		sketch.add([]byte(text))
		exact[text]++
	}
	told := map[string]bool{}
	for _, c := range sketch.first(64) {
		told[c.text] = true
		if n := exact[c.text]; c.n < n || c.n-c.error > n {
			t.Errorf("%s: got %d, at most %d too high, want %d", c.text, c.n, c.error, n)
		}
	}
	for text, n := range exact {
		if n > sketch.total/64 && !told[text] {
			t.Errorf("%s came %d times of %d and is missing", text, n, sketch.total)
		}
	}
	if len(sketch.index) != 64 || len(sketch.heap) != 64 {
		t.Errorf("%d and %d places, want 64", len(sketch.index), len(sketch.heap))
	}
}

func TestTopOfLongTexts(t *testing.T) {
	s := newTop(4)
	long := strings.Repeat("x", 70_000)
	s.add([]byte(long + "a"))
	s.add([]byte(long + "b"))
	s.add([]byte(long + "b"))
	list := s.first(9)
	if len(list) != 2 || list[0].n != 2 || len(list[0].text) > longText+20 {
		t.Errorf("got %+v", list)
	}
}

// TestHistogramAgainstSorting holds quantiles against those of all numbers.
func TestHistogramAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, most := range []int64{10, 1000, 1e12} {
		var h histogram
		var all []int64
		for range 1000 {
			v := r.Int64N(most)
			h.add(v, 1)
			all = append(all, v)
		}
		slices.Sort(all)
		for _, q := range []int64{1, 500, 900, 990, 1000} {
			want := all[(len(all)*int(q)+999)/1000-1]
			if got := h.quantile(q); got > want || got < want-want/32 {
				t.Errorf("up to %d: quantile %d: got %d, want %d or a 32nd less", most, q, got, want)
			}
		}
	}
	if (&histogram{}).quantile(500) != 0 {
		t.Error("a quantile of nothing is 0")
	}
}

func TestClasses(t *testing.T) {
	for v := range int64(100_000) {
		c := class(v)
		if low := floor(c); low > v || v-low > v/32 {
			t.Fatalf("%d is in class %d from %d on", v, c, low)
		}
		if v > 0 && class(v-1) > c {
			t.Fatalf("classes do not rise at %d", v)
		}
	}
}

// TestOrderAgainstSorting holds the buffer against sorting.
func TestOrderAgainstSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var o order
		var list []arrival
		out := []arrival{}
		for i := range 2000 {
			a := arrival{at: int64(i) - r.Int64N(1+int64(r.IntN(2))*100), turn: uint64(i)}
			o.add(a)
			list = append(list, a)
			if o.len() > 300 { // further apart than any are out of order
				out = append(out, o.take())
			}
		}
		for o.len() > 0 {
			out = append(out, o.take())
		}
		sort.Slice(list, func(i, j int) bool { return list[i].Before(&list[j]) })
		if !slices.Equal(out, list) {
			t.Fatal("not in order")
		}
	}
}

// A series keeps every request, whatever its span and order.
func TestSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, span := range []int64{10, 1000, 100_000, 40_000_000, 4_000_000_000} {
		var s series
		for range 2000 {
			s.add(base+r.Int64N(span*second), verdict(r.IntN(verdicts)))
		}
		var n int64
		for _, b := range s.buckets {
			n += total(&b)
		}
		if n != 2000 || len(s.buckets) > mostBuckets {
			t.Errorf("%d s: %d requests in %d buckets", span, n, len(s.buckets))
		}
		if first := base - base%second; s.start > first+span*second/100 {
			t.Errorf("%d s: begins %d s late", span, (s.start-first)/second)
		}
	}
}

func TestSeriesWidens(t *testing.T) {
	var s series
	for i := range int64(300) {
		s.add(base+i*second, passed)
	}
	if widths[s.width] != 5 {
		t.Errorf("a bucket spans %d s, want 5", widths[s.width])
	}
	for i, b := range s.buckets[1 : len(s.buckets)-1] {
		if b[passed] != 5 {
			t.Errorf("bucket %d: got %d, want 5", i+1, b[passed])
		}
	}
}

func TestPeak(t *testing.T) {
	var p peak
	for _, ms := range []int64{0, 999, 1000, 1500, 1999, 500, 3000} {
		p.add(base + ms*1e6)
	}
	if p.most != 3 || p.since != base/second+1 {
		t.Errorf("got %d at %d, want 3 at %d", p.most, p.since, base/second+1)
	}
}

func TestFlight(t *testing.T) {
	var f flight
	f.begin(1000, 500)
	f.begin(1100, 100)
	f.begin(1200, 0) // over at once
	f.begin(2000, 10)
	if f.most != 2 || f.at != 1100 {
		t.Errorf("got %d at %d, want 2 at 1100", f.most, f.at)
	}
	// 100 with one, 100 with two, 300 with one, 500 with none.
	for n, want := range []int64{500, 400, 100} {
		if f.time.n[n] != want {
			t.Errorf("with %d in work: got %d, want %d", n, f.time.n[n], want)
		}
	}
}

func TestDemand(t *testing.T) {
	d := demand{keys: map[string]*crowd{}}
	for i, at := range []instant{0, 10, 20, 100, 130} {
		key := "a"
		if i == 2 {
			key = "b"
		}
		if peak := d.begin(at, []byte(key), 100); peak != (i < 2) {
			t.Errorf("request %d: got peak %v", i, peak)
		}
	}
	if d.most != 2 || len(d.keys) != 1 {
		t.Errorf("got most %d and %d keys, want 2 of a and 1 key", d.most, len(d.keys))
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 31204: "31,204", -1234567: "-1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		n, of int64
		want  string
	}{{0, 0, "0 %"}, {0, 5, "0 %"}, {5, 5, "100 %"}, {1, 3, "33.3 %"}, {1, 10_000, "0.010 %"}, {1, 1_000_000, "< 0.001 %"}, {9999, 10_000, "> 99.9 %"}} {
		if got := Percent(c.n, c.of); got != c.want {
			t.Errorf("%d of %d: got %s, want %s", c.n, c.of, got, c.want)
		}
	}
}

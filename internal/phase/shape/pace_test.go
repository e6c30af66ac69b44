package shape

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// event is bytes that went at an instant.
type event struct {
	at limitgate.Time
	n  int64
}

// run sends without end for a time, in pieces of a size; late is how much later than asked for each wait ends.
func run(p *request.Pace, start limitgate.Time, d time.Duration, piece int64, late func() time.Duration) (sent []event, waits int) {
	left := piece
	for now := start; now < start.Add(d); {
		n, wait := take(p, now, left)
		if n > 0 {
			sent = append(sent, event{now, n})
			if left -= n; left == 0 {
				left = piece
			}
			continue
		}
		waits++
		now = now.Add(wait + late())
	}
	return sent, waits
}

// windows returns the most and the least bytes in any two seconds between from and to.
func windows(sent []event, from, to limitgate.Time) (most, least int64) {
	const w = 2 * time.Second
	count := func(a limitgate.Time, closed bool) (n int64) {
		for _, e := range sent {
			if e.at >= a && (e.at < a.Add(w) || closed && e.at == a.Add(w)) {
				n += e.n
			}
		}
		return n
	}
	least = math.MaxInt64
	for i, e := range sent {
		if len(sent) > 200 && i%(len(sent)/200) != 0 {
			continue
		}
		most = max(most, count(e.at, true))
		if after := e.at + 1; after >= from && after.Add(w) <= to {
			least = min(least, count(after, false))
		}
	}
	return most, least
}

func TestAnyTwoSeconds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	punctual := func() time.Duration { return 0 }
	sloppy := func() time.Duration { return time.Duration(rnd.Int64N(int64(8 * time.Millisecond))) }
	for _, rate := range []int64{1, 3, 10, 99, 1000, 12 << 10, 100_000, 10 << 20, 100 << 20, 40 << 30} {
		for name, late := range map[string]func() time.Duration{"punctual": punctual, "sloppy": sloppy} {
			for _, piece := range []int64{1, 700, 32 << 10, 8 << 20} {
				if rate/piece > 2000 {
					continue // as many steps, and nothing new
				}
				p := &request.Pace{Rate: rate}
				start := limitgate.Time(time.Hour)
				d := 6 * time.Second
				sent, waits := run(p, start, d, piece, late)
				most, least := windows(sent, start, start.Add(d))
				up := max(2*rate*105/100, 2*rate+1)
				down := min(2*rate*95/100, 2*rate-2)
				if most > up || least < down {
					t.Errorf("%d B/s, pieces of %d, %s: got between %d and %d bytes in two seconds, want %d to %d", rate, piece, name, least, most, down, up)
				}
				if waits > 35*6 {
					t.Errorf("%d B/s, pieces of %d, %s: got %d waits in six seconds, want at most 35 a second", rate, piece, name, waits)
				}
			}
		}
	}
}

func TestNoFreeFirstSecond(t *testing.T) {
	p := &request.Pace{Rate: 10_000}
	sent, _ := run(p, 0, time.Second, 4096, func() time.Duration { return 0 })
	var n int64
	for _, e := range sent {
		n += e.n
	}
	if n < 10_000 || n > 10_400 {
		t.Errorf("first second: got %d bytes, want 10000 and at most 4%% more", n)
	}
}

// Ten bytes a second, ten and then ten more at once: the second ten go from one second on, a byte each tenth.
func TestTenBytesASecond(t *testing.T) {
	p := &request.Pace{Rate: 10}
	sent, _ := run(p, 0, 2*time.Second, 10, func() time.Duration { return 0 })
	if len(sent) != 20 {
		t.Fatalf("got %d pieces, want 20 of one byte", len(sent))
	}
	for i, e := range sent {
		if want := limitgate.Time(i) * limitgate.Time(100*time.Millisecond); e.at != want || e.n != 1 {
			t.Errorf("piece %d: got %d bytes at %v, want 1 at %v", i, e.n, time.Duration(e.at), time.Duration(want))
		}
	}
}

// about allows for rounding.
func about(got, want time.Duration) bool { return got >= want && got <= want+time.Microsecond }

func TestAfter(t *testing.T) {
	p := &request.Pace{Rate: 1000, After: 5000}
	if n, wait := take(p, 0, 8000); n != 5000 || wait != 0 {
		t.Errorf("got %d and %v, want the 5000 at once", n, wait)
	}
	if n, _ := take(p, 0, 3000); n != 40 {
		t.Errorf("got %d, want the burst of 40", n)
	}
	n, wait := take(p, 0, 2960)
	if n != 0 || !about(wait, 40*time.Millisecond) {
		t.Errorf("got %d and %v, want to wait for a burst", n, wait)
	}
}

func TestWhatWasNotUsedIsNotSaved(t *testing.T) {
	p := &request.Pace{Rate: 1000}
	take(p, 0, 40)
	if n, _ := take(p, limitgate.Time(365*24*time.Hour), 1<<20); n != 80 {
		t.Errorf("after a year: got %d, want burst and quantum, 80", n)
	}
}

func TestHeadCounts(t *testing.T) {
	p := &request.Pace{Rate: 100}
	take(p, 0, 4)
	count(p, 200) // a head, found out later
	if n, wait := take(p, 0, 100); n != 0 || !about(wait, 2040*time.Millisecond) {
		t.Errorf("got %d and %v, want nothing for 2.04s", n, wait)
	}
}

func TestClockStepsBack(t *testing.T) {
	p := &request.Pace{Rate: 1000}
	t0 := limitgate.Time(time.Hour)
	take(p, t0, 40)
	n, wait := take(p, t0.Add(-time.Minute), 40)
	if n != 0 || !about(wait, 40*time.Millisecond) {
		t.Errorf("got %d and %v, want no credit and no long wait", n, wait)
	}
}

func TestExtremes(t *testing.T) {
	for _, c := range []struct{ rate, want int64 }{{1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64}, {math.MaxInt64, 1}, {0, math.MaxInt64}} {
		p := &request.Pace{Rate: c.rate}
		now := limitgate.Time(math.MaxInt64 / 2)
		n, wait := take(p, now, c.want)
		if n < 0 || wait < 0 || n == 0 && wait == 0 {
			t.Errorf("rate %d, want %d: got %d and %v", c.rate, c.want, n, wait)
		}
		if n, wait := take(p, now, c.want); n < 0 || wait < 0 {
			t.Errorf("rate %d again: got %d and %v", c.rate, n, wait)
		}
	}
}

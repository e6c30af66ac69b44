package found

import (
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

func site(t *testing.T, now *limitgate.Time) *Site {
	t.Helper()
	c, err := adaptive.Config{}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return &Site{Config: c, Now: func() limitgate.Time { return *now }}
}

func TestKeysAreBounded(t *testing.T) {
	table := New()
	mine := table.Of([]byte("mine"), 0)
	for i := range 10 * Most {
		now := limitgate.Time(i + 1)
		if table.Of([]byte(strconv.Itoa(i)), now) == mine {
			t.Fatalf("key %d has the limit of another", i)
		}
		if i%7 == 0 && table.Of([]byte("mine"), now) != mine {
			t.Fatalf("a key that is seen all the time lost its limit after %d others", i)
		}
	}
	n := 0
	for i := range table.sets {
		for _, l := range table.sets[i].limits {
			if l != nil {
				n++
			}
		}
	}
	if n != Most {
		t.Errorf("got %d limits, want %d", n, Most)
	}
}

func TestSeat(t *testing.T) {
	now := limitgate.Time(time.Hour)
	at := site(t, &now)
	l := New().Of([]byte("k"), now)
	for range 400 {
		var seats []Seat
		for range l.Now(at) {
			seats = append(seats, l.Begin(at))
		}
		now += limitgate.Time(5 * time.Millisecond)
		for i := range seats {
			seats[i].End(-1, adaptive.Answered)
			seats[i].End(-1, adaptive.Answered) // once is what counts
		}
	}
	if got := l.Now(at); got != 1000 {
		t.Errorf("nobody waited: got a limit of %d, want 1000", got)
	}
	if l.estimate.InFlight() != 0 {
		t.Errorf("got %d in flight, want none", l.estimate.InFlight())
	}
	var none Seat
	none.End(0, adaptive.Answered)
}

// TestTimeOfTheBackend: what a slow client takes is not the backend's doing.
func TestTimeOfTheBackend(t *testing.T) {
	now := limitgate.Time(time.Hour)
	at := site(t, &now)
	l := New().Of([]byte("k"), now)
	for range 100 {
		s := l.Begin(at)
		now += limitgate.Time(time.Second)
		s.End(5*time.Millisecond, adaptive.Answered)
	}
	if got := l.estimate.Base(); got != 5*time.Millisecond {
		t.Errorf("got %v without load, want 5ms", got)
	}
}

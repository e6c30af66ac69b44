package adaptive

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

func TestValidate(t *testing.T) {
	for want, c := range map[string]Config{
		"":                                      {},
		"may be negative":                       {Min: -1},
		"Min 20 is above Max 10":                {Min: 20, Max: 10},
		"Max 262141 is above 262140":            {Max: 262141},
		"Tolerance of 100%":                     {Tolerance: 100},
		"neither Window nor Probe":              {Probe: -time.Second},
		"CPUTarget of 1001":                     {CPUTarget: 1001},
		"neither Window nor Probe may be negat": {Window: -1},
	} {
		_, err := New(c)
		if got := ""; err != nil {
			got = err.Error()
			if want == "" || !strings.Contains(got, want) {
				t.Errorf("%+v: got %q, want %q", c, got, want)
			}
		} else if want != "" {
			t.Errorf("%+v: got no error, want %q", c, want)
		}
	}
	if l := limiter(t, Config{Min: 2000}); l.Limit() != 2000 {
		t.Errorf("Min above the default of Max: got a limit of %d, want 2000", l.Limit())
	}
	if l := limiter(t, Config{Max: 5}); l.Limit() != 5 {
		t.Errorf("Max below the default of Initial: got a limit of %d, want 5", l.Limit())
	}
}

// serve has n requests at a time that all take as long, until it was done often enough.
func serve(l *Limiter, now limitgate.Time, n int, took time.Duration, rounds int, o Outcome) limitgate.Time {
	for range rounds {
		var held []Ticket
		for range n {
			if ticket, ok := l.Acquire(now); ok {
				held = append(held, ticket)
			}
		}
		now = now.Add(took)
		for i := range held {
			held[i].Done(now, o)
		}
	}
	return now
}

func TestLimitThatIsNotReachedDoesNotGrow(t *testing.T) {
	l := limiter(t, Config{})
	serve(l, 1, 10, 5*ms, 1000, Answered)
	if l.Limit() != 20 {
		t.Errorf("10 of 20 at work: got a limit of %d, want 20", l.Limit())
	}
	serve(l, limitgate.Time(time.Hour), 1000, 5*ms, 1000, Answered)
	if l.Limit() != 1000 {
		t.Errorf("as many at work as may be, and none waits: got a limit of %d, want 1000", l.Limit())
	}
}

func TestDroppedRequestsLowerTheLimit(t *testing.T) {
	l := limiter(t, Config{})
	now := serve(l, 1, 20, 5*ms, 20, Answered)
	before := l.Limit()
	serve(l, now, 1000, 5*ms, 400, Dropped)
	if got := l.Limit(); got >= before || got != 1 {
		t.Errorf("got a limit of %d after %d, want 1", got, before)
	}
	serve(l, now.Add(time.Hour), 1000, 5*ms, 2000, Answered)
	if got := l.Limit(); got != 1000 {
		t.Errorf("when nothing is dropped any more: got a limit of %d, want 1000", got)
	}
}

// load is a CPU that is as busy as it is told.
type load struct{ permille, asked atomic.Int64 }

func (l *load) Load(limitgate.Time) int { l.asked.Add(1); return int(l.permille.Load()) }

func TestBusyProcessorLowersTheLimit(t *testing.T) {
	cpu := &load{}
	l := limiter(t, Config{CPU: cpu, CPUTarget: 800, Min: 3})
	now := serve(l, 1, 1000, 5*ms, 400, Answered)
	before := l.Limit()
	cpu.permille.Store(800)
	now = serve(l, now, 1000, 5*ms, 100, Answered)
	if l.Limit() < before {
		t.Errorf("as busy as it may be: got a limit of %d, want %d", l.Limit(), before)
	}
	cpu.permille.Store(1000)
	asked := cpu.asked.Load()
	serve(l, now, 1000, 5*ms, 1000, Answered)
	if l.Limit() != 3 {
		t.Errorf("busier: got a limit of %d, want 3", l.Limit())
	}
	if n := cpu.asked.Load() - asked; n < 20 || n > 60 {
		t.Errorf("in 5 s the processor was looked at %d times, want about once in 100 ms", n)
	}
}

func TestWhoLeavesIsSeenWhenItWasLong(t *testing.T) {
	for _, c := range []struct {
		name       string
		took, want time.Duration
	}{{"early", 4 * ms, 5 * ms}, {"when nobody answers", 50 * ms, 50 * ms}} {
		l := limiter(t, Config{})
		now := serve(l, 1, 1000, 5*ms, 200, Answered)
		serve(l, now, 1000, c.took, 200, Left)
		if got := l.estimate.Base(); got < c.want || got > c.want*9/8 {
			t.Errorf("%s: got %v without load, want %v", c.name, got, c.want)
		}
	}
}

func TestIgnoredTellsNothing(t *testing.T) {
	l := limiter(t, Config{})
	now := serve(l, 1, 20, 5*ms, 200, Answered)
	before := l.estimate.base
	serve(l, now, 5, time.Minute, 200, Ignored)
	if got := l.estimate.base; got != before {
		t.Errorf("got a base of %v, want %v", got, before)
	}
	if l.InFlight() != 0 {
		t.Errorf("got %d in flight, want none", l.InFlight())
	}
}

func TestDoneTwiceAndTheClockBack(t *testing.T) {
	l := limiter(t, Config{})
	for i := range 1000 {
		now := limitgate.Time(1000-i) * limitgate.Time(time.Minute)
		ticket, ok := l.Acquire(now)
		if !ok || !ticket.Held() {
			t.Fatalf("%d: got no ticket", i)
		}
		ticket.Done(now.Add(-time.Hour), Answered)
		ticket.Done(now, Answered)
		if ticket.Held() {
			t.Fatal("the ticket is still held")
		}
	}
	if l.InFlight() != 0 || l.Limit() < 1 {
		t.Errorf("got %d in flight and a limit of %d, want none and some", l.InFlight(), l.Limit())
	}
	if got := (Mark{began: 7}).Since(9); got != 2 {
		t.Errorf("got %v since, want 2ns", got)
	}
	var none Ticket
	none.Done(1, Answered)
}

// A clock that goes back, by an hour here, makes the limit no blinder than it was: it learns what happens then, and probes.
func TestAClockThatGoesBackIsFollowed(t *testing.T) {
	l := limiter(t, Config{Initial: 200})
	now := serve(l, limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), 200, 5*ms, 1000, Answered)
	before := l.Limit()
	open, _ := l.Acquire(now)
	now = serve(l, now.Add(-time.Hour), 200, 5*ms, 200, Dropped)
	if got := l.Limit(); got > before/2 {
		t.Errorf("got a limit of %d after a second of drops, was %d, want at most half", got, before)
	}
	open.Done(now, Answered)
	now = serve(l, now, 200, 5*ms, 1000, Answered)
	if got := l.Limit(); got < before/2 {
		t.Errorf("got a limit of %d after five good seconds, want it up again from %d", got, before)
	}
	// The next probe comes as soon as it would have: ten times as slow is found out about, and not taken for a queue.
	now = serve(l, now.Add(-time.Hour), 200, 50*ms, 2000, Answered)
	if got := l.estimate.Base(); got < 40*ms {
		t.Errorf("got a time without load of %v, want about 50ms", got)
	}
	if l.InFlight() != 0 {
		t.Errorf("got %d in flight, want none", l.InFlight())
	}
	// A little old is no clock that goes back.
	serial := l.estimate.seen.serial
	late, _ := l.Acquire(now.Add(-10 * ms))
	late.Done(now, Answered)
	if got := l.estimate.seen.serial; got > serial+1 {
		t.Errorf("got window %d after %d: an old time began a new one", got, serial)
	}
}

// TestRequestsThatNeverEndStopNothing: one in five is a stream that stays.
func TestRequestsThatNeverEndStopNothing(t *testing.T) {
	l := limiter(t, Config{Initial: 100})
	now := limitgate.Time(1)
	for range 10 {
		l.Acquire(now)
	}
	for range 200 {
		now = serve(l, now, 1000, 5*ms, 1, Answered)
		if l.InFlight() < 30 {
			l.Acquire(now)
		}
	}
	if l.estimate.seen.serial < 5 || l.Limit() < 100 {
		t.Errorf("got %d windows and a limit of %d, want several and at least 100", l.estimate.seen.serial, l.Limit())
	}
}

func TestNeverMoreThanTheLimit(t *testing.T) {
	l := limiter(t, Config{Initial: 7, Max: 7})
	var at, most, passed atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		// Owned by the test, which waits for it.
		wg.Go(func() {
			for range 2000 {
				ticket, ok := l.Acquire(limitgate.Now())
				if !ok {
					continue
				}
				if n := at.Add(1); n > most.Load() {
					most.Store(n)
				}
				passed.Add(1)
				at.Add(-1)
				ticket.Done(limitgate.Now(), Answered)
			}
		})
	}
	wg.Wait()
	if most.Load() > 7 || passed.Load() == 0 || l.InFlight() != 0 {
		t.Errorf("got %d at once of %d that passed, and %d left, want at most 7, some, and none", most.Load(), passed.Load(), l.InFlight())
	}
}

func TestAllocations(t *testing.T) {
	l := limiter(t, Config{CPU: &load{}})
	now := limitgate.Time(1)
	if n := testing.AllocsPerRun(10_000, func() {
		now += limitgate.Time(ms)
		ticket, ok := l.Acquire(now)
		if !ok {
			t.Fatal("refused")
		}
		ticket.Done(now+1000, Answered)
	}); n > 0 && !racing.Detector {
		t.Errorf("got %v allocations, want none", n)
	}
}

func BenchmarkAcquireDone(b *testing.B) {
	l := limiter(b, Config{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			now := limitgate.Now()
			ticket, _ := l.Acquire(now)
			ticket.Done(now+1000, Answered)
		}
	})
}

package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/zonetest"
)

// TestKit: around a zone that answers nothing changes.
func TestKit(t *testing.T) {
	zonetest.Run(t, func(testing.TB) limitgate.Zone {
		return New(Config{}).Zone(memzone.New(memzone.Config{}), 0)
	})
}

func bind(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func take(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string) limitgate.Decision {
	t.Helper()
	d, err := l.TakeAt(context.Background(), now, key, 1)
	if err != nil {
		t.Fatalf("got error %v, want a decision", err)
	}
	return d
}

// admit takes n times and counts what is admitted.
func admit(t testing.TB, l *limitgate.Limiter, now limitgate.Time, key string, n int) (admitted int) {
	t.Helper()
	for range n {
		if take(t, l, now, key).Admitted() {
			admitted++
		}
	}
	return admitted
}

// algorithms are all that take, each with ten requests at once.
func algorithms() map[string]limitgate.Algorithm {
	return map[string]limitgate.Algorithm{
		"req":       limitgate.Req{Rate: limitgate.PerSecond(2), Burst: 9, NoDelay: true},
		"req nginx": limitgate.Req{Rate: limitgate.PerSecond(2), Burst: 9, NoDelay: true, Arithmetic: limitgate.Nginx},
		"token":     limitgate.Token{Rate: limitgate.PerSecond(2), Capacity: 10},
		"fixed":     limitgate.Count{Limit: 10, Window: 10 * time.Minute, Windowing: limitgate.Fixed},
		"first":     limitgate.Count{Limit: 10, Window: 10 * time.Minute, Windowing: limitgate.Fixed, First: true},
		"sliding":   limitgate.Count{Limit: 10, Window: 10 * time.Minute},
		"log":       limitgate.Count{Limit: 10, Window: 10 * time.Minute, Windowing: limitgate.Log},
	}
}

// TestFallbacks: what each limit does without its store, and how it is told.
func TestFallbacks(t *testing.T) {
	for name, a := range algorithms() {
		for _, f := range []limitgate.Fallback{limitgate.NoFallback, limitgate.FailOpen, limitgate.FailClosed, limitgate.FailLocal} {
			t.Run(fmt.Sprintf("%s, fail=%v", name, f), func(t *testing.T) {
				far := newRemote()
				s := New(Config{})
				l := bind(t, s.Zone(far, 0).Fail(f), a)
				far.mode.Store(fails)
				want, by := 30, limitgate.FailOpen
				switch f {
				case limitgate.FailClosed:
					want, by = 0, f
				case limitgate.FailLocal:
					want, by = 10, f
				}
				if got := admit(t, l, t0, "k", 30); got != want {
					t.Errorf("got %d of 30 admitted, want %d", got, want)
				}
				d := take(t, l, t0, "k")
				if d.Fallback() != by {
					t.Errorf("got a decision by %q, want %q", d.Fallback(), by)
				}
				if f == limitgate.FailClosed && (d.Outcome != limitgate.Rejected || d.RetryAfter() != 0 || d.NoRoom()) {
					t.Errorf("closed: got %+v, want a refusal without a time", d)
				}
				st := s.Stats()
				if got := st.Open + st.Closed + st.Local; got != 31 {
					t.Errorf("got %d decisions counted, want 31: %+v", got, st)
				}
				if got := far.calls.Load(); got != 5 || st.Phase != Down || st.Failed != 5 || st.Spared != 26 {
					t.Errorf("got %d calls, %+v, want 5 calls before the store is spared", got, st)
				}
			})
		}
	}
}

// TestLocalStartsFromTheDebt: a key that has used up its limit in the store has none when the store fails, and of one that used a
// part only the rest is shared.
func TestLocalStartsFromTheDebt(t *testing.T) {
	for name, a := range algorithms() {
		for _, c := range []struct {
			used, instances, want int
		}{{10, 1, 0}, {10, 4, 0}, {30, 2, 0}, {4, 1, 6}, {4, 2, 3}, {0, 2, 5}} {
			t.Run(fmt.Sprintf("%s, %d used, %d instances", name, c.used, c.instances), func(t *testing.T) {
				far := newRemote()
				s := New(Config{})
				l := bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), a)
				s.live.Store(int64(c.instances))
				if got := admit(t, l, t0, "k", c.used); got != min(c.used, 10) {
					t.Fatalf("got %d admitted by the store, want %d", got, min(c.used, 10))
				}
				far.mode.Store(fails)
				if got := admit(t, l, t0, "k", 20); got != c.want {
					t.Errorf("got %d admitted without it, want %d", got, c.want)
				}
			})
		}
	}
}

// TestShares: four instances, each alone and with everything owed, give the rate together and not more.
func TestShares(t *testing.T) {
	far := newRemote()
	var all []*limitgate.Limiter
	for range 4 {
		s := New(Config{})
		s.live.Store(4)
		all = append(all, bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(100), Burst: 20, NoDelay: true}))
	}
	admitted := 0
	run := func(from, to time.Duration) (n int) {
		for at := from; at < to; at += 2 * time.Millisecond { // 2000 r/s over the four
			for _, l := range all {
				n += admit(t, l, t0.Add(at), "k", 1)
			}
		}
		return n
	}
	if admitted = run(0, 2*time.Second); admitted < 219 || admitted > 221 {
		t.Errorf("got %d admitted by the store in 2s, want 220", admitted)
	}
	far.mode.Store(fails)
	if admitted = run(2*time.Second, 12*time.Second); admitted < 990 || admitted > 1250 {
		t.Errorf("got %d admitted without it in 10s, want 1000, at most 1250", admitted)
	}
}

// TestSmallLimits: a limit below the number of instances still lets something through, and one of large costs too.
func TestSmallLimits(t *testing.T) {
	for name, a := range map[string]limitgate.Algorithm{
		"window": limitgate.Count{Limit: 3, Window: time.Minute},
		"token":  limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 3},
		"req":    limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2},
		"rare":   limitgate.Req{Rate: limitgate.Per(1, 99*24*time.Hour), Burst: 2},
	} {
		far := newRemote()
		far.mode.Store(fails)
		s := New(Config{})
		s.live.Store(8)
		if got := admit(t, bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), a), t0, "k", 9); got != 1 {
			t.Errorf("%s: got %d admitted, want 1", name, got)
		}
	}
}

// TestDefaultFallback: it is open until it is known how many instances there are.
func TestDefaultFallback(t *testing.T) {
	far := newRemote()
	s := New(Config{})
	l := bind(t, s.Zone(far, 0), limitgate.Req{Rate: limitgate.PerSecond(1)})
	far.mode.Store(fails)
	if d := take(t, l, t0, "k"); d.Fallback() != limitgate.FailOpen {
		t.Errorf("got %q, want open", d.Fallback())
	}
	s.live.Store(2)
	if d := take(t, l, t0, "k"); d.Fallback() != limitgate.FailLocal {
		t.Errorf("got %q, want local", d.Fallback())
	}
}

// TestDeadline: a store that hangs costs a decision the deadline and no more, and nothing once it is spared; then a probe finds
// that it answers again. Waiting is done on a fake clock.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := newRemote()
		s := New(Config{Timeout: 50 * time.Millisecond})
		l := bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 1000, NoDelay: true})
		begin := time.Now()
		timed := func() time.Duration {
			was := time.Now()
			take(t, l, t0.Add(time.Since(begin)), "k")
			return time.Since(was)
		}
		if got := timed(); got != 0 {
			t.Errorf("got %v while the store answers, want 0", got)
		}
		far.mode.Store(hangs)
		for i := range 5 {
			if got := timed(); got != 50*time.Millisecond {
				t.Errorf("call %d: got %v, want 50ms", i, got)
			}
		}
		if got := timed(); got != 0 {
			t.Errorf("got %v once the store is spared, want 0", got)
		}
		if st := s.Stats(); st.Timeouts != 5 {
			t.Errorf("got %d timeouts, want 5", st.Timeouts)
		}
		far.mode.Store(answers)
		time.Sleep(time.Second)
		for range 7 { // one probe, and then 1, 2, 4 … at a time
			timed()
		}
		if st := s.Stats(); st.Phase == Down {
			t.Errorf("got %v a second after the store came back, want that it is asked", st.Phase)
		}
	})
}

// TestClientLeaves: who leaves is no fault of the store.
func TestClientLeaves(t *testing.T) {
	far := newRemote()
	far.mode.Store(hangs)
	s := New(Config{})
	l := bind(t, s.Zone(far, 0), limitgate.Req{Rate: limitgate.PerSecond(1)})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 10 {
		if d, err := l.TakeAt(ctx, t0, "k", 1); !errors.Is(err, context.Canceled) || d.Admitted() {
			t.Fatalf("got %+v, %v, want the end of the context", d, err)
		}
	}
	if st := s.Stats(); st.Phase != Up || st.Failed != 0 {
		t.Errorf("got %+v, want a store that is up", st)
	}
}

// TestWrongCalls: an error that is no outage has the fallback decide, and does not stop the calls.
func TestWrongCalls(t *testing.T) {
	far := newRemote()
	far.mode.Store(fails)
	s := New(Config{Outage: func(err error) bool { return !errors.Is(err, errGone) }})
	l := bind(t, s.Zone(far, 0).Fail(limitgate.FailClosed), limitgate.Req{Rate: limitgate.PerSecond(1)})
	for range 20 {
		if d := take(t, l, t0, "k"); d.Fallback() != limitgate.FailClosed {
			t.Fatalf("got %q, want closed", d.Fallback())
		}
	}
	if st := s.Stats(); st.Phase != Up || st.Failed != 20 {
		t.Errorf("got %+v, want 20 calls that failed and a store that is up", st)
	}
}

// TestAllWithoutAStore: several limits stay all or none, and what can't be given back is no error.
func TestAllWithoutAStore(t *testing.T) {
	far := newRemote()
	s := New(Config{})
	wide := bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9, NoDelay: true})
	tight := bind(t, s.Zone(newRemote(), 0).Fail(limitgate.FailClosed), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9, NoDelay: true})
	far.mode.Store(fails)
	legs := []limitgate.Leg{{Limiter: wide, Key: "k"}, {Limiter: tight, Key: "k"}}
	for i := range 4 {
		v, err := limitgate.All(context.Background(), t0, legs)
		if err != nil || v.Outcome != limitgate.Passed || legs[0].Decision.Fallback() != limitgate.FailLocal {
			t.Fatalf("request %d: got %+v by %q, %v, want it to pass by the share", i, v, legs[0].Decision.Fallback(), err)
		}
		if i == 0 {
			if err := limitgate.RefundAll(context.Background(), t0, legs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if d := take(t, wide, t0, "k"); d.Remaining != 10-4 {
		t.Errorf("got %d left of the share, want 6: three were charged, and this one", d.Remaining)
	}
}

// TestReset: a key can't be reset without the store, and its mirror is with it.
func TestReset(t *testing.T) {
	far := newRemote()
	s := New(Config{})
	l := bind(t, s.Zone(far, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 4, NoDelay: true})
	admit(t, l, t0, "k", 5)
	if err := l.Reset(context.Background(), "k"); err != nil {
		t.Fatal(err)
	}
	far.mode.Store(fails)
	if err := l.Reset(context.Background(), "k"); !errors.Is(err, errGone) {
		t.Errorf("got %v, want the store's error", err)
	}
	if got := admit(t, l, t0, "k", 9); got != 5 {
		t.Errorf("got %d admitted of a key that was reset, want 5", got)
	}
}

// TestEvents: a flood of decisions without the store is one line a second, with the number of the others.
func TestEvents(t *testing.T) {
	var lines []string
	far := newRemote()
	s := New(Config{Tell: func(e Event) { lines = append(lines, fmt.Sprintf("%v %s", e.Time.Sub(t0), e)) }})
	l := bind(t, s.Zone(far, 0).Fail(limitgate.FailOpen), limitgate.Req{Rate: limitgate.PerSecond(1)})
	far.mode.Store(fails)
	for ms := range 5000 {
		if ms == 1500 {
			far.mode.Store(answers)
		}
		take(t, l, t0.Add(time.Duration(ms)*time.Millisecond), "k")
	}
	const why = "connection refused"
	want := []string{
		"0s does not answer, fail=open decided: " + why,
		"4ms is not asked any more: " + why,
		"1s does not answer, fail=open decided: " + why + "; so were 999 more since",
	}
	if len(lines) < len(want) || !slices.Equal(lines[:len(want)], want) {
		t.Fatalf("got %q, want %q first", lines, want)
	}
	if last := lines[len(lines)-1]; len(lines) > len(want)+5 || !slices.Contains([]string{"answers again"}, last[len(last)-len("answers again"):]) {
		t.Errorf("got %q, want a few lines more, and that the store answers again at the end", lines[len(want):])
	}
}

// TestDecisionMakesNoGarbageInTheMirror: what is remembered of a key makes none.
func TestDecisionMakesNoGarbageInTheMirror(t *testing.T) {
	m := newMirror(1 << 20)
	l := &limitgate.Limit{Algorithm: limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9}, Kind: limitgate.KindReq}
	l.Steps = l.Algorithm.Compile()
	ctx := context.Background()
	if n := testing.AllocsPerRun(200, func() {
		m.remember(ctx, t0, l, "k", 1, limitgate.Decision{Excess: 3000})
	}); n > 1 { // the name of the share
		t.Errorf("got %v allocations, want at most 1", n)
	}
}

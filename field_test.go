package limitgate_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// Faults that users reported of other limiters, by number; each test holds the behaviour that is right.

// story asks a limit of its own for key k at times in ms and tells what was answered: P, D and R, or the delays.
type story struct {
	t *testing.T
	l *limitgate.Limiter
}

func tell(t *testing.T, a limitgate.Algorithm) story {
	t.Helper()
	return story{t, limiter(t, memzone.New(memzone.Config{Bytes: 64 << 10}), a)}
}

func (s story) at(ms float64, cost limitgate.Cost) limitgate.Decision {
	s.t.Helper()
	d, err := s.l.TakeAt(context.Background(), t0.Add(time.Duration(ms*1e6)), "k", cost)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// letters asks n times, every step ms.
func (s story) letters(from, step float64, n int) string {
	s.t.Helper()
	var b strings.Builder
	for i := range n {
		switch d := s.at(from+float64(i)*step, 1); d.Outcome {
		case limitgate.Delayed:
			fmt.Fprintf(&b, "D%d", d.Delay().Milliseconds())
		default:
			b.WriteString(d.Outcome.String()[:1])
		}
	}
	return b.String()
}

// passed asks n times, every step ms, and counts.
func (s story) passed(from, step float64, n int) (p int) {
	s.t.Helper()
	for i := range n {
		if s.at(from+float64(i)*step, 1).Admitted() {
			p++
		}
	}
	return p
}

func TestFieldRates(t *testing.T) {
	req := func(rate limitgate.Rate, burst, delay int64, nodelay bool) limitgate.Req {
		return limitgate.Req{Rate: rate, Burst: burst, Delay: delay, NoDelay: nodelay}
	}
	minute := req(limitgate.PerMinute(1), 0, 0, false)
	nginx := minute
	nginx.Arithmetic = limitgate.Nginx
	for _, c := range []struct {
		number  string
		limit   limitgate.Algorithm
		from    float64
		step    float64
		n       int
		letters string
	}{
		{"1 exact", minute, 0, 60_000, 10, "PPPPPPPPPP"},
		{"1 nginx", nginx, 0, 60_000, 10, "PRPRPRPRPR"},
		{"4", req(limitgate.PerSecond(1), 5, 0, true), 0, 0, 10, "PPPPPPRRRR"},
		{"4 delayed", req(limitgate.PerSecond(1), 5, 0, false), 0, 0, 10, "PD1000D2000D3000D4000D5000RRRR"},
		{"4 delay=3", req(limitgate.PerSecond(1), 5, 3, false), 0, 0, 10, "PPPPD1000D2000RRRR"},
		{"59 log", limitgate.Count{Limit: 5, Window: 10 * time.Second, Windowing: limitgate.Log}, 0, 1000, 15, "PPPPPRRRRRPPPPP"},
	} {
		t.Run(c.number, func(t *testing.T) {
			if got := tell(t, c.limit).letters(c.from, c.step, c.n); got != c.letters {
				t.Errorf("got %s, want %s", got, c.letters)
			}
		})
	}
	t.Run("3", func(t *testing.T) {
		if got := tell(t, req(limitgate.PerSecond(300), 0, 0, false)).passed(0, 1000.0/350, 350); got != 175 {
			t.Errorf("without burst: %d", got)
		}
		if got := tell(t, req(limitgate.PerSecond(300), 10, 0, true)).passed(0, 1000.0/350, 350); got < 300 || got > 311 {
			t.Errorf("burst 10: %d", got)
		}
	})
	t.Run("57", func(t *testing.T) { // idle time is no credit beyond the burst
		s := tell(t, req(limitgate.PerSecond(1), 2, 2, false))
		s.at(0, 1)
		if got := s.letters(4000, 0, 5); got != "PPPRR" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("63", func(t *testing.T) {
		if got := tell(t, limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 1}).passed(0, 0.2, 5000); got != 1000 {
			t.Errorf("passed %d of 5000 in a second, want 1000", got)
		}
	})
	t.Run("65", func(t *testing.T) {
		s := tell(t, req(limitgate.PerSecond(1000), 500, 0, false))
		if got := s.passed(0, 0, 10_000); got != 501 {
			t.Errorf("served %d, want 501", got)
		}
		if d := s.at(0, 1); d.RetryAfter() != time.Millisecond {
			t.Errorf("retry after %v", d.RetryAfter())
		}
	})
	t.Run("99", func(t *testing.T) {
		if got := tell(t, req(limitgate.PerMinute(100), 500, 0, true)).passed(0, 0, 600); got != 501 {
			t.Errorf("passed %d, want 501", got)
		}
	})
}

func TestFieldWindows(t *testing.T) {
	t.Run("59 edge", func(t *testing.T) { // 60 just before and 60 just after the edge
		c := limitgate.Count{Limit: 60, Window: time.Minute, Windowing: limitgate.Fixed}
		for w, want := range map[limitgate.Windowing]int{limitgate.Fixed: 120, limitgate.Sliding: 61, limitgate.Log: 60} {
			c.Windowing = w
			s := tell(t, c)
			if got := s.passed(59_900, 0, 60) + s.passed(60_100, 0, 60); got != want {
				t.Errorf("%v: %d, want %d", w, got, want)
			}
		}
	})
	t.Run("62", func(t *testing.T) {
		ctx := context.Background()
		s := tell(t, limitgate.Count{Limit: 10, Window: time.Minute, Windowing: limitgate.Fixed, First: true})
		if d, _ := s.l.CheckAt(ctx, t0, "k", 1); d.Remaining != 9 || !d.Admitted() {
			t.Errorf("peek: %+v", d)
		}
		r, _, _ := s.l.TakeReceiptAt(ctx, t0, "k", 1)
		_ = r.RefundAt(ctx, t0)
		s.at(50_000, 10)
		if d := s.at(50_000, 1); d.RetryAfter() != 10*time.Second {
			t.Errorf("the window ends in %v, want 10s", d.RetryAfter())
		}
	})
	t.Run("67", func(t *testing.T) { // refusals are not counted, so a raised limit helps at once
		for _, w := range []limitgate.Windowing{limitgate.Sliding, limitgate.Fixed, limitgate.Log} {
			s := tell(t, limitgate.Count{Limit: 10, Window: time.Hour, Windowing: w})
			if got := s.passed(0, 1, 50); got != 10 {
				t.Errorf("%v: %d", w, got)
			}
			raised := story{t, limiter(t, s.l.Zone(), limitgate.Count{Limit: 20, Window: time.Hour, Windowing: w})}
			if got := raised.passed(100, 1, 50); got != 10 {
				t.Errorf("%v: after raising to 20, %d more", w, got)
			}
		}
	})
}

func TestFieldBuckets(t *testing.T) {
	ctx := context.Background()
	t.Run("50", func(t *testing.T) { // what leaks between two hits is not lost
		s := tell(t, limitgate.Token{Rate: limitgate.Per(10, 30*time.Second), Capacity: 10})
		var got []int64
		for i := range 11 {
			got = append(got, s.at(float64(i)*1000, 1).Remaining)
		}
		if text := fmt.Sprint(got); text != "[9 8 7 7 6 5 5 4 3 3 2]" {
			t.Errorf("got %s", text)
		}
	})
	t.Run("52", func(t *testing.T) {
		s := tell(t, limitgate.Token{Rate: limitgate.PerSecond(65535), Capacity: 65535})
		for i := range 20 {
			if d := s.at(float64(i)*100, 1); d.Remaining != 65534 {
				t.Errorf("take %d: %d remain", i, d.Remaining)
			}
		}
	})
	t.Run("53", func(t *testing.T) { // a state from the future is not drained
		z := memzone.New(memzone.Config{Bytes: 128})
		l := limiter(t, z, limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1})
		_, _ = l.TakeAt(ctx, t0.Add(time.Hour), "future", 1)
		for i := range 7 {
			_, _ = l.TakeAt(ctx, t0, strconv.Itoa(i), 1)
		}
		_, _ = l.TakeAt(ctx, t0.Add(time.Minute), "new", 1)
		if d, _ := l.CheckAt(ctx, t0.Add(time.Minute), "future", 1); d.Admitted() {
			t.Errorf("the state was purged: %+v", d)
		}
	})
	t.Run("56", func(t *testing.T) {
		l := tell(t, limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 20, Queue: 100}).l
		left := func() int64 { d, _ := l.CheckAt(ctx, t0, "k", 1); return d.Remaining }
		quit, cancel := context.WithCancel(ctx)
		if d, err := l.WaitAt(ctx, t0, "k", 15, nil); err != nil || d.Delay() != 0 {
			t.Fatal(d, err)
		}
		before := left()
		_, err := l.WaitAt(quit, t0, "k", 10, func(_ context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
			if d != 500*time.Millisecond {
				t.Errorf("10 after 15 of 20 wait %v", d)
			}
			cancel()
			return now, quit.Err()
		})
		if err == nil || left() != before {
			t.Errorf("%v: %d left, want %d", err, left(), before)
		}
	})
	t.Run("60", func(t *testing.T) { // failed requests are given back, each its own
		for _, w := range []limitgate.Windowing{limitgate.Sliding, limitgate.Fixed, limitgate.Log} {
			l := tell(t, limitgate.Count{Limit: 5, Window: time.Minute, Windowing: w}).l
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { // ends after one request
					r, _, _ := l.TakeReceiptAt(ctx, t0, "k", 1)
					_ = r.RefundAt(ctx, t0)
					_ = r.RefundAt(ctx, t0)
				})
			}
			wg.Wait()
			if d, _ := l.CheckAt(ctx, t0, "k", 1); d.Remaining != 4 {
				t.Errorf("%v: %+v", w, d)
			}
		}
	})
}

func TestFieldPace(t *testing.T) {
	ctx := context.Background()
	t.Run("27", func(t *testing.T) {
		s := tell(t, limitgate.Pace{Rate: 10})
		if a, b := s.at(0, 10), s.at(0, 10); a.Outcome != limitgate.Passed || b.Delay() != time.Second {
			t.Errorf("got %+v and %+v", a, b)
		}
	})
	t.Run("28", func(t *testing.T) { // four responses of a key share its rate
		l := tell(t, limitgate.Pace{Rate: 100_000}).l
		var free [4]limitgate.Time
		for i := range free {
			free[i] = t0
		}
		for range 100 { // 10,000 bytes each
			for i := range free {
				d, _ := l.TakeAt(ctx, free[i], "k", 10_000)
				free[i] = free[i].Add(d.Delay())
			}
		}
		if took := free[3].Sub(t0); took < 39*time.Second || took > 40*time.Second {
			t.Errorf("4 MB at 100 kB/s took %v", took)
		}
	})
}

func TestFieldZone(t *testing.T) {
	ctx := context.Background()
	req := func(n int64) limitgate.Req {
		return limitgate.Req{Rate: limitgate.PerSecond(n), NoDelay: true, Burst: 4}
	}
	t.Run("11", func(t *testing.T) { // a long key counts
		l := limiter(t, memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
		p := 0
		for range 50 {
			if _, d, _ := l.Acquire(ctx, strings.Repeat("k", 300)); d.Admitted() {
				p++
			}
		}
		if p != 1 {
			t.Errorf("%d passed", p)
		}
	})
	t.Run("18", func(t *testing.T) { // a zone that may not forget keeps the old victim
		z := memzone.New(memzone.Config{Bytes: 32 << 10, Overflow: memzone.Reject})
		l := limiter(t, z, limitgate.Req{Rate: limitgate.PerMinute(1)})
		_, _ = l.TakeAt(ctx, t0, "victim", 1)
		noRoom := 0
		for i := range 5000 {
			if d, _ := l.TakeAt(ctx, t0, strconv.Itoa(i), 1); d.NoRoom() {
				noRoom++
			}
		}
		d, _ := l.TakeAt(ctx, t0, "victim", 1)
		if d.Admitted() || noRoom < 2900 || z.Stats().HotEvictions > 0 || z.Stats().Full == 0 {
			t.Errorf("victim %+v, %d without room, %+v", d, noRoom, z.Stats())
		}
		// The same zone a minute later: drained states make room first.
		if d, _ := l.TakeAt(ctx, t0.Add(time.Minute), "late", 1); !d.Admitted() || z.Stats().Reuses == 0 {
			t.Errorf("late %+v, %+v", d, z.Stats())
		}
	})
	t.Run("20", func(t *testing.T) { // another rate, another size: the debt stays
		z := memzone.New(memzone.Config{Bytes: 10 << 10})
		l := limiter(t, z, req(1))
		for range 5 {
			_, _ = l.TakeAt(ctx, t0, "k", 1)
		}
		z.Rebind()
		l = limiter(t, z, req(2))
		if d, _ := l.CheckAt(ctx, t0, "k", 1); d.Admitted() {
			t.Errorf("after another rate: %+v", d)
		}
		if _, err := z.Resize(20<<10, t0); err != nil {
			t.Fatal(err)
		}
		if d, _ := l.CheckAt(ctx, t0, "k", 1); d.Admitted() {
			t.Errorf("after another size: %+v", d)
		}
	})
	t.Run("21", func(t *testing.T) { // places are carried over
		z := memzone.New(memzone.Config{})
		p, _, _ := limiter(t, z, limitgate.Conn{Limit: 1}).AcquireAt(ctx, t0, "k")
		z.Rebind()
		l := limiter(t, z, limitgate.Conn{Limit: 1})
		if _, d, _ := l.AcquireAt(ctx, t0, "k"); d.Admitted() {
			t.Errorf("the second got in: %+v", d)
		}
		_ = p.Release(ctx)
		if _, d, _ := l.AcquireAt(ctx, t0, "k"); !d.Admitted() {
			t.Errorf("nobody is in: %+v", d)
		}
	})
	t.Run("22", func(t *testing.T) { // processors whose clocks differ: no leak that never was, nobody stuck
		for _, a := range []limitgate.Algorithm{
			limitgate.Req{Rate: limitgate.PerSecond(1000), NoDelay: true}, limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 1},
			limitgate.Req{Rate: limitgate.PerSecond(1000), NoDelay: true, Arithmetic: limitgate.Nginx},
			limitgate.Count{Limit: 100, Window: 100 * time.Millisecond, Windowing: limitgate.Fixed},
			limitgate.Count{Limit: 100, Window: 100 * time.Millisecond, Windowing: limitgate.Log},
		} {
			s, admitted := tell(t, a), 0
			for i := range 4000 { // four processors in turn, one of them 3 ms behind the next
				if s.at(float64(i)/4-float64(i%4*3), 1).Admitted() {
					admitted++
				}
			}
			if admitted < 990 || admitted > 1001 {
				t.Errorf("%+v: admitted %d in a second", a, admitted)
			}
		}
	})
	t.Run("25", func(t *testing.T) {
		s := tell(t, limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 5, NoDelay: true})
		s.at(0, 6)
		if d := s.at(25*24*3600*1000, 1); d.Excess != 0 || d.Remaining != 5 {
			t.Errorf("after 25 days %+v", d)
		}
	})
	t.Run("40", func(t *testing.T) { // what is held is released whichever way a request ends
		z := memzone.New(memzone.Config{})
		l := limiter(t, z, limitgate.Conn{Limit: 2})
		for range 5 {
			func() {
				defer func() { _ = recover() }()
				p, d, _ := l.Acquire(ctx, "k")
				defer p.Release(ctx)
				if d.Admitted() {
					panic("upstream timed out")
				}
			}()
		}
		if _, d, _ := l.Acquire(ctx, "k"); !d.Admitted() || z.Held() != 1 {
			t.Errorf("got %+v, %d held", d, z.Held())
		}
	})
}

package limitgate_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// queued are limits that promise turns: two at once, then one in 100 ms, four of them ahead.
func queued() map[string]limitgate.Algorithm {
	return map[string]limitgate.Algorithm{
		"req":   limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 5, Delay: 1},
		"nginx": limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 5, Delay: 1, Arithmetic: limitgate.Nginx},
		"token": limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 2, Queue: 4},
	}
}

// TestWaitTakesTurns: those that wait come out in order, one in 100 ms, and the seventh is refused.
func TestWaitTakesTurns(t *testing.T) {
	for name, a := range queued() {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), a)
			begin := time.Now()
			var wg sync.WaitGroup
			for i := range 7 {
				wg.Go(func() { // ends with its turn
					d, err := l.Wait(context.Background(), "k")
					want := max(time.Duration(i-1), 0) * 100 * time.Millisecond
					if i == 6 {
						if err != nil || d.Outcome != limitgate.Rejected || d.RetryAfter() == 0 || time.Since(begin) > 0 {
							t.Errorf("%s, the seventh: %+v %v", name, d, err)
						}
					} else if got := time.Since(begin); err != nil || got != want || d.Delay() != want || (d.Outcome == limitgate.Delayed) != (want > 0) {
						t.Errorf("%s %d: %+v %v after %v, want %v", name, i, d, err, got, want)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
		})
	}
}

// TestWaitCancelled: who leaves before its turn gives back what no later grant was promised after it.
func TestWaitCancelled(t *testing.T) {
	for name, a := range queued() {
		for _, c := range []struct {
			name   string
			leaves int // of the waiters 0, 1, 2, with turns at 100, 200 and 300 ms
			next   time.Duration
		}{{"the last", 2, 300 * time.Millisecond}, {"one before another", 1, 400 * time.Millisecond}} {
			synctest.Test(t, func(t *testing.T) {
				l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), a)
				var wg sync.WaitGroup
				leave := make([]context.CancelFunc, 5)
				begin := time.Now()
				for i := range 5 {
					ctx, cancel := context.WithCancel(context.Background())
					leave[i] = cancel
					wg.Go(func() { // ends with its turn
						_, err := l.Wait(ctx, "k")
						want := max(time.Duration(i-1), 0) * 100 * time.Millisecond
						switch got := time.Since(begin); {
						case i-2 == c.leaves:
							if !errors.Is(err, context.Canceled) || got != 50*time.Millisecond {
								t.Errorf("%s, %s: %v after %v", name, c.name, err, got)
							}
						case err != nil || got != want:
							t.Errorf("%s, %s: %d came out after %v, want %v (%v)", name, c.name, i, got, want, err)
						}
					})
					synctest.Wait()
				}
				time.Sleep(50 * time.Millisecond)
				leave[c.leaves+2]()
				synctest.Wait()
				if _, err := l.Wait(context.Background(), "k"); err != nil || time.Since(begin) != c.next {
					t.Errorf("%s, %s: the next came out after %v, want %v (%v)", name, c.name, time.Since(begin), c.next, err)
				}
				wg.Wait()
				for _, c := range leave {
					c()
				}
			})
		}
	}
}

// TestWaitAsksAgain: limits that promise nothing are asked again when they said so.
func TestWaitAsksAgain(t *testing.T) {
	for _, a := range []limitgate.Algorithm{
		limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 2},
		limitgate.Count{Limit: 2, Window: 100 * time.Millisecond},
		limitgate.Count{Limit: 2, Window: 100 * time.Millisecond, Windowing: limitgate.Fixed, First: true},
		limitgate.Count{Limit: 2, Window: 100 * time.Millisecond, Windowing: limitgate.Log},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), a)
			begin := time.Now()
			for i := range 6 {
				if d, err := l.Wait(context.Background(), "k"); err != nil || !d.Admitted() {
					t.Fatalf("%+v %d: %+v %v", a, i, d, err)
				}
			}
			if took := time.Since(begin); took < 150*time.Millisecond || took > 450*time.Millisecond {
				t.Errorf("%+v: six took %v", a, took)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			at := time.Now()
			if _, err := l.Wait(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || time.Since(at) > 0 {
				t.Errorf("%+v: a turn behind the deadline: %v after %v", a, err, time.Since(at))
			}
		})
	}
}

// TestWaitEdges: a cost that can never pass is refused at once, a context that is over waits for nothing and charges nothing,
// and a clock of one's own is used.
func TestWaitEdges(t *testing.T) {
	l := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 3})
	var slept []time.Duration
	sleep := func(_ context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
		slept = append(slept, d)
		return now.Add(d), nil
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	ctx := context.Background()
	for i, c := range []struct {
		ctx   context.Context
		cost  limitgate.Cost
		delay time.Duration
		err   error
	}{
		{ctx, 5, 0, nil},
		{ctx, 1, 0, nil},
		{ctx, 1, time.Second, nil},
		{over, 1, 0, context.Canceled},
		{ctx, 1, 2 * time.Second, nil},
	} {
		d, err := l.WaitAt(c.ctx, t0, "k", c.cost, sleep)
		if !errors.Is(err, c.err) || c.err == nil && d.Delay() != c.delay || (d.Outcome == limitgate.Rejected) != (c.cost == 5 || c.err != nil) {
			t.Errorf("%d: %+v %v", i, d, err)
		}
	}
	if len(slept) != 2 {
		t.Errorf("slept %v", slept)
	}
	if _, err := l.WaitAt(ctx, t0, "k", 0, sleep); err == nil {
		t.Error("cost 0: no error")
	}
	conn := limiter(t, memzone.New(memzone.Config{Bytes: 4096}), limitgate.Conn{Limit: 1})
	if _, err := conn.Wait(ctx, "k"); !errors.Is(err, limitgate.ErrKind) {
		t.Errorf("conn: %v", err)
	}
}

package limitgate_test

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// Now is the present as all entries without At take it: the wall clock at the start of the process, and what has passed since,
// so that it never goes back.
func ExampleNow() {
	begin := limitgate.Now()
	fmt.Println(limitgate.Now().Sub(begin) >= 0, limitgate.Now().Sub(limitgate.At(time.Now())).Abs() < time.Hour)
	// Output: true true
}

// At takes an instant of a log, of a test or of another clock.
func ExampleAt() {
	t := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(int64(limitgate.At(t)))
	// Output: 1772366400000000000
}

func ExampleTime_Add() {
	fmt.Println(noon().Add(time.Minute) - noon())
	// Output: 60000000000
}

func ExampleTime_Sub() {
	fmt.Println(noon().Add(90 * time.Second).Sub(noon()))
	// Output: 1m30s
}

// Sleep is what Wait waits with. It ends early if somebody loses patience.
func ExampleSleep() {
	woke, err := limitgate.Sleep(context.Background(), noon(), time.Millisecond)
	fmt.Println(woke.Sub(noon()) >= time.Millisecond, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = limitgate.Sleep(ctx, noon(), time.Hour)
	fmt.Println(err)
	// Output:
	// true <nil>
	// waiting for a turn: context canceled
}

func ExampleLimiter_Take() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1})
	for range 2 {
		d, err := l.Take(context.Background(), "192.0.2.7")
		fmt.Println(d.Outcome, err)
	}
	// Output:
	// PASSED <nil>
	// REJECTED <nil>
}

func ExampleLimiter_Algorithm() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 20})
	if r, ok := l.Algorithm().(limitgate.Req); ok {
		fmt.Println(r.Rate, r.Burst)
	}
	// Output: 10r/s 20
}

// Two limits on one zone share the states of their keys: a large burst for some, a small one for others.
func ExampleLimiter_Zone() {
	wide, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9, NoDelay: true})
	tight, _ := limitgate.NewLimiter(wide.Zone(), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2, NoDelay: true})
	for range 3 {
		_, _ = wide.TakeAt(context.Background(), noon(), "key", 1)
	}
	d, _ := tight.TakeAt(context.Background(), noon(), "key", 1)
	fmt.Println(d.Outcome, d.Excess)
	// Output: REJECTED 3.000
}

func ExampleLimiter_AcquireAt() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 2})
	p, d, err := l.AcquireAt(ctx, noon(), "192.0.2.7")
	fmt.Println(p.Held(), d.Remaining, err)
	// Output: true 1 <nil>
}

// A place is there to release until it was.
func ExamplePlace_Held() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	first, _, _ := l.Acquire(ctx, "192.0.2.7")
	second, _, _ := l.Acquire(ctx, "192.0.2.7")
	fmt.Println(first.Held(), second.Held())
	_ = first.Release(ctx)
	fmt.Println(first.Held())
	// Output:
	// true false
	// false
}

// A place is released once, however often it is asked for; also one that was never given.
func ExamplePlace_Release() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{})
	l, _ := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 1})
	func() {
		place, _, _ := l.Acquire(ctx, "192.0.2.7")
		defer func() { _ = place.Release(ctx) }()
		fmt.Println(zone.Held(), "held")
	}()
	fmt.Println(zone.Held(), "held")
	// Output:
	// 1 held
	// 0 held
}

func ExampleReceipt_Charged() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1})
	first, _, _ := l.TakeReceiptAt(ctx, noon(), "alice", 1)
	second, d, _ := l.TakeReceiptAt(ctx, noon(), "alice", 1)
	fmt.Println(first.Charged(), second.Charged(), d.Outcome)
	// Output: true false REJECTED
}

func ExampleReceipt_Refund() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1})
	r, _, _ := l.TakeReceiptAt(ctx, limitgate.Now(), "alice", 1)
	err := r.Refund(ctx)
	d, _ := l.Take(ctx, "alice")
	fmt.Println(err, d.Outcome)
	// Output: <nil> PASSED
}

// Delayed requests are admitted: they go on when their delay is over.
func ExampleDecision_Admitted() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 1})
	for range 3 {
		d, _ := l.TakeAt(context.Background(), noon(), "key", 1)
		fmt.Println(d.Outcome, d.Admitted())
	}
	// Output:
	// PASSED true
	// DELAYED true
	// REJECTED false
}

func ExampleDecision_Delay() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 5, Delay: 1})
	for range 4 {
		d, _ := l.TakeAt(context.Background(), noon(), "key", 1)
		fmt.Print(d.Delay(), " ")
	}
	// Output: 0s 0s 100ms 200ms
}

// Who waits for so long is admitted, if nobody else asks meanwhile.
func ExampleDecision_RetryAfter() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 1, Window: time.Minute, Windowing: limitgate.Fixed})
	_, _ = l.TakeAt(ctx, noon(), "key", 1)
	d, _ := l.TakeAt(ctx, noon().Add(10*time.Second), "key", 1)
	fmt.Println(d.Outcome, d.RetryAfter())
	d, _ = l.TakeAt(ctx, noon().Add(10*time.Second+d.RetryAfter()), "key", 1)
	fmt.Println(d.Outcome, d.RetryAfter())
	// Output:
	// REJECTED 50s
	// PASSED 0s
}

// A refusal by the zone, not by the limit: here all places are held, and none may be forgotten.
func ExampleDecision_NoRoom() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{Bytes: 128}), limitgate.Conn{Limit: 1})
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		if _, d, _ := l.AcquireAt(ctx, noon(), key); !d.Admitted() {
			fmt.Println(key, d.Outcome, d.NoRoom())
		}
	}
	// Output: i REJECTED true
}

func ExampleOutcome_String() {
	fmt.Println(limitgate.Passed, limitgate.Delayed, limitgate.Rejected)
	// Output: PASSED DELAYED REJECTED
}

// Without garbage, behind what is there.
func ExampleExcess_Append() {
	fmt.Println(string(limitgate.Excess(960).Append([]byte("excess: "))))
	// Output: excess: 0.960
}

// What package guard makes of a request whose store does not answer.
func ExampleDecision_By() {
	d := limitgate.Decision{Outcome: limitgate.Rejected, Wait: time.Second}.By(limitgate.FailLocal)
	fmt.Println(d.Outcome, d.RetryAfter(), d.Fallback())
	// Output: REJECTED 1s local
}

// An outage is not the client's doing: a program answers it with 503 and a limit with 429.
func ExampleDecision_Fallback() {
	for _, d := range []limitgate.Decision{
		{Outcome: limitgate.Rejected, Wait: time.Second},
		limitgate.Decision{Outcome: limitgate.Rejected}.By(limitgate.FailClosed),
	} {
		if d.Fallback() == limitgate.FailClosed {
			fmt.Println(http.StatusServiceUnavailable)
		} else {
			fmt.Println(http.StatusTooManyRequests)
		}
	}
	// Output:
	// 429
	// 503
}

func ExampleFallback_String() {
	fmt.Println(limitgate.FailOpen, limitgate.FailClosed, limitgate.FailLocal)
	// Output: open closed local
}

package limitgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// A parameter that can't be kept is an error, which names what can.
func ExampleNewLimiter() {
	_, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 20_000, Window: time.Hour, Windowing: limitgate.Log})
	fmt.Println(err)
	fmt.Println(limitgate.Sliding.Max(), limitgate.Fixed.Max(), limitgate.Log.Max())
	// Output:
	// limit of a window: 20000 is not between 1 and 10000, which is the most that windowing log can count
	// 1048575 16777215 10000
}

// One request a minute is one in 60 seconds, but in nginx's arithmetic one in 62.5.
func ExampleReq() {
	for _, a := range []limitgate.Arithmetic{limitgate.Exact, limitgate.Nginx} {
		l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerMinute(1), Arithmetic: a})
		_, _ = l.TakeAt(context.Background(), 0, "192.0.2.7", 1)
		d, _ := l.TakeAt(context.Background(), 0, "192.0.2.7", 1)
		fmt.Println(a, d.Outcome, d.RetryAfter())
	}
	// Output:
	// exact REJECTED 1m0s
	// nginx REJECTED 1m2.5s
}

// At most two downloads of a client at once.
func ExampleConn() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 2})
	first, _, _ := l.Acquire(ctx, "192.0.2.7")
	_, _, _ = l.Acquire(ctx, "192.0.2.7")
	third, d, _ := l.Acquire(ctx, "192.0.2.7")
	fmt.Println(d.Outcome, third.Held())

	_ = first.Release(ctx)
	_ = first.Release(ctx) // does nothing
	_, d, _ = l.Acquire(ctx, "192.0.2.7")
	fmt.Println(d.Outcome)
	// Output:
	// REJECTED false
	// PASSED
}

// A rate is exact, and knows what nginx would make of it.
func ExamplePer() {
	r := limitgate.Per(5, 15*time.Minute)
	fmt.Println(r, r.Interval(), r.Thousandths(), r.Validate())
	fmt.Println(limitgate.PerSecond(2_000_000).Validate())
	// Output:
	// 5r/15m0s 3m0s 5 <nil>
	// rate 2000000r/s: at most 1000000r/s can be kept
}

// A login that was right does not count.
func ExampleReceipt_RefundAt() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerHour(5), Capacity: 5})
	r, d, _ := l.TakeReceiptAt(ctx, 0, "alice", 1)
	fmt.Println(d.Remaining, r.Charged())

	_ = r.RefundAt(ctx, 0)
	_ = r.RefundAt(ctx, 0) // does nothing
	d, _ = l.CheckAt(ctx, 0, "alice", 5)
	fmt.Println(d.Outcome, r.Charged())
	// Output:
	// 4 true
	// PASSED false
}

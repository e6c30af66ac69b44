package limitgate_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// noon is when the examples happen.
func noon() limitgate.Time { return limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

// A bucket of tokens: what a request costs is taken from it, or it is refused.
func ExampleToken() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 20})
	d, _ := l.TakeAt(ctx, noon(), "tenant", 15)
	fmt.Println(d.Outcome, d.Remaining)
	d, _ = l.TakeAt(ctx, noon(), "tenant", 8)
	fmt.Println(d.Outcome, d.Remaining, d.RetryAfter())
	// Output:
	// PASSED 5
	// REJECTED 5 300ms
}

// A hundred in an hour, wherever the hour begins.
func ExampleCount() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 100, Window: time.Hour})
	_, _ = l.TakeAt(ctx, noon(), "key", 100)
	d, _ := l.TakeAt(ctx, noon().Add(90*time.Minute), "key", 50) // half of the last window still counts
	fmt.Println(d.Outcome, d.Remaining)
	// Output: PASSED 0
}

// A quota of a day, from midnight to midnight in Berlin.
func ExampleCount_calendar() {
	ctx := context.Background()
	berlin := time.FixedZone("CET", 3600) // time.LoadLocation("Europe/Berlin"), where there is a table of zones
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{
		Limit: 1000, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: berlin,
	})
	_, _ = l.TakeAt(ctx, noon(), "account", 1000)
	d, _ := l.TakeAt(ctx, noon(), "account", 1)
	fmt.Println(d.Outcome, d.RetryAfter())
	// Output: REJECTED 11h0m0s
}

// Never more than five in any ten seconds, to the nanosecond.
func ExampleCount_log() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 5, Window: 10 * time.Second, Windowing: limitgate.Log})
	for i := range 6 {
		d, _ := l.TakeAt(ctx, noon().Add(time.Duration(i)*time.Second), "key", 1)
		fmt.Print(d.Outcome, " ", d.RetryAfter(), "; ")
	}
	// Output: PASSED 0s; PASSED 0s; PASSED 0s; PASSED 0s; PASSED 0s; REJECTED 5s;
}

// A million bytes a second for all downloads of a client together.
func ExamplePace() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Pace{Rate: 1_000_000})
	for range 3 {
		d, _ := l.TakeAt(ctx, noon(), "192.0.2.7", 100_000) // the bytes of a write
		fmt.Print(d.Delay(), " ")
	}
	// Output: 0s 100ms 200ms
}

// Wait sleeps until it is the caller's turn; a context ends that, and gives the turn back.
func ExampleLimiter_Wait() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(100), Burst: 10})
	for range 3 {
		d, err := l.Wait(context.Background(), "upstream")
		fmt.Println(d.Admitted(), err) // one in 10 ms
	}
	// Output:
	// true <nil>
	// true <nil>
	// true <nil>
}

// WaitAt takes time and sleep from a simulation.
func ExampleLimiter_WaitAt() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1, Queue: 5})
	now := noon()
	sleep := func(_ context.Context, at limitgate.Time, d time.Duration) (limitgate.Time, error) {
		return at.Add(d), nil
	}
	for range 3 {
		d, _ := l.WaitAt(context.Background(), now, "key", 1, sleep)
		fmt.Print(d.Outcome, " ", d.Delay(), "; ")
	}
	// Output: PASSED 0s; DELAYED 1m0s; DELAYED 2m0s;
}

// A request that failed is not to count: its receipt gives back what it was charged, once.
func ExampleLimiter_TakeReceiptAt() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 5, Window: time.Minute})
	receipt, d, _ := l.TakeReceiptAt(ctx, noon(), "key", 2)
	fmt.Println(d.Remaining)
	_ = receipt.RefundAt(ctx, noon())
	_ = receipt.RefundAt(ctx, noon())
	d, _ = l.CheckAt(ctx, noon(), "key", 1)
	fmt.Println(d.Remaining)
	// Output:
	// 3
	// 4
}

// LeaveAll gives a turn back, but for what others were promised behind it.
func ExampleLeaveAll() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 10})
	var waiting [3][]limitgate.Leg
	for i := range waiting {
		waiting[i] = []limitgate.Leg{{Limiter: l, Key: "key"}}
		v, _ := limitgate.All(ctx, noon(), waiting[i])
		fmt.Println(v.Delay())
	}
	_ = limitgate.LeaveAll(ctx, noon(), waiting[1]) // somebody was promised 2s
	d, _ := l.CheckAt(ctx, noon(), "key", 1)
	fmt.Println(d.Delay())
	_ = limitgate.LeaveAll(ctx, noon(), waiting[2])
	d, _ = l.CheckAt(ctx, noon(), "key", 1)
	fmt.Println(d.Delay())
	// Output:
	// 0s
	// 1s
	// 2s
	// 3s
	// 2s
}

// RefundAll gives back what All charged.
func ExampleRefundAll() {
	ctx := context.Background()
	minute, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 5, Window: time.Minute})
	daily, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 100, Window: 24 * time.Hour, Windowing: limitgate.Fixed})
	legs := []limitgate.Leg{{Limiter: minute, Key: "key"}, {Limiter: daily, Key: "key"}}
	v, _ := limitgate.All(ctx, noon(), legs)
	fmt.Println(v.Outcome, v.Remaining)
	_ = limitgate.RefundAll(ctx, noon(), legs)
	d, _ := daily.CheckAt(ctx, noon(), "key", 100)
	fmt.Println(d.Outcome)
	// Output:
	// PASSED 4
	// PASSED
}

// Reset makes a key new, after a captcha or a call to support.
func ExampleLimiter_Reset() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Count{Limit: 3, Window: time.Hour})
	_, _ = l.TakeAt(ctx, noon(), "alice", 3)
	_ = l.Reset(ctx, "alice")
	d, _ := l.TakeAt(ctx, noon(), "alice", 1)
	fmt.Println(d.Outcome, d.Remaining)
	// Output: PASSED 2
}

// A key for the network of a client: each address of an IPv6 /64 belongs to one of them.
func ExampleAppendNetwork() {
	for _, addr := range []string{"192.0.2.7", "2001:db8:1:2:3:4:5:6", "::ffff:192.0.2.7"} {
		fmt.Println(string(limitgate.AppendNetwork(nil, addr, 32, 64)))
	}
	// Output:
	// 192.0.2.7/32
	// 2001:db8:1:2::/64
	// 192.0.2.7/32
}

func ExampleAppendNetworkOf() {
	fmt.Println(string(limitgate.AppendNetworkOf([]byte("login "), netip.MustParseAddr("2001:db8:1:2::9"), 32, 48)))
	// Output: login 2001:db8:1::/48
}

// A writer without a zone holds its own state, and writes as much as goes.
func ExamplePace_Check() {
	pace := limitgate.Pace{Rate: 1_000_000, Burst: 200_000}
	var state limitgate.State
	now, written := noon(), int64(0)
	for written < 500_000 {
		n, wait := pace.Check(state, now, 500_000-written, 100_000)
		state = pace.Account(state, now, n)
		written += n
		now = now.Add(wait) // time.Sleep, in a program
	}
	fmt.Println(written, "bytes in", now.Sub(noon()).Round(time.Millisecond))
	// Output: 500000 bytes in 300ms
}

// What was written without asking, such as a header, is told afterwards, and the writes behind it wait for it.
func ExamplePace_Account() {
	pace := limitgate.Pace{Rate: 1000, Burst: 100}
	state := pace.Account(0, noon(), 600)
	n, wait := pace.Check(state, noon(), 100, 100)
	fmt.Println(n, wait.Round(time.Millisecond))
	// Output: 0 600ms
}

// RefundPart gives back a part: of the deposit of a request that cost less in the end.
func ExampleRefundPart() {
	ctx := context.Background()
	tokens, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1000})
	legs := []limitgate.Leg{{Limiter: tokens, Key: "key", Cost: 400}}
	v, _ := limitgate.All(ctx, noon(), legs)
	fmt.Println(v.Outcome, v.Remaining)
	_ = limitgate.RefundPart(ctx, noon(), &legs[0], 250)
	d, _ := tokens.CheckAt(ctx, noon(), "key", 1)
	fmt.Println(d.Remaining + 1)
	// Output:
	// PASSED 600
	// 850
}

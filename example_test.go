package limitgate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// A login form: five tries a second for each address, ten at once, and no more.
func Example() {
	zone := memzone.New(memzone.Config{Bytes: 10 << 20})
	login, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 10, NoDelay: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := login.Take(context.Background(), "192.0.2.7")
	fmt.Println(d.Outcome, d.Remaining, err)
	// Output: PASSED 10 <nil>
}

// TakeAt is the primitive: time and cost are passed in.
func ExampleLimiter_TakeAt() {
	zone := memzone.New(memzone.Config{})
	l, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2, Delay: 1})
	now := limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for range 4 {
		d, _ := l.TakeAt(context.Background(), now, "key", 1)
		fmt.Println(d.Outcome, d.Excess, d.Delay(), d.RetryAfter())
	}
	// Output:
	// PASSED 0.000 0s 0s
	// PASSED 1.000 0s 0s
	// DELAYED 2.000 1s 0s
	// REJECTED 3.000 0s 1s
}

// CheckAt looks and leaves no trace.
func ExampleLimiter_CheckAt() {
	zone := memzone.New(memzone.Config{})
	l, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 4})
	d, _ := l.CheckAt(context.Background(), limitgate.Now(), "key", 3)
	fmt.Println(d.Outcome, d.Remaining)
	// Output: DELAYED 2
}

// Several limits on one request: all pass, or none is charged.
func ExampleAll() {
	perAddress, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 9, NoDelay: true})
	perSite, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerMinute(1)})
	legs := []limitgate.Leg{
		{Limiter: perAddress, Key: "192.0.2.7"},
		{Limiter: perSite, Key: "example.com"},
	}
	for range 2 {
		v, err := limitgate.All(context.Background(), 0, legs)
		fmt.Println(v.Outcome, "by leg", v.Leg, v.RetryAfter(), err, "- address:", legs[0].Decision.Remaining, "left")
	}
	// Output:
	// PASSED by leg 1 0s <nil> - address: 9 left
	// REJECTED by leg 1 1m0s <nil> - address: 8 left
}

// A place is held while a request is in work.
func ExampleLimiter_Acquire() {
	ctx := context.Background()
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	place, d, _ := l.Acquire(ctx, "192.0.2.7")
	fmt.Println(d.Outcome)
	_, d, _ = l.Acquire(ctx, "192.0.2.7")
	fmt.Println(d.Outcome)
	_ = place.Release(ctx)
	_, d, _ = l.Acquire(ctx, "192.0.2.7")
	fmt.Println(d.Outcome)
	// Output:
	// PASSED
	// REJECTED
	// PASSED
}

// Several limits of requests at once: the first that is full refuses, and nothing stays held.
func ExampleAcquireAll() {
	ctx := context.Background()
	perAddress, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 5})
	perSite, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	legs := []limitgate.Leg{{Limiter: perAddress, Key: "192.0.2.7"}, {Limiter: perSite, Key: "example.com"}}
	var first, second [2]limitgate.Place
	v, _ := limitgate.AcquireAll(ctx, 0, legs, first[:])
	fmt.Println(v.Outcome)
	v, _ = limitgate.AcquireAll(ctx, 0, legs, second[:])
	fmt.Println(v.Outcome, "by leg", v.Leg)
	for i := range first {
		_ = first[i].Release(ctx)
	}
	// Output:
	// PASSED
	// REJECTED by leg 1
}

func ExampleParseRate() {
	for _, s := range []string{"30r/m", "0.5r/s", "10r/x"} {
		r, err := limitgate.ParseRate(s)
		fmt.Println(r.Interval(), err)
	}
	// Output:
	// 2s <nil>
	// 2s <nil>
	// 0s rate "10r/x": unknown unit "r/x"; write it like 10r/s, 30r/m, 100r/h, 1000r/d, 0.5r/s
}

// A key built in a buffer needs no copy.
func ExampleBytesKey() {
	l, _ := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1)})
	buf := append([]byte(nil), "192.0.2.7"...)
	d, _ := l.Take(context.Background(), limitgate.BytesKey(buf))
	fmt.Println(d.Outcome)
	// Output: PASSED
}

func ExampleExcess_String() {
	fmt.Println(limitgate.Excess(960))
	// Output: 0.960
}

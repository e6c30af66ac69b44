package memzone_test

import (
	"context"
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// A zone of one megabyte is in place; a reload makes it two, and the debt and the places in it stay.
func ExampleZone_Resize() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{Bytes: 1 << 20})
	limit, _ := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 1})
	place, _, _ := limit.Acquire(ctx, "192.0.2.7")

	bytes, err := zone.Resize(2<<20, limitgate.Now())
	fmt.Println(bytes>>20, err, zone.Held())

	_ = place.Release(ctx)
	fmt.Println(zone.Held())
	// Output:
	// 2 <nil> 1
	// 0
}

// A reload with another rate or burst binds new limiters to the old zone.
func ExampleZone_Rebind() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{})
	before, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 9, NoDelay: true})
	for range 10 {
		_, _ = before.TakeAt(ctx, 0, "192.0.2.7", 1)
	}

	zone.Rebind()
	after, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 2, NoDelay: true})
	d, _ := after.TakeAt(ctx, 0, "192.0.2.7", 1)
	fmt.Println(d.Outcome, d.Excess, d.RetryAfter())
	// Output: REJECTED 3.000 1m0s
}

// How many keys a zone holds, and what happened in it.
func ExampleZone_Capacity() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{Bytes: 24 << 20})
	limit, _ := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 10})
	_, _ = limit.Take(ctx, "192.0.2.7")
	_, _ = limit.Take(ctx, "192.0.2.8")
	fmt.Println(zone.Capacity(), zone.Len(), zone.Stats().Inserts)
	// Output: 1048576 2 2
}

// A zone that may not forget a state in force refuses new keys instead.
func ExampleNew() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{Bytes: 128, Overflow: memzone.Reject}) // eight places
	limit, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1)})
	for i := range 9 {
		if d, _ := limit.TakeAt(ctx, 0, string(rune('a'+i)), 1); d.NoRoom() {
			fmt.Println("key", i, "found no room;", zone.Stats().Full, "refused")
		}
	}
	// Output: key 8 found no room; 1 refused
}

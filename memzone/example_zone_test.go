package memzone_test

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

func ExampleZone_Bytes() {
	fmt.Println(memzone.New(memzone.Config{}).Bytes(), memzone.New(memzone.Config{Bytes: 1000}).Bytes())
	// Output: 1048576 896
}

// The first limit decides what a zone holds.
func ExampleZone_Kind() {
	zone := memzone.New(memzone.Config{})
	fmt.Println(zone.Kind())
	_, _ = limitgate.NewLimiter(zone, limitgate.Conn{Limit: 1})
	fmt.Println(zone.Kind())
	_, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(1)})
	fmt.Println(err)
	// Output:
	// none
	// conn
	// binding a limit to its zone: memory zone: holds states of kind conn, which a limit of kind req can't read; give it a zone of its own
}

// All calls it where one limit kept moving under a request that several of them decide.
func ExampleZone_Contended() {
	zone := memzone.New(memzone.Config{})
	zone.Contended()
	fmt.Println(zone.Stats().Contended)
	// Output: 1
}

func ExampleZone_Stats() {
	zone := memzone.New(memzone.Config{})
	limit, _ := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1})
	receipt, _, _ := limit.TakeReceiptAt(context.Background(), 0, "192.0.2.7", 1)
	_ = receipt.RefundAt(context.Background(), 0)
	s := zone.Stats()
	fmt.Println(s.Inserts, s.Refunds, s.HotEvictions)
	// Output: 1 1 0
}

// What a limiter asks for a request that nobody gives back.
func ExampleZone_Spend() {
	zone := memzone.New(memzone.Config{})
	a := limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1}
	limit := limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	_ = zone.Bind(&limit)
	fmt.Println(zone.Spend(0, &limit, "192.0.2.7", 1).Outcome, zone.Spend(0, &limit, "192.0.2.7", 1).Outcome)
	// Output: PASSED REJECTED
}

// For a gauge: it walks the zone.
func ExampleZone_Held() {
	zone := memzone.New(memzone.Config{})
	limit, _ := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 5})
	_, _, _ = limit.Acquire(context.Background(), "a")
	place, _, _ := limit.Acquire(context.Background(), "b")
	fmt.Println(zone.Held())
	_ = place.Release(context.Background())
	fmt.Println(zone.Held())
	// Output:
	// 2
	// 1
}

// States that have drained count until another key takes their slot.
func ExampleZone_Len() {
	zone := memzone.New(memzone.Config{})
	limit, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(1)})
	for _, key := range []string{"a", "b", "a"} {
		_, _ = limit.TakeAt(context.Background(), 0, key, 1)
	}
	fmt.Println(zone.Len())
	// Output: 2
}

// What NewLimiter and a Limiter ask of a zone: the limit is bound once, and then decides with each request. The charge that
// comes back gives back exactly this.
func ExampleZone_Do() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{})
	limit := bound(zone)
	d, charge, err := zone.Do(ctx, 0, limit, "key", 1, limitgate.Take)
	fmt.Println(d.Outcome, err)
	d, _, _ = zone.Do(ctx, 0, limit, "key", 1, limitgate.Check)
	fmt.Println(d.Outcome)
	_ = zone.Refund(ctx, 0, limit, charge)
	d, _, _ = zone.Do(ctx, 0, limit, "key", 1, limitgate.Peek)
	fmt.Println(d.Outcome)
	// Output:
	// PASSED <nil>
	// REJECTED
	// PASSED
}

// bound binds a limit of one request a minute.
func bound(z *memzone.Zone) *limitgate.Limit {
	a := limitgate.Req{Rate: limitgate.PerMinute(1)}
	l := &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	if err := z.Bind(l); err != nil {
		panic(err)
	}
	return l
}

func ExampleZone_Bind() {
	zone := memzone.New(memzone.Config{})
	limit := bound(zone)
	fmt.Println(zone.Kind(), limit.Bound.Full())
	// Output: req 60000000000
}

// A charge is given back once its request turns out not to count; the zero charge is none.
func ExampleZone_Refund() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{})
	limit := bound(zone)
	_, charge, _ := zone.Do(ctx, 0, limit, "key", 1, limitgate.Take)
	fmt.Println(zone.Refund(ctx, 0, limit, charge), zone.Refund(ctx, 0, limit, limitgate.Charge{}), zone.Stats().Refunds)
	// Output: <nil> <nil> 1
}

// A reload may change what happens when a zone is full.
func ExampleZone_SetOverflow() {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{Bytes: 128}) // eight places
	limit, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1)})
	for i := range 10 {
		if i == 9 {
			zone.SetOverflow(memzone.Reject)
		}
		d, _ := limit.TakeAt(ctx, 0, string(rune('a'+i)), 1)
		if i >= 8 {
			fmt.Println(d.Outcome, zone.Stats().HotEvictions, zone.Stats().Full)
		}
	}
	// Output:
	// PASSED 1 0
	// REJECTED 1 1
}

func ExampleZone_Overflow() {
	zone := memzone.New(memzone.Config{Overflow: memzone.Reject})
	fmt.Println(zone.Overflow() == memzone.Reject)
	// Output: true
}

func ExampleZone_InForce() {
	zone := memzone.New(memzone.Config{})
	limiter, err := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := limitgate.Now()
	_, _ = limiter.TakeAt(context.Background(), now, "192.0.2.1", 2)
	fmt.Println(zone.InForce(now.Add(time.Second)), zone.InForce(now.Add(2*time.Second)))
	// Output: true false
}

// Who knows a few keys before it asks for the first of them has the memory of all come at once.
func ExampleZone_Warm() {
	zone := memzone.New(memzone.Config{Bytes: 64 << 20})
	limit, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(1)})
	if err != nil {
		panic(err)
	}
	keys := []string{"192.0.2.1", "192.0.2.2", "192.0.2.1"}
	for _, key := range keys {
		zone.Warm(key)
	}
	for _, key := range keys {
		d, err := limit.TakeAt(context.Background(), 0, key, 1)
		fmt.Println(key, d.Outcome, err)
	}
	// Output:
	// 192.0.2.1 PASSED <nil>
	// 192.0.2.2 PASSED <nil>
	// 192.0.2.1 REJECTED <nil>
}

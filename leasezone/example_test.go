package leasezone_test

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// One limit for all instances of a service, and a call for every tenth request or so of a busy client.
func Example() {
	ctx := context.Background()
	store, err := rediszone.Dial(ctx, rediszone.Options{URL: "redis://127.0.0.1:6379"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	strict, err := rediszone.New(rediszone.Config{Store: store, Name: "api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer strict.Close()
	zone, err := leasezone.New(leasezone.Config{Zone: strict})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer zone.Close() // gives back what is left
	api, err := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := api.Take(ctx, "192.0.2.7")
	fmt.Println(d.Outcome, err)
}

// nowhere is a zone in a store that is never there.
func nowhere() *rediszone.Zone {
	store, err := rediszone.Open(rediszone.Options{Name: "shared", URL: "redis://127.0.0.1:1"})
	if err != nil {
		panic(err)
	}
	store.Close()
	zone, err := rediszone.New(rediszone.Config{Store: store, Name: "api"})
	if err != nil {
		panic(err)
	}
	return zone
}

// shared is a zone that borrows from it.
func shared() *leasezone.Zone {
	zone, err := leasezone.New(leasezone.Config{Zone: nowhere()})
	if err != nil {
		panic(err)
	}
	return zone
}

func ExampleNew() {
	_, err := leasezone.New(leasezone.Config{Zone: nowhere(), Lease: -1})
	fmt.Println(err)
	// Output: lease zone: a lease of -1 is not between 1 and 32767, or 0 for a tenth of the burst
}

func ExampleConfig_Validate() {
	fmt.Println(leasezone.Config{}.Validate())
	fmt.Println(leasezone.Config{Zone: nowhere(), Remember: time.Minute}.Validate())
	// Output:
	// lease zone: needs a zone to borrow from
	// <nil>
}

func ExampleZone_Close() {
	zone := shared()
	zone.Close()
	zone.Close() // does nothing
	fmt.Println(zone.Stats().Borrowed)
	// Output: 0
}

func ExampleZone_Inner() {
	zone := shared()
	defer zone.Close()
	fmt.Println(zone.Inner().(*rediszone.Zone).Name())
	// Output: api
}

// A zone holds states of one kind, that of the first limit.
func ExampleZone_Bind() {
	zone := shared()
	defer zone.Close()
	_, _ = limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, err := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 5})
	fmt.Println(err != nil)
	// Output: true
}

// Another configuration may have another window.
func ExampleZone_Rebind() {
	zone := shared()
	defer zone.Close()
	_, _ = limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Hour})
	zone.Rebind()
	_, err := limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Minute})
	fmt.Println(err)
	// Output: <nil>
}

// The limiters of package limitgate call it; without a store, and with nothing borrowed, there is no decision.
func ExampleZone_Do() {
	zone := shared()
	defer zone.Close()
	api, _ := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 50})
	_, err := api.Take(context.Background(), "192.0.2.7")
	fmt.Println(err != nil, zone.Stats().Borrows, zone.Stats().Failed)
	// Output: true 1 1
}

// Package guard asks it before it calls.
func ExampleZone_Near() {
	zone := shared()
	defer zone.Close()
	limit := &limitgate.Limit{Kind: limitgate.KindToken}
	_, _, known := zone.Near(limitgate.Now(), limit, "192.0.2.7", 1, limitgate.Take)
	fmt.Println(known)
	// Output: false
}

func ExampleZone_NearAll() {
	zone := shared()
	defer zone.Close()
	fmt.Println(zone.NearAll(limitgate.Now(), nil)) // nothing is to be decided
	// Output: true
}

func ExampleZone_Joins() {
	zone := shared()
	defer zone.Close()
	fmt.Println(zone.Joins(zone), zone.Joins(zone.Inner()))
	// Output: true false
}

// All calls it where several limits are in one store.
func ExampleZone_DoAll() {
	zone := shared()
	defer zone.Close()
	fmt.Println(zone.DoAll(context.Background(), limitgate.Now(), nil))
	// Output: <nil>
}

// What was not charged is nothing to give back.
func ExampleZone_Refund() {
	zone := shared()
	defer zone.Close()
	limit := &limitgate.Limit{Kind: limitgate.KindConn}
	fmt.Println(zone.Refund(context.Background(), 0, limit, limitgate.Charge{}))
	// Output: <nil>
}

func ExampleZone_RefundKey() {
	zone := shared()
	defer zone.Close()
	limit := &limitgate.Limit{Kind: limitgate.KindToken}
	fmt.Println(zone.RefundKey(context.Background(), 0, limit, "192.0.2.7", limitgate.Charge{}))
	// Output: <nil>
}

// Somebody has reset the key elsewhere.
func ExampleZone_Forget() {
	zone := shared()
	defer zone.Close()
	zone.Forget(limitgate.Now(), "192.0.2.7")
	fmt.Println(zone.Stats().Returned)
	// Output: 0
}

// A zone that does nothing on its own, for a program whose time is not that of the clock.
func ExampleZone_Settle() {
	zone, err := leasezone.New(leasezone.Config{Zone: nowhere(), Every: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer zone.Close()
	zone.Settle(context.Background(), limitgate.Now())
	fmt.Println(zone.Stats().Returned)
	// Output: 0
}

func ExampleZone_Stats() {
	zone := shared()
	defer zone.Close()
	st := zone.Stats()
	fmt.Println(st.Spared, st.Borrows, st.Single)
	// Output: 0 0 0
}

package rediszone_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

// Package leasezone gives back by it what it has borrowed and not spent.
func ExampleZone_GiveBack() {
	store := nowhere()
	defer store.Close()
	zone, _ := rediszone.New(rediszone.Config{Store: store, Name: "login"})
	fmt.Println(zone.GiveBack(context.Background(), limitgate.Now(), nil) != nil)
	// Output: true
}

// TestGiveBack: what was charged last goes back, to a server that does not know the script, too; of a bucket, what others were charged
// behind does not, and of a window it does.
func TestGiveBack(t *testing.T) {
	server := redistest.Start(t)
	f := zones(dial(t, server.URL()))
	now := limitgate.Time(1_800_000_000 * int64(time.Second))
	for _, c := range []struct {
		limit  limitgate.Algorithm
		behind int64 // remain when somebody was charged behind
	}{
		{limitgate.Req{Rate: limitgate.PerDay(1), Burst: 99, NoDelay: true}, 89},
		{limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 99, NoDelay: true, Arithmetic: limitgate.Nginx}, 89},
		{limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 100}, 89},
		{limitgate.Count{Limit: 100, Window: time.Hour}, 99}, {limitgate.Count{Limit: 100, Window: time.Hour, Windowing: limitgate.Fixed}, 99},
	} {
		for _, behind := range []bool{false, true} {
			z := f(t).(*rediszone.Zone)
			l := limitgate.Limit{Algorithm: c.limit, Kind: c.limit.Kind(), Steps: c.limit.Compile()}
			if err := z.Bind(&l); err != nil {
				t.Fatal(err)
			}
			charge := func(cost limitgate.Cost) limitgate.Charge {
				_, ch, err := z.Do(t.Context(), now, &l, "k", cost, limitgate.Take)
				if err != nil {
					t.Fatal(err)
				}
				return ch
			}
			back := charge(10)
			want := int64(99)
			if behind {
				charge(1)
				want = c.behind - 1
			}
			server.Do("SCRIPT", "FLUSH")
			if err := z.GiveBack(t.Context(), now, []limitgate.Ask{{Zone: z, Limit: &l, Key: "k", Charge: back}}); err != nil {
				t.Fatal(err)
			}
			d, _, err := z.Do(t.Context(), now, &l, "k", 1, limitgate.Peek)
			if err != nil || d.Remaining != want {
				t.Errorf("%+v, somebody behind: %v: got %d remaining %v, want %d", c.limit, behind, d.Remaining, err, want)
			}
		}
	}
}

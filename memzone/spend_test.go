package memzone

import (
	"context"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// TestSpendIsDo: Spend decides what Do decides in mode Spend, and leaves the same states, whatever the limit, the key, the time
// and the cost, in zones with much room and with little.
func TestSpendIsDo(t *testing.T) {
	ctx := context.Background()
	for _, a := range []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 2, Delay: 1},
		limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 2, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 3},
		limitgate.Count{Limit: 3, Window: 10 * time.Millisecond},
		limitgate.Count{Limit: 3, Window: 10 * time.Millisecond, Windowing: limitgate.Fixed},
		limitgate.Count{Limit: 3, Window: 10 * time.Millisecond, Windowing: limitgate.Log},
		limitgate.Pace{Rate: 100, Burst: 5, Queue: time.Second},
	} {
		for _, size := range []int{bucketBytes, 8 * bucketBytes, 64 * bucketBytes} {
			var zones [2]*Zone
			var limits [2]limitgate.Limit
			for i := range zones {
				zones[i] = New(Config{Bytes: size, Seed: 7})
				limits[i] = limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
				if err := zones[i].Bind(&limits[i]); err != nil {
					t.Fatal(err)
				}
			}
			r, now, passed := rand.New(rand.NewPCG(1, uint64(size))), t0, 0
			for range 3000 {
				now = now.Add(time.Duration(r.IntN(40)-2) * 10 * time.Microsecond)
				key := strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(20))
				if r.IntN(2) == 0 {
					key = "192.0.2.7"
				}
				cost := limitgate.Cost(1 + r.IntN(8)/7)
				got := zones[0].Spend(now, &limits[0], key, cost)
				want, _, err := zones[1].Do(ctx, now, &limits[1], key, cost, limitgate.Spend)
				if got != want || err != nil {
					t.Fatalf("%+v in %d bytes: %q at %d, cost %d: got %+v, want %+v %v", a, size, key, now, cost, got, want, err)
				}
				if got.Admitted() {
					passed++
				}
			}
			if got, want := states(zones[0]), states(zones[1]); !maps.Equal(got, want) {
				t.Errorf("%+v in %d bytes: states %v, want %v", a, size, got, want)
			}
			if passed == 0 || passed == 3000 {
				t.Errorf("%+v in %d bytes: %d of 3000 admitted: the test shows nothing", a, size, passed)
			}
		}
	}
}

// states are the live words of a zone by fingerprint.
func states(z *Zone) map[uint64]uint64 {
	m := map[uint64]uint64{}
	z.each(func(h, state uint64) { m[h] = state })
	return m
}

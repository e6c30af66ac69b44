package leasezone

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

// zipf draws keys: the k-th with a share of 1/k^s.
type zipf struct{ sums []float64 }

func newZipf(keys int, s float64) zipf {
	z := zipf{make([]float64, keys)}
	sum := 0.0
	for k := range keys {
		sum += math.Pow(float64(k+1), -s)
		z.sums[k] = sum
	}
	return z
}

// draw draws a key.
func (z zipf) draw(r *rand.Rand) int {
	return sort.SearchFloat64s(z.sums, r.Float64()*z.sums[len(z.sums)-1])
}

// share is how much of the demand comes from a key.
func (z zipf) share(k int) float64 {
	last := z.sums[len(z.sums)-1]
	if k == 0 {
		return z.sums[0] / last
	}
	return (z.sums[k] - z.sums[k-1]) / last
}

// rate is the limit of a key, in parts of the demand for all, with which a tenth of it is admitted in the long run.
func (z zipf) rate() float64 {
	low, high := 0.0, 1.0
	for range 60 {
		mid := (low + high) / 2
		sum := 0.0
		for k := range z.sums {
			sum += min(z.share(k), mid)
		}
		if sum < 0.1 {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// zipfLoad is a load, and what came of it.
type zipfLoad struct {
	keys, decisions, instances int
	burst                      int64
	algorithm                  func(limitgate.Req) limitgate.Algorithm

	over                    int     // keys that are asked more than their limit
	calls, admitted, strict float64 // per decision, what goes back counted one by one; strict: what is admitted without leases
	returned                float64 // of what was borrowed
}

// run runs it, in virtual time: all keys have the same limit, and together they are asked ten times as much as that admits.
func (z *zipfLoad) run(t testing.TB) {
	ctx := context.Background()
	keys := newZipf(z.keys, 1.1)
	const demand = 100_000 // a second
	rate := keys.rate()
	each := time.Duration(float64(time.Second) / (demand * rate))
	var a limitgate.Algorithm = limitgate.Req{Rate: limitgate.Per(1, each), Burst: z.burst, NoDelay: true}
	if z.algorithm != nil {
		a = z.algorithm(a.(limitgate.Req))
	}
	far, alone := newDistant(), newDistant()
	var zones []*Zone
	var ls []*limitgate.Limiter
	for range z.instances {
		zone := leaseOf(t, far, Config{Keys: 1 << 17})
		zones, ls = append(zones, zone), append(ls, bind(t, zone, a))
	}
	s := bind(t, alone, a)
	names := make([]string, z.keys)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	// As in the long run: what is asked more than its limit is used up, what is asked less is full.
	direct := bind(t, far, a)
	for k := 0; k < z.keys && keys.share(k) > rate; k++ {
		z.over++
		for _, l := range []*limitgate.Limiter{direct, s} {
			if d, err := l.TakeAt(ctx, t0, names[k], limitgate.Cost(z.burst)); err != nil || !d.Admitted() {
				t.Fatalf("got %+v %v", d, err)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	admitted, strict, calls, begun := 0, 0, 0, z.decisions/2
	now := t0
	for i := range z.decisions {
		if i == begun { // batches have grown
			calls = far.calls + far.backs
		}
		now += limitgate.Time(r.ExpFloat64() * float64(time.Second) / demand)
		key := names[keys.draw(r)]
		d, err := ls[r.IntN(len(ls))].TakeAt(ctx, now, key, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d.Admitted() {
			admitted++
		}
		if d, _ := s.TakeAt(ctx, now, key, 1); d.Admitted() {
			strict++
		}
		if i%(demand/2) == 0 {
			for _, zone := range zones {
				zone.Settle(ctx, now)
			}
		}
	}
	n := float64(z.decisions - begun)
	z.calls, z.admitted, z.strict = float64(far.calls+far.backs-calls)/n, float64(admitted)/float64(z.decisions), float64(strict)/float64(z.decisions)
	borrowed := uint64(0)
	for _, zone := range zones {
		st := zone.Stats()
		borrowed += st.Borrowed
		z.returned += float64(st.Returned)
	}
	z.returned /= float64(borrowed)
}

// TestZipf: on a Zipf load, with demand ten times what the limits admit, at most 0.05 calls a decision, by one instance and by several, and
// nearly as much is admitted as without leases, and no more.
func TestZipf(t *testing.T) {
	racing.Alone(t)
	keys, decisions := 1_000, 900_000
	if os.Getenv("ZIPF") == "long" { // as the documentation has it: minutes
		keys, decisions = 100_000, 60_000_000
	}
	for _, instances := range []int{1, 4} {
		z := zipfLoad{keys: keys, decisions: decisions, instances: instances, burst: 100}
		z.run(t)
		less := (z.strict - z.admitted) * float64(z.decisions) / float64(z.over)
		t.Logf("%d instances: %.4f calls a decision; admitted %.4f, without leases %.4f: %.1f less for each of %d keys at their limit; %.3f of what was borrowed went back",
			instances, z.calls, z.admitted, z.strict, less, z.over, z.returned)
		if z.calls > 0.05 || z.admitted > z.strict {
			t.Errorf("%d instances: got %.4f calls a decision, want at most 0.05, and %.4f admitted, want at most %.4f", instances, z.calls, z.admitted, z.strict)
		}
		// A batch of each instance that is not spent, and what they wait for.
		if most := float64(10*instances + 10*min(instances, 5)); less > most {
			t.Errorf("%d instances: got %.1f admitted less for each of %d keys at their limit, want at most two leases of each instance, %.0f", instances, less, z.over, most)
		}
	}
}

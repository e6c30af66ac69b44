package leasezone

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// BenchmarkNear decides about 100,000 keys of a Zipf load, whose limits are reached, by what is known: without a call.
func BenchmarkNear(b *testing.B) {
	const keys = 100_000
	ctx := context.Background()
	far := newDistant()
	l := bind(b, leaseOf(b, far, Config{Keys: 1 << 17}), limitgate.Token{Rate: limitgate.Per(1, 1000*time.Hour), Capacity: 1})
	names := make([]string, keys)
	for i := range names {
		names[i] = "client:" + strconv.Itoa(i)
		takes(b, l, t0, names[i], 1)
	}
	z, r := newZipf(keys, 1.1), rand.New(rand.NewPCG(1, 2))
	draws := make([]int32, 1<<20)
	for i := range draws {
		draws[i] = int32(z.draw(r))
	}
	b.ReportAllocs()
	calls := far.calls
	for i := 0; b.Loop(); i++ {
		if d, err := l.TakeAt(ctx, t0, names[draws[i&(len(draws)-1)]], 1); err != nil || d.Admitted() {
			b.Fatalf("got %+v %v, want a refusal", d, err)
		}
	}
	b.ReportMetric(float64(far.calls-calls)/float64(b.N), "calls/op")
}

package memzone

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

const t0 = limitgate.Time(1_800_000_000 * int64(time.Second))

func limiter(tb testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	tb.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// keys are like addresses: 4 to 15 bytes.
func keys(n int) []string {
	k := make([]string, n)
	for i := range k {
		k[i] = "10." + strconv.Itoa(i>>16) + "." + strconv.Itoa(i>>8&255) + "." + strconv.Itoa(i&255)
	}
	return k
}

func BenchmarkTake(b *testing.B) {
	open := limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1 << 40, NoDelay: true}
	shut := limitgate.Req{Rate: limitgate.PerSecond(1)}
	for _, c := range []struct {
		name  string
		keys  int
		bytes int
		req   limitgate.Req
	}{
		{"one", 1, 1 << 20, open},
		{"one-refused", 1, 1 << 20, shut},
		{"1000", 1000, 1 << 20, open},
		{"1M-half-full", 1 << 20, 32 << 20, open},
		{"1M-99-full", 1 << 20, 16947411, open},
	} {
		z := New(Config{Bytes: c.bytes})
		l := limiter(b, z, c.req)
		ks := keys(c.keys)
		ctx := context.Background()
		rand.Shuffle(len(ks), func(i, j int) { ks[i], ks[j] = ks[j], ks[i] })
		for _, k := range ks {
			_, _ = l.TakeAt(ctx, t0, k, 1)
		}
		b.Run(c.name+"/serial", func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				_, _ = l.TakeAt(ctx, t0, ks[i], 1)
				if i++; i == len(ks) {
					i = 0
				}
			}
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				i := rand.IntN(len(ks))
				for pb.Next() {
					_, _ = l.TakeAt(ctx, t0, ks[i], 1)
					if i++; i == len(ks) {
						i = 0
					}
				}
			})
		})
	}
}

func BenchmarkAll(b *testing.B) {
	ctx := context.Background()
	open := limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1 << 40, NoDelay: true}
	for _, n := range []int{1, 2, 3} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			legs := make([]limitgate.Leg, n)
			for i := range legs {
				legs[i] = limitgate.Leg{Limiter: limiter(b, New(Config{}), open), Key: "192.0.2.7"}
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = limitgate.All(ctx, t0, legs)
			}
		})
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	ctx := context.Background()
	l := limiter(b, New(Config{}), limitgate.Conn{Limit: 10})
	b.ReportAllocs()
	for b.Loop() {
		p, _, _ := l.AcquireAt(ctx, t0, "192.0.2.7")
		_ = p.Release(ctx)
	}
}

// BenchmarkKinds: one decision of each kind on one of 1000 keys.
func BenchmarkKinds(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		limit limitgate.Algorithm
	}{
		{"req", limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1 << 40, NoDelay: true}},
		{"token", limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 40}},
		{"sliding", limitgate.Count{Limit: 1_000_000, Window: time.Minute}},
		{"fixed", limitgate.Count{Limit: 16_000_000, Window: time.Minute, Windowing: limitgate.Fixed}},
		{"days", limitgate.Count{Limit: 16_000_000, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: time.FixedZone("CET", 3600)}},
		{"log", limitgate.Count{Limit: 100, Window: time.Second, Windowing: limitgate.Log}},
		{"pace", limitgate.Pace{Rate: 1_000_000_000}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := limiter(b, New(Config{Bytes: 8 << 20}), c.limit)
			ks := keys(1000)
			b.ReportAllocs()
			i, now := 0, t0
			for b.Loop() {
				_, _ = l.TakeAt(ctx, now, ks[i], 1)
				if i++; i == len(ks) {
					i, now = 0, now.Add(20*time.Millisecond)
				}
			}
		})
	}
}

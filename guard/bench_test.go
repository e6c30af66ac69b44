package guard

import (
	"context"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// BenchmarkGuard is what a call costs that a guard makes, over one that is made directly: the zone answers at once, from memory.
func BenchmarkGuard(b *testing.B) {
	inner := memzone.New(memzone.Config{})
	for name, z := range map[string]limitgate.Zone{"direct": inner, "guarded": New(Config{}).Zone(inner, 0)} {
		b.Run(name, func(b *testing.B) {
			l := bind(b, z, limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1_000_000_000})
			b.ReportAllocs()
			for b.Loop() {
				if d, err := l.Take(context.Background(), "k"); err != nil || !d.Admitted() {
					b.Fatalf("got %+v %v, want it to pass", d, err)
				}
			}
		})
	}
}

package limitgate_test

import (
	"context"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// TestLateRefunds: charges that have drained by now give nothing back, however many receipts there are of them: afterwards no more passes
// than without them.
func TestLateRefunds(t *testing.T) {
	const burst = 10
	ctx := context.Background()
	t0 := limitgate.Time(1_800_000_000 * int64(time.Second))
	for _, a := range []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerSecond(1), Burst: burst, NoDelay: true},
		limitgate.Req{Rate: limitgate.PerSecond(1), Burst: burst, NoDelay: true, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: burst + 1},
	} {
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
		if err != nil {
			t.Fatal(err)
		}
		var old []limitgate.Receipt
		now := t0
		take := func() (limitgate.Receipt, bool) {
			t.Helper()
			r, d, err := l.TakeReceiptAt(ctx, now, "k", 1)
			if err != nil {
				t.Fatal(err)
			}
			return r, d.Admitted()
		}
		for range burst {
			r, _ := take()
			old = append(old, r)
			now = now.Add(time.Second)
		}
		now = now.Add(time.Minute)
		passed := 0
		for range 5 * burst {
			if _, ok := take(); ok {
				passed++
			} else if len(old) > 0 {
				if err := old[0].RefundAt(ctx, now); err != nil {
					t.Fatal(err)
				}
				old = old[1:]
			}
		}
		if passed != burst+1 {
			t.Errorf("%+v: got %d passed with receipts of what had drained, want %d", a, passed, burst+1)
		}
	}
}

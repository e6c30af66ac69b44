package limitgate_test

import (
	"context"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// fickle is a zone in which somebody else is always faster: what is admitted when asked is refused when charged, for the
// first so many times.
type fickle struct {
	limitgate.Zone
	times, takes, contended int
}

func (f *fickle) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	if m == limitgate.Take {
		if f.takes++; f.takes <= f.times {
			return limitgate.Decision{Outcome: limitgate.Rejected, Wait: 1}, limitgate.Charge{}, nil
		}
	}
	return f.Zone.Do(ctx, now, l, key, cost, m)
}

func (f *fickle) Contended() { f.contended++ }

// TestContended: All asks again when a leg has moved; in the end it refuses, tells so, and nothing stays charged.
func TestContended(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		times int
		late  bool
	}{{0, false}, {1, false}, {7, false}, {8, true}, {1000, true}} {
		z := &fickle{Zone: memzone.New(memzone.Config{}), times: c.times}
		tight := limiter(t, memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 3})
		moved := limiter(t, z, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 9})
		legs := []limitgate.Leg{{Limiter: moved, Key: "k"}, {Limiter: tight, Key: "k"}}
		v, err := limitgate.All(ctx, t0, legs)
		if err != nil || v.Late != c.late || v.Admitted() == c.late || c.late && (v.Leg != 0 || v.RetryAfter() != 0) || (z.contended == 1) != c.late {
			t.Errorf("%d times: %+v %v, contended %d", c.times, v, err, z.contended)
		}
		want := int64(1) // with one charged and one asked about
		if c.late {
			want = 2
		}
		if d, _ := tight.CheckAt(ctx, t0, "k", 1); d.Remaining != want {
			t.Errorf("%d times: %d left, want %d", c.times, d.Remaining, want)
		}
	}
	z := memzone.New(memzone.Config{})
	z.Contended()
	if z.Stats().Contended != 1 {
		t.Errorf("%+v", z.Stats())
	}
}

package limitfields

import (
	"context"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

func TestPolicyOfExtremes(t *testing.T) {
	cases := map[string]struct {
		zone string
		req  limitgate.Req
		want string
	}{
		"slow":     {"s", limitgate.Req{Rate: limitgate.PerDay(1), Burst: 20000}, `"s";q=20001;w=1728086400`},
		"fast":     {"f", limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 0}, `"f";q=1;w=1`},
		"far away": {"x", limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2305843008}, `"x";q=2305843009;w=2305843009`},
		"quoted":   {"a\"\\é", limitgate.Req{Rate: limitgate.PerSecond(1)}, `"a\"\\??";q=1;w=1`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := string(New(c.zone, c.req).item); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What a refusal says is left is what would pass now, also where the request cost more than that.
func TestRefusalsTellWhatWouldPass(t *testing.T) {
	for name, a := range map[string]limitgate.Algorithm{
		"req":   limitgate.Req{Rate: limitgate.PerMinute(7), Burst: 4, NoDelay: true},
		"nginx": limitgate.Req{Rate: limitgate.PerMinute(60), Burst: 4, NoDelay: true, Arithmetic: limitgate.Nginx},
		"token": limitgate.Token{Rate: limitgate.PerMinute(7), Capacity: 5},
	} {
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
		if err != nil {
			t.Fatal(err)
		}
		p, now := New(name, a), limitgate.Time(1<<60)
		for i := range 400 {
			cost := []limitgate.Cost{1, 2, 3, 5, 6, 9}[i%6]
			legs := []limitgate.Leg{{Limiter: l, Key: "k", Cost: cost}}
			if _, err := limitgate.All(context.Background(), now, legs); err != nil {
				t.Fatal(err)
			}
			_, got, _ := p.Legacy(&legs[0], legs[0].Decision.Admitted(), now)
			want := int64(0)
			if d, err := l.CheckAt(context.Background(), now, "k", 1); err == nil && d.Admitted() {
				want = d.Remaining + 1
			}
			if got != want {
				t.Errorf("%s, step %d, cost %d: got %d left, want %d", name, i, cost, got, want)
			}
			now = now.Add(1_234_567_891)
		}
	}
}

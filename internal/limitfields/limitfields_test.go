package limitfields

import (
	"testing"

	"github.com/limitgate/limitgate"
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

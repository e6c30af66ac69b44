package admit

import (
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/memzone"
)

func finds(t testing.TB, c adaptive.Config) *adaptive.Limiter {
	t.Helper()
	l, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What the limit that finds itself refuses is given back to all others; in dry run the work goes on with nothing charged or held.
func TestAdaptiveIsAskedLast(t *testing.T) {
	for _, dry := range []bool{false, true} {
		token, conn := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}), limiter(t, limitgate.Conn{Limit: 5})
		l := finds(t, adaptive.Config{Initial: 1, Max: 1})
		g := New(Config{Limiters: []*limitgate.Limiter{conn, token}, Adaptive: l, DryRun: dry})
		first, second := begin(g, "k"), begin(g, "k")
		if a := first.Ask(t.Context()); a.Refused || a.Limit < 0 || !first.Holds() {
			t.Errorf("dry run %v: got %+v, want it to go on, by one of the others", dry, a)
		}
		a := second.Ask(t.Context())
		if a.Refused == dry || a.Limit != Adaptive || a.Leg != -1 || a.Outcome != limitgate.Rejected || a.RetryAfter() != comeAgain || second.Holds() {
			t.Errorf("dry run %v: got %+v, want a refusal by the limit that finds itself", dry, a)
		}
		if said := second.Asked(); len(said.Legs) != 1 || said.Charged || second.Charged(1) {
			t.Errorf("dry run %v: got %+v, want one leg and no charge", dry, said)
		}
		if x, y := remaining(t, token, "k"), remaining(t, conn, "k"); x != 4 || y != 4 || l.InFlight() != 1 {
			t.Errorf("dry run %v: got %d, %d places and %d in flight, want 4, 4 and 1", dry, x, y, l.InFlight())
		}
		for _, v := range []*Visit{second, first} {
			if err := v.End(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if y := remaining(t, conn, "k"); y != 5 || l.InFlight() != 0 {
			t.Errorf("dry run %v: at the end %d places and %d in flight, want 5 and 0", dry, y, l.InFlight())
		}
	}
}

// An outage of a zone that is let pass is no way around the limit that finds itself.
func TestAdaptiveHoldsWhileAZoneIsOut(t *testing.T) {
	bad, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := New(Config{Limiters: []*limitgate.Limiter{bad}, Adaptive: finds(t, adaptive.Config{Initial: 1, Max: 1}), FailOpen: true})
	if a := begin(g, "k").Ask(t.Context()); a.Refused || a.Err == nil {
		t.Errorf("got %+v, want it to go on with an error", a)
	}
	if a := begin(g, "k").Ask(t.Context()); !a.Refused || a.Limit != Adaptive || a.Err != nil {
		t.Errorf("got %+v, want a refusal", a)
	}
}

func TestAdaptiveAloneIsNamed(t *testing.T) {
	g := New(Config{Adaptive: finds(t, adaptive.Config{})})
	v := g.Visit()
	if a := v.Ask(t.Context()); a.Refused || a.Limit != Adaptive || a.Outcome != limitgate.Passed {
		t.Errorf("got %+v, want it to pass", a)
	}
}

func TestAdaptiveAllocatesNothing(t *testing.T) {
	l := finds(t, adaptive.Config{Initial: 1, Max: 1})
	token := limiter(t, limitgate.Token{Rate: limitgate.PerSecond(1_000_000), Capacity: 1 << 30})
	g := New(Config{Limiters: []*limitgate.Limiter{token}, Adaptive: l})
	for _, refused := range []bool{false, true} {
		if n := testing.AllocsPerRun(1000, func() {
			v := begin(g, "192.0.2.1")
			if a := v.Ask(t.Context()); a.Refused != refused {
				t.Fatal(a)
			}
			v.Learn(adaptive.Answered)
			if err := v.End(t.Context()); err != nil {
				t.Fatal(err)
			}
		}); n > 0 && !racing.Detector {
			t.Errorf("refused %v: got %v allocations, want none", refused, n)
		}
		begin(g, "192.0.2.2").Ask(t.Context()) // takes the only place
	}
}

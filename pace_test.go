package limitgate

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Check and Account decide as Step does: what Check lets go, Step lets go at once, and after Account both have one state.
func TestPaceCheckIsStep(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		p := Pace{Rate: 1 + rnd.Int64N(1<<uint(1+rnd.IntN(35))), Burst: rnd.Int64N(1 << uint(1+rnd.IntN(30)))}
		if p.Validate() != nil {
			continue
		}
		steps := p.Compile()
		var s State
		now := Time(time.Hour)
		for range 8 {
			want := 1 + rnd.Int64N(1<<20)
			n, wait := p.Check(s, now, want, 1)
			_, a := steps.Step(s, now, 0, 0)
			if room := min(a.Remaining, want); n != room {
				t.Fatalf("%+v: got %d bytes, want %d", p, n, room)
			}
			if n == 0 {
				if wait <= 0 && p.Burst > 0 {
					t.Fatalf("%+v: neither bytes nor a wait", p)
				}
				if now = now.Add(wait); p.Burst > 0 {
					if n, _ := p.Check(s, now, want, 1); n == 0 {
						t.Fatalf("%+v: got nothing after the wait of %v", p, wait)
					}
				}
				continue
			}
			after, a := steps.Step(s, now, Cost(n), 0)
			if s = p.Account(s, now, n); a.Outcome != Passed || s != after {
				t.Fatalf("%+v: %d bytes: got state %d, want %d (%v)", p, n, s, after, a.Outcome)
			}
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Second))))
		}
	}
}

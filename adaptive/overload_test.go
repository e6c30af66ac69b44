package adaptive

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/overload"
)

const ms = time.Millisecond

// protect lets a simulation ask a Limiter.
type protect struct{ *Limiter }

func (p protect) Acquire(now limitgate.Time) (func(limitgate.Time, bool), bool) {
	t, ok := p.Limiter.Acquire(now)
	if !ok {
		return nil, false
	}
	return func(now limitgate.Time, dropped bool) {
		o := Answered
		if dropped {
			o = Dropped
		}
		t.Done(now, o)
	}, true
}

func limiter(t testing.TB, c Config) *Limiter {
	t.Helper()
	l, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestOverload is a backend of 1,000 a second whose requests become a hundred times slower, under ten times its load. A short form
// of two seeds runs always; make adaptive prints the worst of ten.
func TestOverload(t *testing.T) {
	seeds := 2
	if n, err := strconv.Atoi(os.Getenv("ADAPTIVE_SEEDS")); err == nil {
		seeds = n
	}
	long := seeds > 2
	shapes := []overload.Shape{overload.Fixed, overload.Exponential}
	if long {
		shapes = append(shapes, overload.Heavy)
	}
	for _, shape := range shapes {
		for _, s := range overload.Scenarios(shape, long) {
			worst := s.Worst(seeds, func() overload.Limiter { return protect{limiter(t, Config{})} })
			for i, w := range worst {
				if s.Names[i] == "" {
					continue
				}
				if long {
					fmt.Printf("%-11v %-28s %-22s %v\n", shape, s.Name, s.Names[i], w)
				}
				// A deviation of twice the mean is more than the capacity of some seconds is sure to.
				if shape == overload.Heavy {
					continue
				}
				bar := 0.9
				if s.Stages[i].Capacity() < 100 {
					bar = 0.8 // of 10 a second so few end in a probe that it is long
				}
				if w.Slower >= 3 || w.Share <= bar {
					t.Errorf("%v, %s, %s: got %v, want below 3 times and above %.0f%%", shape, s.Name, s.Names[i], w, 100*bar)
				}
			}
		}
	}
}

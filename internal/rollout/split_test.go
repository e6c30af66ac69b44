package rollout

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/racing"
)

// The side of a key is a promise to those who run several instances and several versions: these positions never change.
func TestPositionsNeverChange(t *testing.T) {
	for _, c := range []struct {
		zone, key string
		want      Share
	}{
		{"login", "", 350594}, {"login", "\x7f\x00\x00\x01", 927269}, {"login", "alice", 41146}, {"api", "alice", 507329}, {"", "alice", 828687},
		{"login", strings.Repeat("long ", 40), 24165},
	} {
		if got := position(seedOf(c.zone), c.key); got != c.want {
			t.Errorf("zone %q, key %.20q: got %d, want %d", c.zone, c.key, got, c.want)
		}
	}
}

// The keys that are enforced are as many as the share says, within five standard deviations, whatever keys look like.
func TestAShareOfTheKeys(t *testing.T) {
	const n = 50_000
	kinds := map[string]func(i int) string{
		"IPv4 addresses": func(i int) string { return string([]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) },
		"IPv6 networks":  func(i int) string { return string([]byte{0x20, 1, 0xd, 0xb8, 0, byte(i >> 16), byte(i >> 8), byte(i)}) },
		"numbers":        func(i int) string { return fmt.Sprint(i) },
		"names":          func(i int) string { return fmt.Sprintf("user-%d@example.com", i) },
	}
	for name, key := range kinds {
		for _, text := range []string{"0%", "0.1%", "1%", "5%", "50%", "99.9%", "100%"} {
			share, err := ParseShare(text)
			if err != nil {
				t.Fatal(err)
			}
			s, got := NewSplit("login", share), 0
			for i := range n {
				if s.Enforces(key(i)) {
					got++
				}
			}
			p := float64(share) / float64(Whole)
			want, bound := p*n, 5*math.Sqrt(n*p*(1-p))
			if math.Abs(float64(got)-want) > bound {
				t.Errorf("%s, %s: got %d of %d, want %.0f ± %.0f", name, text, got, n, want, bound)
			}
		}
	}
}

// A key that is enforced stays so while the share grows, in steps of a thousandth.
func TestSharesOnlyGrow(t *testing.T) {
	for i := range 300 {
		key, was := fmt.Sprint("key", i), false
		for share := Share(0); share <= Whole; share += Whole / 1000 {
			is := NewSplit("login", share).Enforces(key)
			if was && !is {
				t.Fatalf("%s is enforced below %s and not at it", key, share)
			}
			was = is
		}
		if !was {
			t.Errorf("%s is not enforced at 100%%", key)
		}
	}
}

// Two zones part the same keys in different ways: of those that one enforces for a tenth, the other does for a tenth.
func TestZonesPartOnTheirOwn(t *testing.T) {
	const n = 100_000
	a, b, first, both := NewSplit("a", Whole/10), NewSplit("b", Whole/10), 0, 0
	for i := range n {
		if key := fmt.Sprint(i); a.Enforces(key) {
			first++
			if b.Enforces(key) {
				both++
			}
		}
	}
	if want := float64(first) / 10; math.Abs(float64(both)-want) > 5*math.Sqrt(want) {
		t.Errorf("got %d of %d keys enforced by both, want about %.0f", both, first, want)
	}
}

func TestSplitLeavesNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	l := NewLive(nil)
	s, key := l.Split("login"), strings.Repeat("k", 100)
	if n := testing.AllocsPerRun(100, func() { _ = s.Enforces(key) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func TestShares(t *testing.T) {
	for text, want := range map[string]Share{
		"0%": 0, "1%": 10_000, "5%": 50_000, "0.1%": 1000, "0.0001%": 1, "33.3333%": 333_333, "100%": Whole, "100.0%": Whole, "07%": 70_000,
	} {
		got, err := ParseShare(text)
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
		if again, err := ParseShare(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s and read as %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "%", "5", "0.05", "101%", "100.0001%", "-1%", "+1%", "1.%", ".5%", "1.00001%", "1 %", "1e1%", "0x1%", "1%%", "1000%"} {
		if got, err := ParseShare(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, key := NewSplit("login", Whole/20), strings.Repeat("k", n)
			for b.Loop() {
				_ = s.Enforces(key)
			}
		})
	}
}

// TestPart: what was measured is told in hundredths of a percent, rounded up.
func TestPart(t *testing.T) {
	for _, c := range []struct {
		n, of uint64
		want  string
	}{{0, 0, "0%"}, {0, 7, "0%"}, {4, 14, "28.58%"}, {1, 1_000_000, "0.01%"}, {1, 4, "25%"}, {20_001, 1_000_000, "2.01%"}, {7, 7, "100%"}, {9, 7, "100%"}} {
		if got := part(c.n, c.of).String(); got != c.want {
			t.Errorf("%d of %d: got %s, want %s", c.n, c.of, got, c.want)
		}
	}
}

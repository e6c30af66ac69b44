package limitgate

import (
	"strings"
	"testing"
	"time"
)

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Rate
		out  string        // String, where it is not in
		each time.Duration // Interval
		nano int64         // thousandths of a request a second
	}{
		{"10r/s", PerSecond(10), "", 100 * time.Millisecond, 10000},
		{"1r/m", PerMinute(1), "", time.Minute, 16},
		{"7r/m", PerMinute(7), "", 8571428571, 116},
		{"59r/m", PerMinute(59), "", 1016949152, 983},
		{"100r/h", PerHour(100), "", 36 * time.Second, 27},
		{"1000r/d", PerDay(1000), "", 86400 * time.Millisecond, 11},
		{"0.5r/s", Per(1, 2*time.Second), "", 2 * time.Second, 500},
		{"1.25r/m", Rate{1_250_000, time.Minute}, "", 48 * time.Second, 20},
		{"10", PerSecond(10), "10r/s", 100 * time.Millisecond, 10000},
		{"1000000r/s", PerSecond(1_000_000), "", time.Microsecond, 1_000_000_000},
		{"0.01r/d", Rate{10_000, 24 * time.Hour}, "", 100 * 24 * time.Hour, 0},
	} {
		got, err := ParseRate(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if c.out == "" {
			c.out = c.in
		}
		if n, per := got.Millionths(); n != c.want.micro && c.in != "0.5r/s" || per <= 0 {
			t.Errorf("%s: got %d millionths in %v, want %d", c.in, n, per, c.want.micro)
		}
		if got.Interval() != c.each || got.Interval() != c.want.Interval() || got.String() != c.out || got.Thousandths() != c.nano {
			t.Errorf("%s: got %v each %v, %d thousandths; want %v, %v, %d", c.in, got, got.Interval(), got.Thousandths(), c.want, c.each, c.nano)
		}
	}
}

func TestParseRateErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "not a positive number",
		"r/s":                     "not a positive number",
		"ten":                     "not a positive number",
		"tenr/s":                  "not a positive number",
		"fast":                    "not a positive number",
		"-1r/s":                   "not a positive number",
		"+1r/s":                   "not a positive number",
		"10r/x":                   `unknown unit "r/x"`,
		"10r/":                    "unknown unit",
		"10 r/s":                  "not a positive number",
		"1.r/s":                   "not a positive number",
		".5r/s":                   "not a positive number",
		"1e3r/s":                  "not a positive number",
		"0r/s":                    "above zero",
		"0.0000001r/s":            "six digits",
		"0.009r/d":                "100 days",
		"1000001r/s":              "1000000r/s",
		"99999999999999999999r/s": "too large",
	} {
		if r, err := ParseRate(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, error %v; want one with %q", in, r, err, want)
		}
	}
}

func TestRateValidate(t *testing.T) {
	for _, r := range []Rate{{}, PerSecond(0), PerSecond(-3), Per(1, 0), Per(1, -time.Second), PerSecond(1_000_001), Per(1, 101*24*time.Hour), PerDay(1 << 62)} {
		if err := r.Validate(); err == nil {
			t.Errorf("%v: no error", r)
		}
		_, _ = r.Interval(), r.Float()
	}
	for _, r := range []Rate{PerSecond(1), PerDay(1), Per(100, 15*time.Minute), PerDay(86_400_000_000)} {
		if err := r.Validate(); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	if got := Per(5, 15*time.Minute).String(); got != "5r/15m0s" {
		t.Errorf("got %s", got)
	}
}

// TestRateCounts: as many requests as can be counted in one rate, and one more.
func TestRateCounts(t *testing.T) {
	for n, want := range map[int64]string{maxCount: "at most 1000000r/s", maxCount + 1: "must be above zero", 0: "must be above zero"} {
		if err := PerHour(n).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d an hour: got %v, want %q", n, err, want)
		}
	}
}

// TestNoRate: what is no rate has no time for a request and none of nginx's numbers.
func TestNoRate(t *testing.T) {
	for _, r := range []Rate{{}, PerSecond(0), PerSecond(-1), Per(1, 0), Per(1, -time.Second)} {
		if r.Interval() != 0 || r.Thousandths() != 0 || r.Validate() == nil {
			t.Errorf("%v: interval %v, %d thousandths, %v", r, r.Interval(), r.Thousandths(), r.Validate())
		}
	}
}

// TestRateError: from one a day to a million a second, the interval is at most 0.1 % short and never long.
func TestRateError(t *testing.T) {
	for n := int64(1); n <= 1_000_000; n += 1 + n/50 {
		for _, r := range []Rate{PerSecond(n), PerMinute(n), PerHour(n), PerDay(n)} {
			exact := float64(r.per) / float64(n)
			if got := float64(r.Interval()); got > exact+1e-6*exact || got < exact*0.999 {
				t.Fatalf("%v: interval %v, exactly %v", r, got, exact)
			}
		}
	}
}

func TestTime(t *testing.T) {
	a := At(time.Unix(12, 34))
	if a != 12_000_000_034 || a.Add(time.Second).Sub(a) != time.Second {
		t.Errorf("got %d", a)
	}
	if x, y := Now(), Now(); y < x || Now().Sub(At(time.Now())).Abs() > time.Minute {
		t.Errorf("now is %d, then %d", x, y)
	}
}

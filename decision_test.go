package limitgate

import (
	"math"
	"testing"
)

func TestExcessString(t *testing.T) {
	for e, want := range map[Excess]string{
		0: "0.000", 1: "0.001", 960: "0.960", 1000: "1.000", 12345: "12.345", -1: "-0.001",
		math.MaxInt64: "9223372036854775.807", math.MinInt64: "-9223372036854775.808",
	} {
		if got := e.String(); got != want {
			t.Errorf("%d: got %s, want %s", int64(e), got, want)
		}
	}
}

func TestOutcomeString(t *testing.T) {
	for o, want := range map[Outcome]string{Passed: "PASSED", Delayed: "DELAYED", Rejected: "REJECTED", 9: "Outcome(9)"} {
		if got := o.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestBytesKey(t *testing.T) {
	b := []byte("user")
	if k := BytesKey(b); k != "user" {
		t.Errorf("got %q", k)
	}
	if k := BytesKey(nil) + BytesKey(b[:0]); k != "" {
		t.Errorf("got %q", k)
	}
	if n := testing.AllocsPerRun(100, func() { _ = len(BytesKey(b)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package accesslog

import (
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		in     string
		unit   int64
		want   int64
		digits int
		ok     bool
	}{
		{"", second, Unknown, 0, true}, {"-", second, Unknown, 0, true}, {"-1", second, Unknown, 0, true}, {"-0.001", second, Unknown, 0, true},
		{"0", second, 0, 0, true}, {"1.5", second, 15e8, 1, true}, {"1796000637.123", second, 1796000637123e6, 3, true},
		{"0.000000001", second, 1, 9, true}, {"0.0000000019", second, 1, 10, true}, {"226", second / 1e3, 226e6, 0, true},
		{"1.25", second / 1e3, 1250000, 2, true}, {"1.", second, 1e9, 0, true}, {"9.29675e-05", second, 92967, 10, true},
		{"1e3", second / 1e3, 1e9, 0, true}, {"1.5E+2", 1, 150, 0, true}, {"1e-30", second, 0, 30, true},
		{"9223372035", second, 9223372035e9, 0, true}, {"9223372036", second, 0, 0, false}, {"99999999999999999999", 1, 0, 0, false},
		{"x", second, 0, 0, false}, {"1x", second, 0, 0, false}, {"1.2.3", second, 0, 0, false}, {".5", second, 0, 0, false},
		{"1e", second, 0, 0, false}, {"1e99", second, 0, 0, false}, {"1e-", second, Unknown, 0, false}, {"-x", second, 0, 0, false},
	} {
		got, digits, ok := span([]byte(c.in), c.unit)
		if ok != c.ok || ok && (got != c.want || digits != c.digits) {
			t.Errorf("%q of %d: got %d with %d digits, %v, want %d, %d, %v", c.in, c.unit, got, digits, ok, c.want, c.digits, c.ok)
		}
	}
}

// TestSpanIsExact: a number is read as its exact value, rounded down to the nanosecond.
func TestSpanIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strconv.Itoa(rapid.IntRange(0, 1<<31-1).Draw(t, "whole"))
		if rapid.Bool().Draw(t, "with a fraction") {
			text += "." + rapid.StringMatching("[0-9]{1,12}").Draw(t, "fraction")
		}
		if rapid.Bool().Draw(t, "with an exponent") {
			text += "e-" + strconv.Itoa(rapid.IntRange(0, 12).Draw(t, "exponent"))
		}
		unit := rapid.SampledFrom([]int64{second, second / 1e3, second / 1e6, 1}).Draw(t, "unit")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		exact.Mul(exact, new(big.Rat).SetInt64(unit))
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		got, _, ok := span([]byte(text), unit)
		// Beyond nine digits of a fraction of a second nothing is read, so a longer fraction may be a nanosecond short of none.
		if !ok || got != want.Int64() {
			t.Fatalf("%s of %d: got %d, %v, want %d", text, unit, got, ok, want)
		}
	})
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"", Unknown, true}, {"-", Unknown, true}, {"0.001", 1e6, true}, {"0.001, 0.002 : 0.003", 6e6, true}, {"-, 0.5", 5e8, true},
		{"- : -", Unknown, true}, {"0.001,0.002", 3e6, true}, {"x", 0, false}, {"0.001, x", 0, false},
	} {
		if got, ok := spans([]byte(c.in), second); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: got %d, %v, want %d, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		in         string
		want, unit int64
		ok         bool
	}{
		{"1.5ms", 1500000, second / 1e4, true}, {"350µs", 350000, 1e3, true}, {"350us", 350000, 1e3, true}, {"12ns", 12, 1, true},
		{"1m2.5s", int64(62500 * time.Millisecond), second / 10, true}, {"1h", int64(time.Hour), int64(time.Hour), true},
		{"", 0, 0, false}, {"1", 0, 0, false}, {"ms", 0, 0, false}, {"1.5h", 0, 0, false}, {"1 s", 0, 0, false}, {"1s1", 0, 0, false},
	} {
		got, unit, ok := named([]byte(c.in))
		if ok != c.ok || ok && (got != c.want || unit != c.unit) {
			t.Errorf("%q: got %d in %d, %v, want %d in %d, %v", c.in, got, unit, ok, c.want, c.unit, c.ok)
		}
	}
}

func TestGrain(t *testing.T) {
	for _, c := range []struct {
		unit    int64
		digits  int
		written int64
		cut     int64
	}{
		{second, 0, second, second}, {second, 1, second / 10, second / 1e3}, {second, 3, second / 1e3, second / 1e3},
		{second, 4, second / 1e4, second / 1e6}, {second, 6, second / 1e6, second / 1e6}, {second, 12, 1, 1},
		{second / 1e3, 0, second / 1e3, second / 1e3}, {second / 1e3, 2, second / 1e5, second / 1e6}, {1, 3, 1, 1},
	} {
		if got := grain(c.unit, c.digits); got != c.written {
			t.Errorf("grain(%d, %d): got %d, want %d", c.unit, c.digits, got, c.written)
		}
		if got := rounded(c.unit, c.digits); got != c.cut {
			t.Errorf("rounded(%d, %d): got %d, want %d", c.unit, c.digits, got, c.cut)
		}
	}
}

func TestClocks(t *testing.T) {
	at := time.Date(2026, 11, 30, 0, 43, 57, 0, time.UTC).UnixNano()
	var k clock
	for _, c := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"30/Nov/2026:00:43:57 +0000", at, true}, {"30/Nov/2026:00:43:57 +0000", at, true}, {"30/Nov/2026:01:43:57 +0100", at, true},
		{"29/Nov/2026:23:13:57 -0130", at, true}, {"30/Nov/2026:00:43:60 +0000", at + 3*second, true},
		{"30/Nov/2026:00:43:57 +000", 0, false}, {"30/Now/2026:00:43:57 +0000", 0, false}, {"31/Nov/0026:00:43:57 +0000", 0, false},
		{"30/Nov/31xx:00:43:57 +0000", 0, false}, {"30/Nov/2026:24:43:57 +0000", 0, false}, {"30-Nov/2026:00:43:57 +0000", 0, false},
		{"30/Nov/2026:00:43:57 x0000", 0, false}, {"30/Nov/2026:00:43:57 +00:0", 0, false}, {"00/Nov/2026:00:43:57 +0000", 0, false},
		{"", 0, false},
	} {
		if got, ok := k.local([]byte(c.in)); ok != c.ok || ok && got != c.want {
			t.Errorf("%q: got %d, %v, want %d, %v", c.in, got, ok, c.want, c.ok)
		}
	}
	for _, c := range []struct {
		in    string
		want  int64
		grain time.Duration
		ok    bool
	}{
		{"2026-11-30T00:43:57+00:00", at, time.Second, true}, {"2026-11-30T00:43:57Z", at, time.Second, true},
		{"2026-11-30 00:43:57", at, time.Second, true}, {"2026-11-30T02:43:57+0200", at, time.Second, true},
		{"2026-11-30T00:43:57.5Z", at + 5e8, time.Millisecond, true}, {"2026-11-30T00:43:57,123", at + 123e6, time.Millisecond, true},
		{"2026-11-30T00:43:57.123456Z", at + 123456e3, time.Microsecond, true}, {"2026-11-30T00:43:57.123456789123Z", at + 123456789, 1, true},
		{"2026-11-30 00:43:57 +0000", at, time.Second, true}, {"2026-11-30T00:43:57.Z", 0, 0, false}, {"2026-11-30T00:43", 0, 0, false},
		{"2026-13-30T00:43:57Z", 0, 0, false}, {"2026-11-30T00:43:57Zx", 0, 0, false}, {"2026-11-30x00:43:57Z", 0, 0, false},
	} {
		got, grain, ok := iso([]byte(c.in))
		if ok != c.ok || ok && (got != c.want || time.Duration(grain) != c.grain) {
			t.Errorf("%q: got %d ±%d, %v, want %d ±%d, %v", c.in, got, grain, ok, c.want, c.grain, c.ok)
		}
	}
}

// TestClocksAgree: every time that the time package writes is read as what it was.
func TestClocksAgree(t *testing.T) {
	var k clock
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(86400, 7e9).Draw(t, "at"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).In(zone)
		if got, ok := k.local([]byte(at.Format("02/Jan/2006:15:04:05 -0700"))); !ok || got != at.Truncate(time.Second).UnixNano() {
			t.Fatalf("%s: got %d, %v", at, got, ok)
		}
		if got, _, ok := iso([]byte(at.Format(time.RFC3339Nano))); !ok || got != at.UnixNano() {
			t.Fatalf("%s: got %d, %v", at, got, ok)
		}
		for layout, format := range map[string]string{"02/Jan/2006 15:04:05 -0700": "%d/%b/%Y %T %z", "2006-01-02T15:04:05-0700": "%FT%H:%M:%S%z",
			"Mon Jan _2 15:04:05 2006 -0700": "%a %b %e %T %Y %z", "01/02/06 15:04:05 -0700": "%D %T %z", "20060102150405-0700": "%Y%m%d%H%M%S%z"} {
			f, err := newStrftime(format)
			if err != nil {
				t.Fatal(err)
			}
			var c civil
			text := at.Format(layout)
			if ok := f.read([]byte(text), &c); !ok {
				t.Fatalf("%s is not %s", text, format)
			}
			if got, ok := c.moment(); (!ok || got != at.Truncate(time.Second).UnixNano()) && at.Year() >= 2000 && at.Year() < 2100 {
				t.Fatalf("%s by %s: got %d, %v, want %d", text, format, got, ok, at.Unix())
			}
		}
	})
}

func TestStrftimeRefuses(t *testing.T) {
	for format, want := range map[string]string{"%j": "can't be read back", "%": "ends with a percent sign"} {
		if _, err := newStrftime(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", format, err, want)
		}
	}
	for _, c := range []struct{ format, text string }{{"%T", "1:2:3"}, {"%s", "x"}, {"%Y-%m", "2026"}, {"%d%%", "01"}, {"%F", "2026-1"}, {"x", ""}, {"%T", "01:02:03x"}} {
		f, err := newStrftime(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if f.read([]byte(c.text), &civil{}) {
			t.Errorf("%q is taken for %s", c.text, c.format)
		}
	}
}

func addresses() []string {
	return []string{"192.0.2.1", "0.0.0.0", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1..2.3", "1.2.3.4 ",
		"::", "::1", "2001:db8::1", "2001:db8:0:0:0:0:0:1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9",
		"::ffff:192.0.2.1", "1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7:192.0.2.1", "fe80::1%eth0", "1::2::3", ":1", "1:", ":::", "12345::",
		"g::", "", "unix:", "example.com", "::1.2.3", "1:2:3:4:5:6:7", "::ffff:1.2.3.4:5", "1:2", "::1%"}
}

func TestAddresses(t *testing.T) {
	for _, in := range addresses() {
		sameAddress(t, in)
	}
	if got, ok := address([]byte("[2001:db8::1]")); !ok || got != netip.MustParseAddr("2001:db8::1") {
		t.Errorf("in brackets: got %s, %v", got, ok)
	}
	for _, c := range []struct {
		in   string
		addr string
		port uint16
	}{
		{"192.0.2.1:80", "192.0.2.1", 80}, {"[2001:db8::1]:443", "2001:db8::1", 443}, {"2001:db8::1:443", "2001:db8::1", 443},
		{"192.0.2.1", "192.0.2.1", 0}, {"2001:db8::1", "2001:db8::1", 0}, {"192.0.2.1:99999", "", 0}, {"-", "", 0}, {"a:80", "", 0},
	} {
		a, port, ok := addressPort([]byte(c.in))
		if c.addr == "" && ok || c.addr != "" && (!ok || a != netip.MustParseAddr(c.addr) || port != c.port) {
			t.Errorf("%q: got %s, %d, %v, want %s, %d", c.in, a, port, ok, c.addr, c.port)
		}
	}
}

func sameAddress(t *testing.T, in string) {
	t.Helper()
	want, err := netip.ParseAddr(in)
	got, ok := address([]byte(in))
	if ok != (err == nil) || ok && got != want {
		t.Errorf("%q: got %s, %v, want %s, %v", in, got, ok, want, err)
	}
}

// FuzzAddress: an address is what netip takes for one.
func FuzzAddress(f *testing.F) {
	for _, a := range addresses() {
		f.Add(a)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1 && in[0] == '[' {
			return
		}
		sameAddress(t, in)
	})
}

// FuzzNumbers: no text makes the readers of numbers and times fail otherwise than by saying so.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"1.5", "9.29675e-05", "1e30", "0.001, 0.002 : -", "1m2.5s", "2026-11-30T00:43:57.5+01:00", "30/Nov/2026:00:43:57 +0000", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		v := []byte(in)
		for _, unit := range []int64{second, second / 1e3, 1} {
			if ns, _, ok := span(v, unit); ok && ns < Unknown {
				t.Errorf("span %q: got %d", in, ns)
			}
			if ns, ok := spans(v, unit); ok && ns < Unknown {
				t.Errorf("spans %q: got %d", in, ns)
			}
		}
		if ns, unit, ok := named(v); ok && (ns < 0 || unit <= 0) {
			t.Errorf("named %q: got %d, %d", in, ns, unit)
		}
		if ns, grain, ok := iso(v); ok && (grain <= 0 || fmt.Sprint(ns) == "") {
			t.Errorf("iso %q: got %d", in, grain)
		}
		var d draft
		d.begin(&Record{})
		d.anyTime(v)
		for _, format := range []strftime{"%d/%b/%Y %T %z", "%s", "%F %R", "%e%B%a"} {
			var c civil
			if format.read(v, &c) {
				c.moment()
			}
		}
	})
}

package request

import (
	"net/netip"
	"testing"
)

func TestAppendAddr(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"192.0.2.1", "192.0.2.1"}, {"::", "::"}, {"::1", "::1"}, {"::2", "::2"}, {"::101", "::101"}, {"::102", "::0.0.1.2"},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1"}, {"::203.0.113.9", "::203.0.113.9"}, {"fe80::", "fe80::"},
		{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"}, {"2001:db8:0:0:0:1:0:0", "2001:db8::1:0:0"},
		{"1:0:0:2:0:0:0:3", "1:0:0:2::3"}, {"1:0:0:2:0:0:3:4", "1::2:0:0:3:4"}, {"::1:2:3", "::1:2:3"},
		{"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
	} {
		if got := string(AppendAddr(nil, netip.MustParseAddr(c.in))); got != c.want {
			t.Errorf("AppendAddr(%s): got %s, want %s", c.in, got, c.want)
		}
	}
	if got := string(AppendAddr(nil, netip.Addr{})); got != "unix:" {
		t.Errorf("a unix peer: got %s, want unix:", got)
	}
}

// Keep may run while Scratch is out: neither may write over the other.
func TestKeepWhileScratchIsOut(t *testing.T) {
	r := new(Request)
	out := append(r.Scratch(), "outer"...)
	kept := r.Keep([]byte("kept"))
	out = r.Claim(append(out, "-more"...))
	again := r.Keep([]byte("again"))
	for _, c := range []struct{ got, want string }{{string(out), "outer-more"}, {string(kept), "kept"}, {string(again), "again"}} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestArenaAllocatesNothing(t *testing.T) {
	r := new(Request)
	word := []byte("word")
	n := testing.AllocsPerRun(100, func() {
		r.Reset()
		p := append(r.Scratch(), word...)
		r.Keep(word)
		r.Claim(append(p, word...))
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

package phase

import (
	"net/netip"
	"testing"
)

func TestCrowd(t *testing.T) {
	for _, c := range []struct {
		name, peer, other string
		every             int // one in so many requests comes from other; 0: none
		want              bool
	}{
		{"a balancer", "10.0.0.1", "", 0, true},
		{"a balancer, in IPv6", "fd00::1", "", 0, true},
		{"a balancer, mapped", "::ffff:10.0.0.1", "", 0, true},
		{"loopback", "127.0.0.1", "", 0, true},
		{"a carrier's range", "100.64.0.1", "", 0, true},
		{"a balancer and few others", "10.0.0.1", "203.0.113.9", 30, true},
		{"a balancer and more others", "10.0.0.1", "203.0.113.9", 10, false},
		{"a client", "203.0.113.9", "", 0, false},
		{"two balancers", "10.0.0.1", "10.0.0.2", 2, false},
	} {
		var crowd Crowd
		told := 0
		for i := range 20 * CrowdSize {
			a := netip.MustParseAddr(c.peer)
			if c.every > 0 && i%c.every == 1 {
				a = netip.MustParseAddr(c.other)
			}
			if same, one := crowd.Meet(a); one {
				told++
				if same < 244 || a != netip.MustParseAddr(c.peer) {
					t.Errorf("%s: told of %v with %d requests", c.name, a, same)
				}
			}
		}
		want := 0
		if c.want {
			want = 1
		}
		if told != want {
			t.Errorf("%s: told %d times, want %d", c.name, told, want)
		}
	}
}

func TestCrowdOfAZone(t *testing.T) {
	var e Env
	a, b := e.Crowd("a"), e.Crowd("b")
	if e.Crowd("a") != a || a == b {
		t.Error("a zone has one crowd, and each its own")
	}
}

package trust

import (
	"math/rand/v2"
	"net/netip"
	"testing"
)

func prefixes(texts ...string) []netip.Prefix {
	var list []netip.Prefix
	for _, s := range texts {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

func TestNets(t *testing.T) {
	n := NewNets(prefixes("10.0.0.0/8", "10.1.0.0/16", "192.0.2.1/32", "192.0.2.0/31", "2001:db8::/32", "2001:db8:1::/48", "::1/128", "::ffff:0:0/96"), false)
	for _, c := range []struct {
		addr string
		want bool
	}{
		{"10.0.0.0", true}, {"10.255.255.255", true}, {"11.0.0.0", false}, {"9.255.255.255", false}, {"192.0.2.0", true}, {"192.0.2.1", true},
		{"192.0.2.2", false}, {"::ffff:10.1.1.1", true}, {"::ffff:11.1.1.1", false}, {"2001:db8::", true},
		{"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true}, {"2001:db9::", false}, {"::1", true}, {"::2", false}, {"::", false},
	} {
		if got := n.Contains(netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.addr, got, c.want)
		}
	}
	if n.Contains(netip.Addr{}) {
		t.Error("a unix peer is trusted without unix:")
	}
	if !NewNets(nil, true).Contains(netip.Addr{}) {
		t.Error("a unix peer is not trusted with unix:")
	}
	all := NewNets(prefixes("::/0"), false)
	if all.Contains(netip.MustParseAddr("10.0.0.1")) || all.Contains(netip.MustParseAddr("::ffff:10.0.0.1")) || !all.Contains(netip.MustParseAddr("ffff::")) {
		t.Error("::/0 must hold all of IPv6 and none of IPv4")
	}
}

func TestNetsAgainstPlainSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var list []netip.Prefix
		for range rnd.IntN(8) {
			p, _ := near(rnd).Prefix(rnd.IntN(33))
			list = append(list, p)
		}
		n := NewNets(list, false)
		for range 100 {
			a := near(rnd)
			want := false
			for _, p := range list {
				want = want || p.Contains(a)
			}
			if got := n.Contains(a); got != want {
				t.Fatalf("%s in %v: got %v, want %v", a, list, got, want)
			}
		}
	}
}

// near returns addresses close to one another, of both families.
func near(rnd *rand.Rand) netip.Addr {
	b := [4]byte{byte(rnd.IntN(2)) * 255, byte(rnd.IntN(2)) * 255, byte(rnd.IntN(3)), byte(rnd.IntN(8)) * 36}
	if rnd.IntN(2) == 0 {
		return netip.AddrFrom4(b)
	}
	return netip.AddrFrom16([16]byte{0x20, b[0], b[1], b[2], b[3]})
}

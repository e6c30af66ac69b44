package trust

import (
	"net/netip"
	"testing"
)

// walk walks lines as one list.
func walk(n *Nets, peer netip.AddrPort, recursive bool, lines ...[]byte) (client netip.AddrPort, found bool) {
	w := Walk{Client: peer}
	for i := len(lines) - 1; i >= 0 && n.Line(&w, lines[i], recursive); i-- {
	}
	return w.Client, w.Found
}

// FuzzWalk: no list panics; whatever it holds, the client is the peer, or an address after one that is trusted.
func FuzzWalk(f *testing.F) {
	f.Add("10.0.0.1", "203.0.113.9, 10.1.1.1", "127.0.0.1", true)
	f.Add(",1.2.3.4", " , ,", "junk", false)
	n := NewNets(prefixes("10.0.0.0/8", "127.0.0.1/32"), false)
	peer := netip.MustParseAddrPort("127.0.0.1:1")
	f.Fuzz(func(t *testing.T, one, two, three string, recursive bool) {
		lines := [][]byte{[]byte(one), []byte(two), []byte(three)}
		client, found := walk(n, peer, recursive, lines...)
		if !found && client != peer {
			t.Errorf("not found, but the client is %v", client)
		}
		if !recursive {
			want, ok := n.Value(peer, []byte(three), false)
			if client != want || found != ok {
				t.Errorf("not recursive: got %v, want the last entry of the last line, %v", client, want)
			}
		}
		stranger := netip.MustParseAddrPort("192.0.2.1:1")
		if c, found := walk(n, stranger, recursive, lines...); found || c != stranger {
			t.Errorf("a stranger was believed: %v", c)
		}
	})
}

func TestWalkAllocatesNothing(t *testing.T) {
	n := NewNets(prefixes("10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"), false)
	lines := [][]byte{[]byte("203.0.113.9, 10.3.3.3"), []byte("[2001:db8::7]:443, 10.1.1.1, 10.2.2.2")}
	peer := netip.MustParseAddrPort("127.0.0.1:1")
	var client netip.AddrPort
	if got := testing.AllocsPerRun(100, func() { client, _ = walk(n, peer, true, lines...) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
	if want := "203.0.113.9:0"; client.String() != want {
		t.Errorf("got %v, want %v", client, want)
	}
}

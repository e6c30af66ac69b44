package trust

import (
	"net/netip"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// FuzzWalk: no list panics; whatever it holds, the client is the peer, or an address after one that is trusted.
func FuzzWalk(f *testing.F) {
	f.Add("10.0.0.1", "203.0.113.9, 10.1.1.1", "127.0.0.1", true)
	f.Add(",1.2.3.4", " , ,", "junk", false)
	n := NewNets(prefixes("10.0.0.0/8", "127.0.0.1/32"), false)
	peer := netip.MustParseAddrPort("127.0.0.1:1")
	f.Fuzz(func(t *testing.T, one, two, three string, recursive bool) {
		var fields []request.Header
		for _, s := range []string{one, two, three} {
			fields = append(fields, request.Header{ID: header.XForwardedFor, Value: []byte(s)})
		}
		client, found := n.Forwarded(peer, fields, recursive)
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
		if c, found := n.Forwarded(stranger, fields, recursive); found || c != stranger {
			t.Errorf("a stranger was believed: %v", c)
		}
	})
}

func TestWalkAllocatesNothing(t *testing.T) {
	n := NewNets(prefixes("10.0.0.0/8", "127.0.0.1/32", "2001:db8::/32"), false)
	fields := []request.Header{
		{ID: header.XForwardedFor, Value: []byte("203.0.113.9, 10.3.3.3")},
		{ID: header.XForwardedFor, Value: []byte("[2001:db8::7]:443, 10.1.1.1, 10.2.2.2")},
	}
	peer := netip.MustParseAddrPort("127.0.0.1:1")
	var client netip.AddrPort
	if got := testing.AllocsPerRun(100, func() { client, _ = n.Forwarded(peer, fields, true) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
	if want := "203.0.113.9:0"; client.String() != want {
		t.Errorf("got %v, want %v", client, want)
	}
}

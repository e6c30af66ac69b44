package upstream

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/request"
)

// walk returns the peers that a request asks in turn while all of them fail.
func walk(g *group, r *request.Request) string {
	var c choice
	c.begin(g)
	c.start(r)
	names := ""
	for p := c.next(1000 * second); p != nil; p = c.next(1000 * second) {
		names += string(p.name)
		c.done(p, false, 0)
	}
	return names
}

// hashing is a group of these peers.
func hashing(m method, names string, weights ...int) *group {
	g := &group{method: m, key: fixed("key"), peers: peers{primary: named(names, weights...)}}
	for _, p := range g.primary {
		p.server = "host-" + string(p.name) + ":80"
		g.weight += p.weight
	}
	if m == ringHash {
		g.ring = newRing(g.primary)
	}
	return g
}

func TestEveryPeerIsAskedOnce(t *testing.T) {
	r := &request.Request{ClientAddr: netip.MustParseAddrPort("192.0.2.1:1")}
	for _, m := range []method{ipHash, keyHash, ringHash, leastConn, byLot, ofTwo} {
		g := hashing(m, "abcdefgh", 1, 2, 3, 4, 1, 2, 3, 4)
		got := walk(g, r)
		for p := range strings.SplitSeq("abcdefgh", "") {
			if strings.Count(got, p) != 1 {
				t.Errorf("method %d: got %s, want each peer once", m, got)
				break
			}
		}
		if again := walk(g, r); m < byLot && m != leastConn && again[0] != got[0] {
			t.Errorf("method %d: got %s and then %s, want the same first peer", m, got, again)
		}
	}
}

func TestOfAnAddress(t *testing.T) {
	g := hashing(ipHash, "abcdefgh", 1, 1, 1, 1, 1, 1, 1, 1)
	first := func(addr string) byte {
		r := &request.Request{}
		if addr != "" {
			r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(addr), 1)
		}
		return walk(g, r)[0]
	}
	if a, b := first("192.0.2.1"), first("192.0.2.254"); a != b {
		t.Errorf("two clients of a network: got %c and %c, want the same peer", a, b)
	}
	if a, b := first(""), first("0.0.0.9"); a != b {
		t.Errorf("a unix socket: got %c, want %c, as for 0.0.0.0", a, b)
	}
	seen := map[byte]bool{}
	for i := range 50 {
		seen[first(fmt.Sprintf("2001:db8::%x", i))] = true
	}
	if len(seen) != 8 {
		t.Errorf("clients of IPv6: got %d peers of 8", len(seen))
	}
}

// Few keys move when a peer goes.
func TestTheRingKeepsKeysInTheirPlace(t *testing.T) {
	all, less := hashing(ringHash, "abcd", 1, 1, 1, 1), hashing(ringHash, "abc", 1, 1, 1)
	for i := range 200 {
		key := fixed(fmt.Sprint("key", i))
		all.key, less.key = key, key
		before, after := walk(all, &request.Request{})[0], walk(less, &request.Request{})[0]
		if before != 'd' && before != after {
			t.Errorf("%s: moved from %c to %c though that is still there", key, before, after)
		}
	}
}

func TestSplitServer(t *testing.T) {
	for name, want := range map[string]string{
		"h:80": "h|80", "h": "h|", "[::1]:80": "[::1]|80", "unix:/a:80": "/a:80|", "UNIX:/s": "/s|", "h:": "h|", "h:x": "h:x|", "80": "80|",
	} {
		if host, port := splitServer(name); host+"|"+port != want {
			t.Errorf("%s: got %s|%s, want %s", name, host, port, want)
		}
	}
}

func TestLeastConnections(t *testing.T) {
	g := &group{method: leastConn, peers: peers{primary: named("abc", 1, 1, 2), backup: named("z", 1)}}
	var cs [8]choice
	got := ""
	var held []*peer
	for i := range cs {
		cs[i].begin(g)
		p := cs[i].next(second)
		held = append(held, p)
		got += string(p.name)
	}
	if got != "cabcbacc" {
		t.Errorf("got %s, want cabcbacc: two for c where one for the others, and turns among equals", got)
	}
	for i, p := range held {
		cs[i].done(p, false, second)
	}
	for _, p := range g.primary {
		if p.down = true; p.conns != 0 {
			t.Errorf("%s: got %d connections, want none", p.name, p.conns)
		}
	}
	cs[0].begin(g)
	if p := cs[0].next(second); p == nil || string(p.name) != "z" {
		t.Errorf("all down: got %v, want the backup", p)
	}
}

func TestLots(t *testing.T) {
	counts := map[string]int{}
	for range 4000 {
		g := hashing(byLot, "abc", 1, 2, 1)
		var c choice
		c.begin(g)
		c.start(&request.Request{})
		counts[string(c.next(second).name)]++
	}
	// Seven standard deviations either way.
	if a, b := counts["a"], counts["b"]; a < 800 || a > 1200 || b < 1780 || b > 2220 {
		t.Errorf("by lot: got %v of 4000, want about 1000, 2000 and 1000", counts)
	}
	g := hashing(ofTwo, "ab", 1, 1)
	g.primary[0].conns = 5
	for range 5 {
		var c choice
		c.begin(g)
		c.start(&request.Request{})
		if p := c.next(second); string(p.name) != "b" {
			t.Fatalf("of two: got %s with %d connections, want b", p.name, p.conns)
		}
	}
}

// The addresses of one server share its points: a ring of many addresses is no larger, and no slower to make, than that of one.
func TestAddressesOfAServerShareItsPoints(t *testing.T) {
	var peers []*peer
	for range 128 {
		peers = append(peers, &peer{server: "a.example:80", weight: 3})
	}
	peers = append(peers, &peer{server: "b.example:80", weight: 1})
	want := newRing([]*peer{peers[0], peers[128]})
	if got := newRing(peers); !slices.Equal(got, want) || cap(got) > 2*len(want) {
		t.Errorf("got %d points in memory for %d, want %d", len(got), cap(got), len(want))
	}
}

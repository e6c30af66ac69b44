package vars

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
)

const geos = `
geo $net { 127.0.0.0/8 loopback; 192.0.2.0/24 test; 192.0.2.128/25 upper; 192.0.2.1 one; 0.0.0.0/0 world;
    ::/0 world6; 2001:db8::/32 doc; 2001:db8:1::/48 deep; }
geo $none { 255.255.255.255 none; 10.0.0.0/8 ten; }
geo $deleted { 127.0.0.0/8 loopback; 0.0.0.0/0 world; delete 127.0.0.0/8; }
geo $arg_ip $arg { default other; 127.0.0.0/8 loopback; include more.conf; }
geo $arg_ip $ranged { ranges; default other; 127.0.0.0-127.0.0.1 loopback; 10.10.3.0-10.11.2.255 foo; 10.12.3.0-10.13.2.255 foo2;
    delete 10.10.3.0-10.11.2.255; }
geo $arg_ip $inside { ranges; 10.0.0.0-10.0.0.255 test; 10.0.0.1-10.0.0.2 test2; 10.0.0.1-10.0.0.1 one; 10.0.0.0-10.0.0.0 zero; 10.0.0.255-10.0.0.255 last; }
geo $proxied { default other; proxy 10.0.0.1; proxy 10.0.0.2; 203.0.113.0/24 client; 10.0.0.0/8 inner; }
geo $recursive { proxy_recursive; default other; proxy 10.0.0.1; proxy 10.0.0.2; 203.0.113.0/24 client; 10.0.0.0/8 inner; }
geo $live { volatile; 10.0.0.1 a; 10.0.0.2 b; }
`

func TestGeo(t *testing.T) {
	table, errs := define(t, geos, "more.conf", "192.0.2.0/24 test;")
	good(t, errs)
	for _, c := range []struct{ addr, args, name, want string }{
		{"127.1.2.3", "", "net", "loopback"}, {"192.0.2.1", "", "net", "one"}, {"192.0.2.2", "", "net", "test"},
		{"192.0.2.127", "", "net", "test"}, {"192.0.2.128", "", "net", "upper"}, {"192.0.2.255", "", "net", "upper"},
		{"192.0.3.0", "", "net", "world"}, {"0.0.0.0", "", "net", "world"}, {"255.255.255.254", "", "net", "world"},
		{"::ffff:127.0.0.1", "", "net", "loopback"}, {"::1", "", "net", "world6"}, {"2001:db8::1", "", "net", "doc"},
		{"2001:db8:1:ffff::", "", "net", "deep"}, {"2001:db8:2::", "", "net", "doc"}, {"2001:db9::", "", "net", "world6"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", "net", "world6"}, {"unix:", "", "net", "world"},
		{"unix:", "", "none", "none"}, {"10.0.0.1", "", "none", "ten"}, {"11.0.0.1", "", "none", ""}, {"::1", "", "none", ""},
		{"127.0.0.1", "", "deleted", "world"},
		{"1.1.1.1", "ip=192.0.2.1", "arg", "test"}, {"1.1.1.1", "ip=10.0.0.1", "arg", "other"}, {"1.1.1.1", "ip=junk", "arg", "other"},
		{"127.0.0.1", "", "arg", "other"}, {"1.1.1.1", "ip=127..0.001", "arg", "loopback"},
		{"1.1.1.1", "ip=10.0.0.1", "ranged", "other"}, {"1.1.1.1", "ip=10.13.2.1", "ranged", "foo2"}, {"1.1.1.1", "ip=10.12.2.255", "ranged", "other"},
		{"1.1.1.1", "ip=10.11.2.1", "ranged", "other"}, {"1.1.1.1", "ip=::1", "ranged", "other"}, {"1.1.1.1", "ip=127.0.0.1", "ranged", "loopback"},
		{"1.1.1.1", "ip=10.0.0.0", "inside", "zero"}, {"1.1.1.1", "ip=10.0.0.1", "inside", "one"}, {"1.1.1.1", "ip=10.0.0.2", "inside", "test2"},
		{"1.1.1.1", "ip=10.0.0.3", "inside", "test"}, {"1.1.1.1", "ip=10.0.0.255", "inside", "last"}, {"1.1.1.1", "ip=10.0.1.0", "inside", ""},
		{"10.0.0.1", "", "proxied", "inner"}, {"10.0.0.1", "", "recursive", "client"}, {"10.0.0.3", "", "proxied", "inner"},
		{"1.1.1.1", "", "proxied", "other"},
	} {
		r := sample()
		r.Headers = fields("X-Forwarded-For", "203.0.113.9, 10.0.0.2")
		r.Args = []byte(c.args)
		r.ClientAddr = netip.AddrPort{}
		if c.addr != "unix:" {
			r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(c.addr), 1)
		}
		if got := value(t, table, r, c.name); got != c.want {
			t.Errorf("$%s for %s?%s: got %q, want %q", c.name, c.addr, c.args, got, c.want)
		}
	}
	r := sample()
	for _, c := range []struct{ addr, want string }{{"10.0.0.1", "a"}, {"10.0.0.2", "b"}} {
		r.ClientAddr = netip.AddrPortFrom(netip.MustParseAddr(c.addr), 1)
		if got := value(t, table, r, "live"); got != c.want {
			t.Errorf("volatile geo: got %q, want %q", got, c.want)
		}
	}
}

func TestGeoWarnings(t *testing.T) {
	_, errs := define(t, `geo $x { 10.0.0.0/8 a; 10.0.0.0/8 b; 0.0.0.0/0 z; default q; delete 11.0.0.0/8; 10.0.0.1/16 low; }
geo $y { ranges; default a; default b; 10.0.0.0-10.0.0.4 x; 10.0.0.0-10.0.0.4 y; delete 1.0.0.0-1.0.0.1; }`)
	good(t, errs)
	var got []string
	for _, n := range errs.Notices() {
		got = append(got, n.Msg)
	}
	want := []string{
		`duplicate network "10.0.0.0/8", value: "b", old value: "a"`, `duplicate network "default", value: "q", old value: "z"`,
		`no network "11.0.0.0/8" to delete`, `low address bits of 10.0.0.1/16 are meaningless`,
		`duplicate default geo range value: "b", old value: "a"`, `duplicate range "10.0.0.0-10.0.0.4", value: "y", old value: "x"`,
		`no address range "1.0.0.0-1.0.0.1" to delete`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("notices: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The steps are checked against the plain way: the longest of all prefixes that hold the address.
func TestNetworksAgainstPlainSearch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p := newPrefixes()
		var all []netip.Prefix
		for i := range rnd.IntN(12) {
			n := netip.PrefixFrom(randomAddr(rnd), 0)
			n, _ = n.Addr().Prefix(rnd.IntN(n.Addr().BitLen() + 1))
			p.add(n, fmt.Sprint(i))
			all = append(all, n)
			if rnd.IntN(6) == 0 {
				p.remove(n)
			}
		}
		table := p.networks()
		for range 200 {
			a := randomAddr(rnd)
			want, bits := "", -1
			for _, n := range all {
				if i, ok := p.family(n)[n]; ok && n.Contains(a) && n.Bits() > bits {
					want, bits = string(p.values[i]), n.Bits()
				}
			}
			if got := string(table.find(a)); got != want {
				t.Fatalf("%s in %v: got %q, want %q", a, all, got, want)
			}
		}
	}
}

// randomAddr returns addresses that are close to one another and to the ends of the space.
func randomAddr(rnd *rand.Rand) netip.Addr {
	edge := byte(rnd.IntN(3) - 1)
	b := [16]byte{edge, 0, 0, byte(rnd.IntN(8)), edge, edge, edge, edge, edge, edge, edge, edge, edge, edge, byte(rnd.IntN(4)), byte(rnd.IntN(256))}
	if rnd.IntN(2) == 0 {
		return netip.AddrFrom4([4]byte{edge, edge, byte(rnd.IntN(4)), byte(rnd.IntN(256))})
	}
	b[2] = 1 // not a mapped address
	return netip.AddrFrom16(b)
}

func TestHundredThousandNetworks(t *testing.T) {
	p := newPrefixes()
	for i := range 100_000 {
		p.add(netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 0}), 24), fmt.Sprint(i%7))
	}
	table := p.networks()
	for _, i := range []int{0, 1, 65_535, 65_536, 99_999} {
		a := netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 9})
		if got, want := string(table.find(a)), fmt.Sprint(i%7); got != want {
			t.Errorf("%s: got %q, want %q", a, got, want)
		}
	}
	if got := testing.AllocsPerRun(100, func() { table.find(netip.AddrFrom4([4]byte{1, 2, 3, 4})) }); got != 0 {
		t.Errorf("a look-up allocates %v times, want 0", got)
	}
}

// FuzzRanges: whatever ranges are added and removed, spans stay sorted and apart.
func FuzzRanges(f *testing.F) {
	f.Add([]byte{0, 0, 9, 1, 2, 3, 0, 2, 2})
	f.Fuzz(func(t *testing.T, ops []byte) {
		g := &ranges{blocks: map[uint32][]span{}}
		for ; len(ops) >= 3; ops = ops[3:] {
			first, last := uint32(ops[1])<<12, uint32(ops[2])<<12|0xfff
			if first > last {
				continue
			}
			if ops[0]%4 == 0 {
				g.remove(first, last)
			} else {
				g.add("x", first, last, string(ops[:1]))
			}
		}
		for b, list := range g.blocks {
			for i := range list {
				if list[i].first > list[i].last || i > 0 && list[i].first <= list[i-1].last {
					t.Fatalf("block %d: %v", b, list)
				}
			}
		}
		n := g.networks("none")
		for i := 1; i < len(n.v4); i++ {
			if n.v4[i].from <= n.v4[i-1].from {
				t.Fatalf("steps are not sorted: %v", n.v4)
			}
		}
	})
}

package vars

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
)

// networks give every address a value: the one of the longest prefix, or of the range, that holds it. They are the
// addresses where the value changes, sorted, so that a look-up is a binary search.
type networks struct {
	values [][]byte
	v4     []step4
	v6     []step6
}

type step4 struct {
	from  uint32
	value uint32 // index into values
}

type step6 struct {
	high, low uint64
	value     uint32
}

// find returns the value of an address. The invalid address and, in a table of ranges, IPv6 are looked up as
// 255.255.255.255, nginx's mark for "none".
func (n *networks) find(a netip.Addr) []byte {
	if a = a.Unmap(); a.Is6() && len(n.v6) > 0 {
		p := a.As16()
		return n.values[n.at6(binary.BigEndian.Uint64(p[:8]), binary.BigEndian.Uint64(p[8:]))]
	}
	w := uint32(0xffffffff)
	if a.Is4() {
		w = wordOf(a)
	}
	return n.values[n.at4(w)]
}

// wordOf is an IPv4 address as a number.
func wordOf(a netip.Addr) uint32 {
	p := a.As4()
	return binary.BigEndian.Uint32(p[:])
}

// at4 returns the value of the last step at or before w. The first step is at 0.
func (n *networks) at4(w uint32) uint32 {
	low, high := 1, len(n.v4)
	for low < high {
		if mid := (low + high) / 2; n.v4[mid].from <= w {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return n.v4[low-1].value
}

func (n *networks) at6(h, l uint64) uint32 {
	low, high := 1, len(n.v6)
	for low < high {
		if mid := (low + high) / 2; n.v6[mid].high < h || n.v6[mid].high == h && n.v6[mid].low <= l {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return n.v6[low-1].value
}

// prefixes collects networks before they become steps.
type prefixes struct {
	values  [][]byte
	indexes map[string]uint32
	v4, v6  map[netip.Prefix]uint32
}

func newPrefixes() *prefixes {
	p := &prefixes{indexes: map[string]uint32{}, v4: map[netip.Prefix]uint32{}, v6: map[netip.Prefix]uint32{}}
	p.index("")
	return p
}

// index returns the number of a value; "" is 0.
func (p *prefixes) index(value string) uint32 {
	i, ok := p.indexes[value]
	if !ok {
		i = uint32(len(p.values))
		p.indexes[value] = i
		p.values = append(p.values, []byte(value))
	}
	return i
}

func (p *prefixes) family(n netip.Prefix) map[netip.Prefix]uint32 {
	if n.Addr().Is4() {
		return p.v4
	}
	return p.v6
}

// add gives a network its value, and returns the one that it had.
func (p *prefixes) add(n netip.Prefix, value string) (old string, had bool) {
	m := p.family(n)
	i, had := m[n]
	m[n] = p.index(value)
	return string(p.values[i]), had
}

// remove reports whether the network was there.
func (p *prefixes) remove(n netip.Prefix) bool {
	m := p.family(n)
	_, had := m[n]
	delete(m, n)
	return had
}

// networks makes the steps.
func (p *prefixes) networks() *networks {
	n := &networks{values: p.values}
	for _, s := range steps(p.v4, netip.IPv4Unspecified()) {
		n.v4 = append(n.v4, step4{wordOf(s.from), s.value})
	}
	for _, s := range steps(p.v6, netip.IPv6Unspecified()) {
		b := s.from.As16()
		n.v6 = append(n.v6, step6{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), s.value})
	}
	return n
}

type step struct {
	from  netip.Addr
	value uint32
}

// steps walks networks in order of their first address, wider ones first, and keeps those that are open on a stack: the
// value changes where one begins and, back to the one around it, behind its end.
func steps(m map[netip.Prefix]uint32, zero netip.Addr) []step {
	sorted := make([]netip.Prefix, 0, len(m))
	for n := range m {
		sorted = append(sorted, n)
	}
	slices.SortFunc(sorted, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	type open struct {
		last  netip.Addr
		value uint32
	}
	out := []step{{zero, 0}}
	change := func(from netip.Addr, value uint32) {
		top := &out[len(out)-1]
		switch {
		case top.from == from:
			top.value = value
		case top.value != value:
			out = append(out, step{from, value})
		}
	}
	var stack []open
	closeBefore := func(next netip.Addr) {
		for len(stack) > 0 && (!next.IsValid() || stack[len(stack)-1].last.Less(next)) {
			behind := stack[len(stack)-1].last.Next()
			stack = stack[:len(stack)-1]
			if !behind.IsValid() {
				continue // it ended with the last address of all
			}
			around := uint32(0)
			if len(stack) > 0 {
				around = stack[len(stack)-1].value
			}
			change(behind, around)
		}
	}
	for _, n := range sorted {
		closeBefore(n.Addr())
		change(n.Addr(), m[n])
		stack = append(stack, open{lastAddr(n), m[n]})
	}
	closeBefore(netip.Addr{})
	return out
}

// lastAddr returns the highest address of a network.
func lastAddr(n netip.Prefix) netip.Addr {
	b := n.Addr().AsSlice()
	for i := n.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

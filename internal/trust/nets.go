package trust

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
)

// Nets are the peers whose word counts. The zero value trusts nobody.
type Nets struct {
	v4   []span4
	v6   []span6
	unix bool
}

// Spans are sorted and apart from one another.
type span4 struct{ first, last uint32 }
type span6 struct{ first, last netip.Addr }

// NewNets returns a set of networks and, if unix is set, the peers of unix sockets. A prefix of IPv6 holds no IPv4 address,
// mapped or not: ::/0 does not cover IPv4, as in nginx.
func NewNets(prefixes []netip.Prefix, unix bool) *Nets {
	n := &Nets{unix: unix}
	for _, p := range prefixes {
		first, last := p.Masked().Addr(), lastOf(p)
		if first.Is4() {
			n.v4 = append(n.v4, span4{word(first), word(last)})
		} else {
			n.v6 = append(n.v6, span6{first, last})
		}
	}
	slices.SortFunc(n.v4, func(a, b span4) int { return cmp.Compare(a.first, b.first) })
	slices.SortFunc(n.v6, func(a, b span6) int { return a.first.Compare(b.first) })
	n.v4 = merge(n.v4, func(a, b span4) (span4, bool) { return span4{a.first, max(a.last, b.last)}, b.first <= a.last })
	n.v6 = merge(n.v6, func(a, b span6) (span6, bool) {
		if a.last.Less(b.last) {
			return span6{a.first, b.last}, !a.last.Less(b.first)
		}
		return a, true
	})
	return n
}

// merge joins neighbours that overlap.
func merge[S any](spans []S, join func(a, b S) (S, bool)) []S {
	var out []S
	for _, s := range spans {
		if len(out) > 0 {
			if joined, ok := join(out[len(out)-1], s); ok {
				out[len(out)-1] = joined
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// Contains reports whether a is trusted. The invalid address is the peer of a unix socket.
func (n *Nets) Contains(a netip.Addr) bool {
	if !a.IsValid() {
		return n.unix
	}
	if a = a.Unmap(); a.Is4() {
		w := word(a)
		low, high := 0, len(n.v4)
		for low < high {
			if mid := (low + high) / 2; n.v4[mid].last < w {
				low = mid + 1
			} else {
				high = mid
			}
		}
		return low < len(n.v4) && n.v4[low].first <= w
	}
	low, high := 0, len(n.v6)
	for low < high {
		if mid := (low + high) / 2; n.v6[mid].last.Less(a) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low < len(n.v6) && !a.Less(n.v6[low].first)
}

// word is an IPv4 address as a number.
func word(a netip.Addr) uint32 {
	p := a.As4()
	return binary.BigEndian.Uint32(p[:])
}

// lastOf returns the highest address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := range b {
		switch host := 8*(i+1) - p.Bits(); {
		case host >= 8:
			b[i] = 0xff
		case host > 0:
			b[i] |= 1<<host - 1
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

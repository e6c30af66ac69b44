package limitgate

import "net/netip"

// AppendNetwork appends to b the key that stands for a client's network: the first ipv4 or ipv6 bits of its address, as in
// "192.0.2.0/24". Clients of IPv6 own a /64 at least, and each address in it would have a budget of its own. An address
// whose bits are 0, and what is no address, is appended as it is; an IPv4 address mapped into IPv6 is an IPv4 address.
func AppendNetwork(b []byte, addr string, ipv4, ipv6 int) []byte {
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return append(b, addr...)
	}
	n := len(b)
	b, known := appendNetwork(b, a, ipv4, ipv6)
	if !known {
		return append(b[:n], addr...)
	}
	return b
}

// AppendNetworkOf is AppendNetwork for an address that is known already. It makes no garbage.
func AppendNetworkOf(b []byte, addr netip.Addr, ipv4, ipv6 int) []byte {
	b, _ = appendNetwork(b, addr, ipv4, ipv6)
	return b
}

// appendNetwork appends a network, or, if known is false, the address.
func appendNetwork(b []byte, addr netip.Addr, ipv4, ipv6 int) (out []byte, known bool) {
	a := addr.Unmap().WithZone("")
	bits := ipv6
	if a.Is4() {
		bits = ipv4
	}
	n, err := a.Prefix(bits)
	if err != nil || bits == 0 {
		return addr.AppendTo(b), false
	}
	return n.AppendTo(b), true
}

package request

import (
	"net/netip"
	"strconv"
)

// AppendAddr appends an address as nginx prints it (ngx_inet.c, ngx_inet6_ntop): IPv4-mapped and IPv4-compatible addresses
// end in dotted form, and the peer of a unix socket, which has no address, is "unix:".
func AppendAddr(b []byte, a netip.Addr) []byte {
	if !a.IsValid() {
		return append(b, "unix:"...)
	}
	if a.Is4() {
		return a.AppendTo(b)
	}
	p := a.As16()
	first, zeros := longestZeros(&p)
	words := 8
	// The last test is nginx's own: with seven zero words ::2 and ::101 stay hexadecimal, ::102 is ::0.0.1.2.
	if first == 0 && (zeros == 6 || zeros == 5 && p[10] == 0xff && p[11] == 0xff || zeros == 7 && p[14] != 0 && p[15] != 1) {
		words = 6
	}
	if first == 0 {
		b = append(b, ':')
	}
	for i := 0; i < words; i++ {
		if i == first {
			b = append(b, ':')
			i += zeros - 1
			continue
		}
		b = strconv.AppendUint(b, uint64(p[2*i])<<8|uint64(p[2*i+1]), 16)
		if i < 7 {
			b = append(b, ':')
		}
	}
	if words == 6 {
		b = netip.AddrFrom4([4]byte(p[12:])).AppendTo(b)
	}
	return b
}

// longestZeros finds the first longest run of two or more zero words; first is -1 where there is none.
func longestZeros(p *[16]byte) (first, zeros int) {
	first, zeros = -1, 1
	start, n := 0, 0
	for i := range 8 {
		if p[2*i] != 0 || p[2*i+1] != 0 {
			n = 0
			continue
		}
		if n == 0 {
			start = i
		}
		if n++; n > zeros {
			first, zeros = start, n
		}
	}
	return first, zeros
}

package accesslog

import (
	"bytes"
	"net/netip"
)

// address reads an IP address without making garbage, which netip does for the text. One with a zone is left to netip.
func address(v []byte) (netip.Addr, bool) {
	if len(v) > 1 && v[0] == '[' && v[len(v)-1] == ']' {
		v = v[1 : len(v)-1]
	}
	if a, ok := address4(v); ok {
		return netip.AddrFrom4(a), true
	}
	for i, c := range v {
		switch c {
		case ':':
			if len(v) > len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255") {
				return zoned(v)
			}
			for _, c := range v[i:] {
				if c == '%' {
					return zoned(v)
				}
			}
			a, ok := address6(v)
			return netip.AddrFrom16(a), ok
		case '.', '%':
			return netip.Addr{}, false
		}
	}
	return netip.Addr{}, false
}

func zoned(v []byte) (netip.Addr, bool) {
	a, err := netip.ParseAddr(string(v))
	return a, err == nil
}

func address4(v []byte) (a [4]byte, ok bool) {
	if len(v) < len("0.0.0.0") || len(v) > len("255.255.255.255") {
		return a, false
	}
	n, part, digits := 0, 0, 0
	for _, c := range v {
		if c == '.' {
			if digits == 0 || n == 3 {
				return a, false
			}
			a[n] = byte(part)
			n, part, digits = n+1, 0, 0
			continue
		}
		d := c - '0'
		if d > 9 || digits > 0 && part == 0 {
			return a, false
		}
		part = part*10 + int(d)
		if digits++; part > 255 {
			return a, false
		}
	}
	if n != 3 || digits == 0 {
		return a, false
	}
	a[3] = byte(part)
	return a, true
}

func address6(v []byte) (a [16]byte, ok bool) {
	n, gap := 0, -1
	i := 0
	if len(v) >= 2 && v[0] == ':' && v[1] == ':' {
		gap, i = 0, 2
	}
	for i < len(v) {
		part, digits := 0, 0
		start := i
		for ; i < len(v) && digits < 5; i++ {
			d := hex(v[i])
			if d < 0 {
				break
			}
			part, digits = part<<4|d, digits+1
		}
		if digits == 0 || digits > 4 || n > 14 {
			return a, false
		}
		if i < len(v) && v[i] == '.' {
			four, ok := address4(v[start:])
			if !ok || n > 12 {
				return a, false
			}
			n += copy(a[n:], four[:])
			break
		}
		a[n], a[n+1] = byte(part>>8), byte(part)
		n += 2
		if i == len(v) {
			break
		}
		if v[i] != ':' || i+1 == len(v) {
			return a, false
		}
		if i++; v[i] == ':' {
			if gap >= 0 {
				return a, false
			}
			gap = n
			i++
		}
	}
	if n == 16 {
		return a, gap < 0
	}
	if gap < 0 {
		return a, false
	}
	tail := n - gap
	copy(a[16-tail:], a[gap:n])
	clear(a[gap : 16-tail])
	return a, true
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// addressPort reads an address with a port behind it: 192.0.2.1:80, [::1]:80, and 2001:db8::1:80 as some write it. Without a
// port the address is taken alone.
func addressPort(v []byte) (netip.Addr, uint16, bool) {
	if i := bytes.LastIndexByte(v, ':'); i >= 0 {
		if p, ok := integer(v[i+1:]); ok && p >= 0 && p <= 65535 {
			if a, ok := address(v[:i]); ok {
				return a, uint16(p), true
			}
		}
	}
	a, ok := address(v)
	return a, 0, ok
}

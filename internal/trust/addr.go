// Package trust finds out whom a chain of proxies speaks for: it reads the addresses that proxies write into header
// fields, and walks them from the connection outwards as long as each is one whose word counts. It stands between a
// connection's peer and the client; it only reads, and resolves no names.
//
// Addresses are read as nginx reads them (ngx_inet.c), because what one proxy takes for an address and the next does not is
// how clients choose who they are.
package trust

import (
	"bytes"
	"net/netip"
)

// ParseAddr reads an address without a port. IPv4 parts may have leading zeros or be empty ("203..113.9"), and
// 255.255.255.255 is no address, as in nginx. IPv6 addresses have no zone.
func ParseAddr(text []byte) (netip.Addr, bool) {
	if a, ok := parseV4(text); ok {
		return netip.AddrFrom4(a), true
	}
	if a, ok := parseV6(text); ok {
		return netip.AddrFrom16(a), true
	}
	return netip.Addr{}, false
}

// ParseAddrPort reads an address with or without a port: port 0 means that there was none. An address in brackets may go
// without a port too; nginx takes that since 1.27.3.
func ParseAddrPort(text []byte) (netip.AddrPort, bool) {
	if a, ok := ParseAddr(text); ok {
		return netip.AddrPortFrom(a, 0), true
	}
	colon := bytes.IndexByte(text, ':')
	host := text
	if len(text) > 0 && text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 {
			return netip.AddrPort{}, false
		}
		host = text[1:end]
		if end == len(text)-1 {
			a, ok := ParseAddr(host)
			return netip.AddrPortFrom(a, 0), ok
		}
		if text[end+1] != ':' {
			return netip.AddrPort{}, false
		}
		colon = end + 1
	} else if colon >= 0 {
		host = text[:colon]
	}
	if colon < 0 {
		return netip.AddrPort{}, false
	}
	port, ok := parsePort(text[colon+1:])
	if !ok {
		return netip.AddrPort{}, false
	}
	a, ok := ParseAddr(host)
	return netip.AddrPortFrom(a, port), ok
}

// parsePort reads 1 to 65535, leading zeros allowed.
func parsePort(text []byte) (uint16, bool) {
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return 0, false
		}
	}
	return uint16(n), n > 0
}

func parseV4(text []byte) (a [4]byte, ok bool) {
	part, n := 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			if part = part*10 + int(c-'0'); part > 255 {
				return a, false
			}
		case c == '.' && n < 3:
			a[n] = byte(part)
			n++
			part = 0
		default:
			return a, false
		}
	}
	a[3] = byte(part)
	return a, n == 3 && a != [4]byte{255, 255, 255, 255}
}

// v6 is an IPv6 address while it is read.
type v6 struct {
	words   [8]uint16
	count   int // of words read
	gap     int // how many words stood before "::"; -1: none yet
	word    uint16
	nibbles int
}

func (x *v6) put(w uint16) {
	x.words[x.count] = w
	x.count++
}

// colon ends a word, or makes the gap.
func (x *v6) colon() bool {
	if x.nibbles == 0 {
		if x.gap >= 0 {
			return false
		}
		x.gap = x.count
		return true
	}
	if x.count == 7 {
		return false
	}
	x.put(x.word)
	x.word, x.nibbles = 0, 0
	return true
}

func (x *v6) digit(c byte) bool {
	x.nibbles++
	switch {
	case x.nibbles > 4:
		return false
	case c >= '0' && c <= '9':
		x.word = x.word<<4 | uint16(c-'0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		x.word = x.word<<4 | uint16(c|0x20-'a'+10)
	default:
		return false
	}
	return true
}

// parseV6 reads an IPv6 address with nginx's two oddities: a single colon in front is skipped, and "::" must stand for at
// least one word beyond what seven others leave.
func parseV6(text []byte) (a [16]byte, ok bool) {
	if len(text) == 0 {
		return a, false
	}
	if text[0] == ':' {
		text = text[1:]
	}
	x := v6{gap: -1}
	group := -1 // where the current word begins, behind a colon
scan:
	for i, c := range text {
		switch {
		case c == ':':
			if !x.colon() {
				return a, false
			}
			group = i + 1
		case c == '.' && x.nibbles > 0:
			if x.count > 6 || group < 0 {
				return a, false
			}
			p, ok := parseV4(text[group:])
			if !ok {
				return a, false
			}
			x.put(uint16(p[0])<<8 | uint16(p[1]))
			x.word = uint16(p[2])<<8 | uint16(p[3])
			break scan
		case !x.digit(c):
			return a, false
		}
	}
	if x.nibbles == 0 && x.gap < 0 {
		return a, false
	}
	x.put(x.word)
	return x.bytes()
}

// bytes spreads the words over the gap.
func (x *v6) bytes() (a [16]byte, ok bool) {
	if (x.count == 8) != (x.gap < 0) {
		return a, false
	}
	for i := range x.count {
		at := i
		if x.gap >= 0 && i >= x.gap {
			at += 8 - x.count
		}
		a[2*at], a[2*at+1] = byte(x.words[i]>>8), byte(x.words[i])
	}
	return a, true
}

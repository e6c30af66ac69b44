package proxyproto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
)

// Header is what the header said.
type Header struct {
	// SrcAddr and DstAddr are the addresses as text: in version 1 as they were sent, which nginx doesn't check beyond its
	// characters. Both are empty for UNKNOWN, LOCAL and families and transports nginx passes over.
	SrcAddr, DstAddr string
	SrcPort, DstPort uint16
	// TLVs are the extensions of version 2, a copy.
	TLVs []byte
}

// Src is the source as an address and port. It is not valid when the header names none or not a proper one.
func (h *Header) Src() netip.AddrPort { return addrPort(h.SrcAddr, h.SrcPort) }

// Dst is the destination, as Src is the source.
func (h *Header) Dst() netip.AddrPort { return addrPort(h.DstAddr, h.DstPort) }

func addrPort(text string, port uint16) netip.AddrPort {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, port)
}

// Error says why bytes are no PROXY protocol header, in nginx's words. nginx logs it at error and closes the connection.
type Error struct{ Message string }

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// MaxHeader is the most bytes nginx takes for a header; MaxHeader1 the most for one of version 1.
const (
	MaxHeader  = 4096
	MaxHeader1 = 107
)

const (
	signature  = "\r\n\r\n\x00\r\nQUIT\n"
	fixed2     = 16 // signature, version and command, family and transport, length
	whileRead  = " while reading PROXY protocol"
	commandOne = 1
	streamOne  = 1
	familyIPv4 = 1
	familyIPv6 = 2
)

// Parse reads a header at the start of b (ngx_proxy_protocol_read). It returns how many bytes it takes, or 0 and no error
// when more are needed: nginx wants the whole header in the first read, a sender whose header comes in pieces is served
// here too. An error is an *Error.
func Parse(b []byte) (h Header, n int, err error) {
	const one = "PROXY "
	if k := min(len(b), len(signature)); string(b[:k]) == signature[:k] {
		if len(b) < fixed2 {
			return h, 0, nil
		}
		return parse2(b)
	}
	if k := min(len(b), len(one)); string(b[:k]) != one[:k] {
		return h, 0, broken(b)
	}
	return parse1(b)
}

func broken(b []byte) error {
	return &Error{fmt.Sprintf("broken header: \"%s\"", b[:min(len(b), MaxHeader)]) + whileRead}
}

// parse1 reads "PROXY TCP4 src dst sport dport". What can't become a header any more is refused before its line ends.
func parse1(b []byte) (h Header, n int, err error) {
	line, _, whole := bytes.Cut(b[:min(len(b), MaxHeader1)], []byte("\r\n"))
	if !whole {
		// Behind UNKNOWN nginx passes over anything, line feeds too.
		if len(b) >= MaxHeader1 || bytes.IndexByte(b, '\n') >= 0 && !bytes.HasPrefix(b, []byte("PROXY UNKNOWN")) {
			return h, 0, broken(b)
		}
		return h, 0, nil
	}
	n = len(line) + len("\r\n")
	rest := line[len("PROXY "):]
	if bytes.HasPrefix(rest, []byte("UNKNOWN")) {
		return h, n, nil
	}
	if len(rest) < 5 || string(rest[:3]) != "TCP" || rest[3] != '4' && rest[3] != '6' || rest[4] != ' ' {
		return h, 0, broken(b)
	}
	src, rest, ok1 := address(rest[5:])
	dst, rest, ok2 := address(rest)
	sport, dport, ok3 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || !ok3 {
		return h, 0, broken(b)
	}
	if h.SrcPort, ok1 = port(sport); !ok1 {
		return h, 0, broken(b)
	}
	if h.DstPort, ok1 = port(dport); !ok1 {
		return h, 0, broken(b)
	}
	h.SrcAddr, h.DstAddr = string(src), string(dst)
	return h, n, nil
}

// address cuts an address and the space behind it off b (ngx_proxy_protocol_read_addr).
func address(b []byte) (addr, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c == ' ':
			return b[:i], b[i+1:], true
		case c == ':', c == '.', c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

func port(b []byte) (uint16, bool) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return 0, false
		}
	}
	return uint16(n), len(b) > 0
}

// parse2 reads a header of version 2 whose fixed part is there (ngx_proxy_protocol_v2_read). Commands other than PROXY,
// transports other than streams and other families are passed over.
func parse2(b []byte) (h Header, n int, err error) {
	if version := b[12] >> 4; version != 2 {
		return h, 0, &Error{fmt.Sprintf("unknown PROXY protocol version: %d", version) + whileRead}
	}
	n = fixed2 + int(binary.BigEndian.Uint16(b[14:]))
	if n > MaxHeader {
		return h, 0, &Error{"header is too large" + whileRead}
	}
	if len(b) < n {
		return h, 0, nil
	}
	if b[12]&15 != commandOne || b[13]&15 != streamOne {
		return h, n, nil
	}
	size := 0
	switch b[13] >> 4 {
	case familyIPv4:
		size = 4
	case familyIPv6:
		size = 16
	default:
		return h, n, nil
	}
	body := b[fixed2:n]
	if len(body) < 2*size+4 {
		// nginx closes without a word here; the words are those of its other refusals.
		return h, 0, broken(b[:n])
	}
	src, _ := netip.AddrFromSlice(body[:size])
	dst, _ := netip.AddrFromSlice(body[size : 2*size])
	h.SrcAddr, h.DstAddr = src.String(), dst.String()
	h.SrcPort = binary.BigEndian.Uint16(body[2*size:])
	h.DstPort = binary.BigEndian.Uint16(body[2*size+2:])
	h.TLVs = bytes.Clone(body[2*size+4:])
	return h, n, nil
}

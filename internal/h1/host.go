package h1

import "github.com/limitgate/limitgate/internal/header"

// Classes of the bytes of a host (ngx_http_validate_host).
const (
	hostRefused = iota
	hostPlain   // lower-case letter, digit, '-', '_', '~' and RFC 3986's sub-delims
	hostUpper
	hostDot
	hostPercent // only outside of brackets
)

var hostClass = buildHostClass()

func buildHostClass() (t [256]uint8) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-0x20] = hostPlain, hostUpper
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = hostPlain
	}
	for _, c := range []byte("-_~!$&'()*+,;=") {
		t[c] = hostPlain
	}
	t['.'], t['%'] = hostDot, hostPercent
	return t
}

// hostParts is what parseHost found out about a host: how long the name in front of the port is, whether it has upper-case
// letters, and the port, 0 when there is none.
type hostParts struct {
	Len   int
	Upper bool
	Port  uint16
}

// parseHost checks a host with or without port (ngx_http_validate_host): no empty name, no two dots in a row, brackets
// closed, port a number up to 65535. A dot at the end of the name is not counted into Len.
func parseHost(h []byte) (hostParts, bool) {
	var r hostParts
	if len(h) > 0 && h[0] == '[' {
		return parseLiteral(h)
	}
	i, dot := 0, -2
	for ; i < len(h) && h[i] != ':'; i++ {
		switch hostClass[h[i]] {
		case hostRefused:
			return r, false
		case hostUpper:
			r.Upper = true
		case hostDot:
			if dot == i-1 {
				return r, false
			}
			dot = i
		}
	}
	r.Len = i
	if dot == i-1 && i > 0 {
		r.Len--
	}
	var ok bool
	r.Port, ok = hostPort(h[i:])
	return r, ok && r.Len > 0
}

// HostName returns a name as servers are found by it: checked, in lower case, without a dot at its end.
func HostName(name string) (host []byte, ok bool) {
	h, ok := parseHost([]byte(name))
	if !ok {
		return nil, false
	}
	return header.AppendLower(nil, []byte(name)[:h.Len]), true
}

// parseLiteral is parseHost for "[address]".
func parseLiteral(h []byte) (hostParts, bool) {
	var r hostParts
	i, dot := 1, -2
	for ; i < len(h) && h[i] != ']'; i++ {
		switch hostClass[h[i]] {
		case hostRefused, hostPercent:
			if h[i] != ':' {
				return r, false
			}
		case hostUpper:
			r.Upper = true
		case hostDot:
			if dot == i-1 {
				return r, false
			}
			dot = i
		}
	}
	if i == len(h) {
		return r, false
	}
	r.Len = i + 1
	var ok bool
	r.Port, ok = hostPort(h[i+1:])
	return r, ok
}

// hostPort reads what follows the name: nothing, or a colon and digits. An empty port is none.
func hostPort(h []byte) (uint16, bool) {
	if len(h) == 0 {
		return 0, true
	}
	if h[0] != ':' {
		return 0, false
	}
	port := 0
	for _, c := range h[1:] {
		if c < '0' || c > '9' {
			return 0, false
		}
		if port = port*10 + int(c-'0'); port > 65535 {
			return 0, false
		}
	}
	return uint16(port), true
}

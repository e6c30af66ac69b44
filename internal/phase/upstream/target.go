package upstream

import (
	"bytes"
	"net/netip"
	"strconv"

	"github.com/limitgate/limitgate/internal/request"
)

// Text is a text with variables in it, evaluated for each request.
type Text interface {
	// Append appends the text's value in r to dst.
	Append(r *request.Request, dst []byte) []byte
}

// target is where proxy_pass points: fixed, or a text with variables.
type target struct {
	text Text // nil: fixed

	// A fixed target.
	group *group
	host  []byte // $proxy_host
	port  []byte // $proxy_port
	uri   []byte // "": the request's own
	skip  int    // of the request's path, that uri stands for: the location's length
	where []byte // what names the group in URLs of the log, for want of a peer
}

// place is a target in one request.
type place struct {
	group      *group
	host, port []byte
	uri        []byte
	skip       int
	whole      bool // uri is the request's target as it is, nothing is put behind it
}

// address is the parsed URL of a proxy_pass.
type address struct {
	host  string // without port; the path of a unix socket
	port  int    // 0: none was written
	text  string // of the port, as it was written
	unix  bool
	uri   string
	valid bool
	fault string // nginx's words when it is not valid
}

const (
	scheme      = "http://"
	defaultPort = 80
)

// parseAddress reads what stands behind http:// (ngx_parse_url).
func parseAddress(s string) address {
	var a address
	if rest, ok := cutPrefix(s, "unix:"); ok {
		a.unix = true
		a.host = rest
		if i := indexByte(rest, ':'); i >= 0 {
			a.host, a.uri = rest[:i], rest[i+1:]
		}
		if a.host == "" {
			a.fault = "no path in the unix domain socket"
			return a
		}
		a.valid = true
		return a
	}
	end := len(s)
	for i := range len(s) {
		if s[i] == '/' || s[i] == '?' {
			end = i
			break
		}
	}
	authority := s[:end]
	a.uri = s[end:]
	colon := -1
	if authority != "" && authority[0] == '[' {
		closing := indexByte(authority, ']')
		if closing < 0 {
			a.fault = "invalid host"
			return a
		}
		if rest := authority[closing+1:]; rest != "" {
			if rest[0] != ':' {
				a.fault = "invalid host"
				return a
			}
			colon = closing + 1
		}
	} else {
		colon = indexByte(authority, ':')
	}
	a.host = authority
	if colon >= 0 {
		a.host, a.text = authority[:colon], authority[colon+1:]
		port, err := strconv.Atoi(a.text)
		if err != nil || port < 1 || port > 65535 {
			a.fault = "invalid port"
			return a
		}
		a.port = port
	}
	if a.host == "" {
		a.fault = "no host"
		return a
	}
	a.valid = true
	return a
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

func indexByte(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// names returns what $proxy_host and $proxy_port are for an address (ngx_http_proxy_set_vars).
func (a *address) names() (host, port string) {
	switch {
	case a.unix:
		return "localhost", ""
	case a.port == 0 || a.port == defaultPort:
		return a.host, strconv.Itoa(defaultPort)
	}
	return a.host + ":" + a.text, a.text
}

// literal returns the socket address of a host that is an IP address.
func (a *address) literal() (netip.AddrPort, bool) {
	h := a.host
	if len(h) > 2 && h[0] == '[' {
		h = h[1 : len(h)-1]
	}
	ip, err := netip.ParseAddr(h)
	if err != nil || ip.Zone() != "" {
		return netip.AddrPort{}, false
	}
	port := a.port
	if port == 0 {
		port = defaultPort
	}
	return netip.AddrPortFrom(ip, uint16(port)), true
}

// appendURI appends the target of the request line to the upstream (ngx_http_proxy_create_request).
func (t *place) appendURI(dst []byte, r *request.Request) []byte {
	if t.whole {
		return appendPrintable(dst, t.uri)
	}
	if len(t.uri) == 0 && !r.Internal {
		if len(r.Target) == 0 || r.Target[0] != '/' {
			dst = append(dst, '/') // the target was http://host?args
		}
		return append(dst, r.Target...)
	}
	dst = append(dst, t.uri...)
	path := r.URI[min(t.skip, len(r.URI)):]
	if r.Internal || quoted(r.Target) {
		dst = appendEscaped(dst, path)
	} else {
		dst = append(dst, path...)
	}
	if len(r.Args) > 0 {
		dst = append(append(dst, '?'), r.Args...)
	}
	return dst
}

// quoted reports whether the path of a target holds an escape: only then the decoded path may hold what must be escaped.
func quoted(target []byte) bool {
	if q := bytes.IndexByte(target, '?'); q >= 0 {
		target = target[:q]
	}
	return bytes.IndexByte(target, '%') >= 0
}

// escaped has a bit for each ASCII byte that is escaped in a path (ngx_escape_uri, NGX_ESCAPE_URI); all above are.
var escaped = [4]uint32{0xffffffff, 0xd000002d, 0x50000000, 0xb8000001}

func appendEscaped(dst, path []byte) []byte {
	for _, c := range path {
		if c >= 0x80 || escaped[c/32]&(1<<(c%32)) != 0 {
			dst = appendHex(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// appendPrintable appends what variables made of a target. nginx sends it as it is; here what would end the request line,
// or let another begin, is escaped.
func appendPrintable(dst, uri []byte) []byte {
	for _, c := range uri {
		if c <= ' ' || c == 0x7f {
			dst = appendHex(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func appendHex(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

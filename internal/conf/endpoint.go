package conf

import (
	"net/netip"
	"strings"
)

// Endpoint is an address as nginx writes them: HOST:PORT, [V6]:PORT, unix:PATH, and in listen also PORT and *:PORT.
type Endpoint struct {
	Text     string
	Host     string     // as written, without brackets; "*" for all addresses
	Addr     netip.Addr // the address, if Host is one; for "*" the IPv4 address 0.0.0.0
	Unix     string     // the path of a unix socket
	Port     int
	LastPort int  // of a range in listen; otherwise equal to Port
	NoPort   bool // no port was given, Port is the default
}

// endpointRules says where an endpoint stands, which decides what it may hold.
type endpointRules struct {
	port   int  // the default port
	listen bool // a bare port, a port range and "*" are fine
	uri    bool // a path may follow
}

// maxUnixPath is what fits into a socket address with its final NUL.
const maxUnixPath = 107

// ParseEndpoint reads an address to connect to. The third result says in nginx's words what is wrong, or is empty.
func ParseEndpoint(text string, defaultPort int) (Endpoint, string) {
	e, _, fault := parseEndpoint(text, endpointRules{port: defaultPort})
	return e, fault
}

// ParseURL reads an address to connect to and the path that may follow it, as in a proxy_pass behind http://.
func ParseURL(text string, defaultPort int) (e Endpoint, uri, fault string) {
	return parseEndpoint(text, endpointRules{port: defaultPort, uri: true})
}

// parseEndpoint reads an address and what follows it; fault is nginx's word for what is wrong, or empty.
func parseEndpoint(text string, rules endpointRules) (e Endpoint, uri, fault string) {
	e.Text = text
	switch {
	case len(text) >= 5 && strings.EqualFold(text[:5], "unix:"):
		return unixEndpoint(e, text[5:], rules)
	case strings.HasPrefix(text, "["):
		return v6Endpoint(e, text[1:], rules)
	}
	return inetEndpoint(e, text, rules)
}

func unixEndpoint(e Endpoint, path string, rules endpointRules) (_ Endpoint, uri, fault string) {
	if rules.uri {
		path, uri, _ = strings.Cut(path, ":")
	}
	e.Unix = path
	switch {
	case path == "":
		return e, uri, "no path in the unix domain socket"
	case len(path) > maxUnixPath:
		return e, uri, "too long path in the unix domain socket"
	}
	return e, uri, ""
}

func v6Endpoint(e Endpoint, rest string, rules endpointRules) (_ Endpoint, uri, fault string) {
	host, rest, found := strings.Cut(rest, "]")
	if !found {
		return e, "", "invalid host"
	}
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		if !rules.uri {
			return e, "", "invalid host"
		}
		rest, uri = rest[:i], rest[i:]
	}
	e.Host, e.Port, e.NoPort = host, rules.port, true
	if rest != "" {
		port, found := strings.CutPrefix(rest, ":")
		if !found {
			return e, uri, "invalid host"
		}
		if fault := e.ports(port, rules); fault != "" {
			return e, uri, fault
		}
	}
	if host == "" {
		return e, uri, "no host"
	}
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return e, uri, "invalid IPv6 address"
	}
	e.Addr, e.LastPort = addr, max(e.LastPort, e.Port)
	return e, uri, ""
}

func inetEndpoint(e Endpoint, text string, rules endpointRules) (_ Endpoint, uri, fault string) {
	host := text
	if i := strings.IndexAny(text, "/?"); i >= 0 {
		if !rules.uri {
			return e, "", "invalid host"
		}
		host, uri = text[:i], text[i:]
	}
	host, port, hasPort := strings.Cut(host, ":")
	switch {
	case hasPort:
		if fault := e.ports(port, rules); fault != "" {
			return e, uri, fault
		}
	case rules.listen && isPorts(host):
		fault := e.ports(host, rules)
		e.Host, e.Addr, e.LastPort = "*", netip.IPv4Unspecified(), max(e.LastPort, e.Port)
		return e, uri, fault
	default:
		e.Port, e.NoPort = rules.port, true
	}
	e.LastPort = max(e.LastPort, e.Port)
	e.Host = host
	if host == "" {
		return e, uri, "no host"
	}
	if rules.listen && host == "*" {
		e.Addr = netip.IPv4Unspecified()
		return e, uri, ""
	}
	if addr, ok := parseV4(host); ok {
		e.Addr = addr
	}
	return e, uri, ""
}

// isPorts reports whether text is a port or a range of ports and not a host name.
func isPorts(text string) bool {
	first, last, ranged := strings.Cut(text, "-")
	_, ok := ParseInt(first)
	if ranged && ok {
		_, ok = ParseInt(last)
	}
	return ok
}

// ports reads a port, or in listen a range.
func (e *Endpoint) ports(text string, rules endpointRules) (fault string) {
	e.NoPort = false
	first, last, ranged := strings.Cut(text, "-")
	if !rules.listen {
		first, ranged = text, false
	}
	if ranged {
		n, ok := ParseInt(last)
		if !ok || n < 1 || n > 65535 {
			return "invalid port"
		}
		e.LastPort = int(n)
	}
	n, ok := ParseInt(first)
	if !ok || n < 1 || n > 65535 {
		return "invalid port"
	}
	e.Port = int(n)
	if ranged && e.Port > e.LastPort {
		return "invalid port range"
	}
	return ""
}

// parseV4 reads four decimal numbers, as ngx_inet_addr does: leading zeros and empty parts are fine, and
// 255.255.255.255 is no address, because that is its mark for "none".
func parseV4(text string) (netip.Addr, bool) {
	var b [4]byte
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return netip.Addr{}, false
	}
	for i, part := range parts {
		n := int64(0)
		if part != "" {
			var ok bool
			if n, ok = ParseInt(part); !ok || n > 255 {
				return netip.Addr{}, false
			}
		}
		b[i] = byte(n)
	}
	return netip.AddrFrom4(b), b != [4]byte{255, 255, 255, 255}
}

// Network is a set of peers: a prefix of addresses, all unix sockets, or a host name that is still to be looked up.
type Network struct {
	Prefix netip.Prefix
	Unix   bool
	Host   string
	All    bool // every peer (allow all, deny all)
}

// ParseNetwork reads ADDRESS or ADDRESS/BITS. lowBits tells that the address had bits beyond the prefix, which were
// cleared.
func ParseNetwork(text string) (prefix netip.Prefix, lowBits, ok bool) {
	host, bits, masked := strings.Cut(text, "/")
	addr, ok := parseV4(host)
	if !ok {
		var err error
		addr, err = netip.ParseAddr(host)
		if err != nil || !addr.Is6() || addr.Zone() != "" {
			return netip.Prefix{}, false, false
		}
	}
	n := int64(addr.BitLen())
	if masked {
		n, ok = ParseInt(bits)
		if !ok || n > int64(addr.BitLen()) {
			return netip.Prefix{}, false, false
		}
	}
	prefix = netip.PrefixFrom(addr, int(n))
	return prefix.Masked(), prefix.Masked() != prefix, true
}

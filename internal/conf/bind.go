package conf

import (
	"net/netip"
	"strings"
)

// ParseLocal reads a local address as proxy_bind has it: an IPv4 address with or without a port, [IPv6]:PORT, or an IPv6
// address alone (ngx_parse_addr_port).
func ParseLocal(text string) (netip.AddrPort, bool) {
	if addr, ok := parseLocalAddr(text); ok {
		return netip.AddrPortFrom(addr, 0), true
	}
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return netip.AddrPort{}, false
	}
	host, bracketed := text[:i], false
	if strings.HasPrefix(host, "[") {
		if host, bracketed = strings.CutSuffix(host[1:], "]"); !bracketed {
			return netip.AddrPort{}, false
		}
	}
	port, ok := ParseInt(text[i+1:])
	if !ok || port < 1 || port > 65535 {
		return netip.AddrPort{}, false
	}
	addr, ok := parseLocalAddr(host)
	if !ok || addr.Is6() != bracketed {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(port)), true
}

func parseLocalAddr(text string) (netip.Addr, bool) {
	if addr, ok := parseV4(text); ok {
		return addr, true
	}
	addr, err := netip.ParseAddr(text)
	return addr, err == nil && addr.Is6() && addr.Zone() == ""
}

// checkProxyBind checks a proxy_bind.
func checkProxyBind(c *checker, d *Directive) {
	if d.Off() {
		return
	}
	if _, ok := ParseLocal(d.Arg(0)); !ok && !hasVariable(d.Arg(0)) {
		c.errs.Add(d.At(0), `invalid address "`+d.Arg(0)+`"`, "write ADDRESS, ADDRESS:PORT or [IPV6]:PORT")
		return
	}
	switch {
	case len(d.Args) == 1:
	case d.Arg(1) == "transparent":
		c.errs.Add(d.At(1), `"transparent" of "`+d.Name+`" is not supported by limitgate`, "connections come from addresses of this machine only; leave it out")
	default:
		badParameter(d, d.Args[1], c.errs)
	}
}

package phase

import (
	"context"
	"net"
	"net/netip"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/trust"
)

// Trusted reads set_real_ip_from: whose word counts on whom a request comes from. It returns nil where it is nobody's.
func (e *Env) Trusted(s *conf.Scope) *trust.Nets {
	from := s.All("set_real_ip_from")
	if len(from) == 0 {
		return nil
	}
	var prefixes []netip.Prefix
	unix := false
	for _, d := range from {
		n, ok := conf.ReadPeers(d, e.Errors)
		switch {
		case !ok:
		case n.Unix:
			unix = true
		case n.Host != "":
			prefixes = append(prefixes, e.addresses(d, n.Host)...)
		default:
			prefixes = append(prefixes, n.Prefix)
		}
	}
	return trust.NewNets(prefixes, unix)
}

// addresses looks a host name up; it stands for all its addresses as they are now.
func (e *Env) addresses(d *conf.Directive, host string) []netip.Prefix {
	addrs, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", host)
	if err != nil || len(addrs) == 0 {
		help := "the name has no address"
		if err != nil {
			help = err.Error()
		}
		e.Errors.Add(d.At(0), `host not found in set_real_ip_from "`+host+`"`, help)
		return nil
	}
	prefixes := make([]netip.Prefix, 0, len(addrs))
	for _, a := range addrs {
		a = a.Unmap().WithZone("")
		prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
	}
	return prefixes
}

package realip

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/trust"
)

// Compile returns the phase for a scope. For a server it is the whole phase. For a location it is nil unless the location,
// or one around it, has a directive of this phase: the server's settings were asked already.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	from := s.All("set_real_ip_from")
	h := &handler{source: field, field: "x-real-ip"}
	if d, ok := s.Get("real_ip_header"); ok {
		h.read(d.Arg(0))
	}
	if d, ok := s.Get("real_ip_recursive"); ok {
		h.recursive, _ = d.Flag(env.Errors)
	}
	if len(from) == 0 || !differs(s) {
		return nil
	}
	var prefixes []netip.Prefix
	unix := false
	for _, d := range from {
		n, ok := conf.ReadPeers(d, env.Errors)
		switch {
		case !ok:
		case n.Unix:
			unix = true
		case n.Host != "":
			prefixes = append(prefixes, resolve(env, d, n.Host)...)
		default:
			prefixes = append(prefixes, n.Prefix)
		}
	}
	h.trusted = trust.NewNets(prefixes, unix)
	return h
}

// read takes the argument of real_ip_header. Only the exact spelling of X-Forwarded-For makes one list of several lines,
// as in nginx.
func (h *handler) read(name string) {
	switch name {
	case "X-Forwarded-For":
		h.source = forwardedFor
	case "proxy_protocol":
		h.source = proxyProtocol
	default:
		h.source, h.field = field, strings.ToLower(name)
	}
}

// differs reports whether a scope may have other settings than its server: a server itself has.
func differs(s *conf.Scope) bool {
	if s.Kind&(conf.Server|conf.HTTP) != 0 {
		return true
	}
	for ; s != nil && s.Kind != conf.Server; s = s.Parent {
		if len(s.Own("set_real_ip_from", "real_ip_header", "real_ip_recursive")) > 0 {
			return true
		}
	}
	return false
}

// resolve looks a host name up; it stands for all its addresses as they are now.
func resolve(env *phase.Env, d *conf.Directive, host string) []netip.Prefix {
	addrs, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", host)
	if err != nil || len(addrs) == 0 {
		help := "the name has no address"
		if err != nil {
			help = err.Error()
		}
		env.Errors.Add(d.At(0), `host not found in set_real_ip_from "`+host+`"`, help)
		return nil
	}
	prefixes := make([]netip.Prefix, 0, len(addrs))
	for _, a := range addrs {
		a = a.Unmap().WithZone("")
		prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
	}
	return prefixes
}

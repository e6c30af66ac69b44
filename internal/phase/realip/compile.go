package realip

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Compile returns the phase for a scope. For a server it is the whole phase. For a location it is nil unless the location,
// or one around it, has a directive of this phase: the server's settings were asked already.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	h := &handler{source: field, field: "x-real-ip"}
	if d, ok := s.Get("real_ip_header"); ok {
		h.read(d.Arg(0))
	}
	if d, ok := s.Get("real_ip_recursive"); ok {
		h.recursive, _ = d.Flag(env.Errors)
	}
	if !differs(s) {
		return nil
	}
	if h.trusted = env.Trusted(s); h.trusted == nil {
		return nil
	}
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

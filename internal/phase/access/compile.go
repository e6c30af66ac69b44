package access

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Compile builds the rules in force at a scope: allow and deny are one list, inherited as a whole.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	h := &handler{}
	for _, d := range s.All("allow", "deny") {
		if n, good := conf.ReadRule(d, env.Errors); good {
			h.add(n, d.Name == "deny")
		}
	}
	if len(h.v4)+len(h.v6)+len(h.unix) == 0 {
		return nil
	}
	return h
}

func (h *handler) add(n conf.Network, deny bool) {
	switch {
	case n.All:
		h.v4 = append(h.v4, rule{netip.PrefixFrom(netip.IPv4Unspecified(), 0), deny})
		h.v6 = append(h.v6, rule{netip.PrefixFrom(netip.IPv6Unspecified(), 0), deny})
		h.unix = append(h.unix, rule{deny: deny})
	case n.Unix:
		h.unix = append(h.unix, rule{deny: deny})
	case n.Prefix.Addr().Is4():
		h.v4 = append(h.v4, rule{n.Prefix, deny})
	default:
		h.v6 = append(h.v6, rule{n.Prefix, deny})
	}
}

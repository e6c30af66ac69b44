package phase

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/trust"
)

// Exempt reads limit_exempt: whom no limit counts. It returns nil where there is nobody.
func (e *Env) Exempt(s *conf.Scope) *trust.Nets {
	var prefixes []netip.Prefix
	unix := false
	for _, d := range s.All("limit_exempt") {
		list, _ := conf.ReadExempt(d, e.Errors)
		for _, n := range list {
			if n.Unix {
				unix = true
				continue
			}
			p := n.Prefix
			if p.Addr().Is4In6() && p.Bits() >= 96 {
				p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
			}
			prefixes = append(prefixes, p)
		}
	}
	if len(prefixes) == 0 && !unix {
		return nil
	}
	return trust.NewNets(prefixes, unix)
}

package access

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// handler is the rules of one scope. As in nginx each family of addresses has its own list, in the order of the file; the
// first rule that fits decides, and a request that none fits goes on.
type handler struct {
	v4   []rule
	v6   []rule
	unix []rule
}

// rule allows or denies a prefix. Rules for unix sockets have none.
type rule struct {
	prefix netip.Prefix
	deny   bool
}

var _ phase.Handler = (*handler)(nil)

// Serve answers 403 to a client that the rules deny.
func (h *handler) Serve(r *request.Request) phase.Next {
	if !h.denies(r.ClientAddr.Addr()) {
		return phase.Continue
	}
	r.Logf(errorlog.Error, "access forbidden by rule")
	r.Fail(403)
	return phase.Fail
}

func (h *handler) denies(a netip.Addr) bool {
	if !a.IsValid() {
		return len(h.unix) > 0 && h.unix[0].deny
	}
	rules := h.v6
	// A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d. As in nginx rules for IPv4 take them over, where there are any.
	if a.Is4() || a.Is4In6() && len(h.v4) > 0 {
		a, rules = a.Unmap(), h.v4
	}
	for i := range rules {
		if rules[i].prefix.Contains(a) {
			return rules[i].deny
		}
	}
	return false
}

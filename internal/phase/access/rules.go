package access

import (
	"net/netip"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// rules are allow and deny of one scope. As in nginx each family of addresses has its own list, in the order of the file;
// the first rule that fits decides.
type rules struct {
	v4   []rule
	v6   []rule
	unix []rule
}

// rule allows or denies a prefix. Rules for unix sockets have none.
type rule struct {
	prefix netip.Prefix
	deny   bool
}

// compileRules builds the rules in force at a scope: allow and deny are one list, inherited as a whole. It returns nil
// without any.
func compileRules(env *phase.Env, s *conf.Scope) *rules {
	l := &rules{}
	for _, d := range s.All("allow", "deny") {
		if n, good := conf.ReadRule(d, env.Errors); good {
			l.add(n, d.Name == "deny")
		}
	}
	if len(l.v4)+len(l.v6)+len(l.unix) == 0 {
		return nil
	}
	return l
}

func (l *rules) add(n conf.Network, deny bool) {
	switch {
	case n.All:
		l.v4 = append(l.v4, rule{netip.PrefixFrom(netip.IPv4Unspecified(), 0), deny})
		l.v6 = append(l.v6, rule{netip.PrefixFrom(netip.IPv6Unspecified(), 0), deny})
		l.unix = append(l.unix, rule{deny: deny})
	case n.Unix:
		l.unix = append(l.unix, rule{deny: deny})
	case n.Prefix.Addr().Is4():
		l.v4 = append(l.v4, rule{n.Prefix, deny})
	default:
		l.v6 = append(l.v6, rule{n.Prefix, deny})
	}
}

// ask implements check.
func (l *rules) ask(r *request.Request, any bool) int {
	first := l.first(r.ClientAddr.Addr())
	switch {
	case first == nil:
		return silent
	case !first.deny:
		return passes
	case !any:
		logForbidden(r)
	}
	return 403
}

// logForbidden is said where the rules, or they at last, refuse a request.
func logForbidden(r *request.Request) {
	r.Logf(errorlog.Error, "access forbidden by rule")
}

// first returns the first rule that fits an address, or nil.
func (l *rules) first(a netip.Addr) *rule {
	if !a.IsValid() {
		if len(l.unix) == 0 {
			return nil
		}
		return &l.unix[0]
	}
	list := l.v6
	// A dual-stack socket shows IPv4 peers as ::ffff:a.b.c.d. As in nginx rules for IPv4 take them over, where there are any.
	if a.Is4() || a.Is4In6() && len(l.v4) > 0 {
		a, list = a.Unmap(), l.v4
	}
	for i := range list {
		if list[i].prefix.Contains(a) {
			return &list[i]
		}
	}
	return nil
}

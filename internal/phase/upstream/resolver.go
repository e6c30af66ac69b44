package upstream

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
)

// resolver is who looks up names while requests are served, in one scope. The zero value is nobody.
type resolver struct {
	cache   *dns.Cache
	client  dns.Asker
	valid   time.Duration // how long an answer holds; 0: as long as it says
	timeout time.Duration
	id      string // tells apart resolvers that may say something else of a name
}

// resolverKey is what scopes have in common that share what was looked up.
type resolverKey struct {
	directive *conf.Directive
	timeout   time.Duration
}

// compileResolver returns the resolver in force in a scope.
func (s *Set) compileResolver(env *phase.Env, scope *conf.Scope) resolver {
	r := resolver{timeout: max(duration(env, scope, "resolver_timeout", 30*time.Second), time.Millisecond)}
	d, ok := scope.Get("resolver")
	if !ok {
		return r
	}
	key := resolverKey{d, r.timeout}
	if known, ok := s.resolvers[key]; ok {
		return known
	}
	read, ok := conf.ReadResolver(d, env.Errors)
	if !ok {
		return r
	}
	c := &dns.Client{IPv4: read.IPv4, IPv6: read.IPv6}
	for _, e := range read.Servers {
		peers, fault := resolve(e)
		if fault != "" {
			env.Errors.Add(d.Pos, fault+` in resolver "`+e.Text+`"`, "names of name servers are looked up when the configuration is loaded")
			return r
		}
		for _, p := range peers {
			c.Servers = append(c.Servers, p.addr)
		}
	}
	r.client, r.valid, r.id = c, read.Valid, fmt.Sprint(c.Servers, c.IPv4, c.IPv6)
	r.cache = dns.NewCache(c, read.Valid, r.timeout, s.now)
	s.resolvers[key] = r
	return r
}

// lookup is a name that is to be looked up for one request.
type lookup struct {
	host string // "": none
	port uint16
}

// settle finds the peers of a request that could not be known before: those of a name that variables made, and those of a group
// whose names are being looked up for the first time.
func (x *exchange) settle() (phase.Next, bool) {
	g := x.place.group
	if g != nil && (g.found == nil || isClosed(g.found)) {
		return phase.Continue, true
	}
	timeout := x.h.resolver.timeout
	if g != nil {
		timeout = g.patience
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	x.mu.Lock()
	x.stop = cancel
	x.mu.Unlock()
	var addrs []netip.Addr
	var err error
	switch {
	case x.gone.Load(): // looked at after stop is set: Cancel says so first
	case g != nil:
		select {
		case <-g.found:
		case <-ctx.Done():
		}
	default:
		x.r.ProxyHost = bytes.ToLower(x.r.ProxyHost) // ngx_resolve_name does so where the name stands
		addrs, err = x.h.resolver.cache.Lookup(ctx, x.place.name.host)
	}
	x.mu.Lock()
	x.stop = nil
	x.mu.Unlock()
	switch {
	case x.gone.Load():
		x.r.Logf(errorlog.Info, "epoll_wait() reported that client prematurely closed connection")
		x.r.Leave(499)
		return phase.Done, false
	case err != nil:
		x.r.Logf(errorlog.Error, "%s could not be resolved (%s)", x.place.name.host, err)
		return x.refuse(502)
	case g == nil:
		x.place.group = groupOf(x.place.name, addrs)
	}
	x.walk(x.place.group)
	return phase.Continue, true
}

// groupOf makes the group of one request of the addresses of a name, beginning with any (ngx_resolver_export).
func groupOf(l lookup, addrs []netip.Addr) *group {
	g := &group{name: []byte(l.host)}
	first := rand.IntN(len(addrs))
	for i := range addrs {
		g.primary = append(g.primary, tcpPeer(netip.AddrPortFrom(addrs[(first+i)%len(addrs)], l.port)).defaults())
	}
	return g
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

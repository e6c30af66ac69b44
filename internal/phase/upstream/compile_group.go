package upstream

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// compileGroup makes the group of an upstream block.
func (s *Set) compileGroup(env *phase.Env, d *conf.Directive) *group {
	g := &group{name: []byte(d.Arg(0)), resolver: s.compileResolver(env, d.Block)}
	for _, sd := range d.Block.Own("server") {
		server, ok := conf.ReadUpstreamServer(sd, env.Errors)
		if !ok {
			continue
		}
		m := &member{backup: server.Backup, pattern: peer{server: sd.Arg(0), weight: int(server.Weight), maxFails: int(server.MaxFails),
			maxConns: int(server.MaxConns), failTimeout: int64(server.FailTimeout / time.Second), down: server.Down}}
		m.pattern.slow.over = limitgate.Time(server.SlowStart)
		g.members = append(g.members, m)
		if server.Resolve && server.Unix == "" && !server.Addr.IsValid() {
			s.awaits(env, g, m, d, server)
			continue
		}
		peers, fault := resolve(server.Endpoint)
		if fault != "" {
			env.Errors.Add(sd.At(0), fault+` in upstream "`+sd.Arg(0)+`"`, "names are looked up when the configuration is loaded, without resolve")
			continue
		}
		for _, p := range peers {
			m.peers = append(m.peers, m.like(p))
		}
	}
	if slices.ContainsFunc(g.members, func(m *member) bool { return m.pattern.slow.over > 0 }) {
		g.divide()
	}
	methods := g.balance(env, d.Block)
	if k := d.Block.Own("keepalive"); len(k) > 0 && (len(methods) == 0 || methods[len(methods)-1].Pos.Order < k[0].Pos.Order) {
		n, _ := conf.ParseInt(k[len(k)-1].Arg(0)) // the table has checked it
		g.idle = &idle{max: int(n), timeout: time.Minute, requests: 1000, age: time.Hour, now: env.Now}
		g.idle.configure(env, d.Block)
	}
	g.peers = g.peersOf(g.members)
	return g
}

// awaits notes that a member's peers are found while requests are served. Until then they are those that the last configuration found.
func (s *Set) awaits(env *phase.Env, g *group, m *member, d *conf.Directive, server conf.UpstreamServer) {
	if g.resolver.client == nil {
		env.Errors.Add(d.Pos, `no resolver defined to resolve names at run time in upstream "`+d.Arg(0)+`"`, "write resolver ADDRESS; here or in the http block")
		return
	}
	if len(d.Block.Own("zone")) == 0 {
		env.Errors.Add(d.Pos, `resolving names at run time requires upstream "`+d.Arg(0)+`" to be in shared memory`, "write zone "+d.Arg(0)+" 64k; in it, as nginx needs it")
		return
	}
	m.name = lookup{host: server.Host, port: uint16(server.Port)}
	m.id = g.resolver.id + " " + server.Host
	g.patience = g.resolver.timeout
	if addrs := s.names.Last(m.id, s.now()); addrs != nil {
		m.known = true
		m.set(addrs, true, s.now())
	} else if g.found == nil {
		g.found = make(chan struct{})
	}
}

// balance reads how the group shares requests among its peers; the last directive counts. One behind a keepalive takes that
// out of force, as in nginx.
func (g *group) balance(env *phase.Env, block *conf.Scope) []*conf.Directive {
	methods := block.Own("least_conn", "ip_hash", "hash", "random")
	for _, d := range methods {
		switch {
		case d.Name == "least_conn":
			g.method = leastConn
		case d.Name == "ip_hash":
			g.method = ipHash
		case d.Name == "random":
			g.method = byLot
			if len(d.Args) > 0 {
				g.method = ofTwo
			}
		default:
			t := env.Vars.CompileWord(d.Args[0], env.Errors)
			if t == nil {
				continue
			}
			g.method, g.key = keyHash, t
			if len(d.Args) == 2 {
				g.method = ringHash
			}
		}
	}
	return methods
}

// configure reads what the block says of kept connections. The directives of the http block with the same names are about
// clients.
func (k *idle) configure(env *phase.Env, block *conf.Scope) {
	for _, d := range block.Own("keepalive_requests", "keepalive_time", "keepalive_timeout") {
		if d.Name == "keepalive_requests" {
			n, _ := d.Int(env.Errors, 0)
			k.requests = int(n)
			continue
		}
		t, _ := d.Duration(env.Errors, 0)
		if d.Name == "keepalive_time" {
			k.age = t
		} else {
			k.timeout = t
		}
	}
}

// resolve returns the peers of an address. fault is nginx's word for why there are none.
func resolve(e conf.Endpoint) (peers []*peer, fault string) {
	switch {
	case e.Unix != "":
		return []*peer{unixPeer(e.Unix)}, ""
	case e.Addr.IsValid():
		return []*peer{tcpPeer(netip.AddrPortFrom(e.Addr, uint16(e.Port)))}, ""
	}
	found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", e.Host)
	if err != nil || len(found) == 0 {
		return nil, "host not found"
	}
	// IPv4 first, as ngx_inet_resolve_host does.
	slices.SortStableFunc(found, func(a, b netip.Addr) int {
		return a.Unmap().BitLen() - b.Unmap().BitLen()
	})
	for _, a := range found {
		peers = append(peers, tcpPeer(netip.AddrPortFrom(a.Unmap(), uint16(e.Port))))
	}
	return peers, ""
}

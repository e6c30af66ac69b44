package upstream

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Open makes the groups of the upstream blocks of an http block; names are looked up. The set belongs to the program that
// is compiled, which closes it.
func Open(env *phase.Env, http *conf.Scope) *Set {
	s := newSet(env.Now)
	if http == nil {
		return s
	}
	for _, d := range http.Own("upstream") {
		s.groups[strings.ToLower(d.Arg(0))] = s.compileGroup(env, d)
	}
	return s
}

// Compile returns the handler of a scope, or nil where no proxy_pass is in force.
func (s *Set) Compile(env *phase.Env, scope *conf.Scope) phase.Handler {
	d, ok := scope.Get("proxy_pass")
	if !ok {
		compileHead(env, scope) // for its mistakes: nginx finds them here too
		return nil
	}
	pass, ok := conf.ReadProxyPass(d, env.Errors)
	if !ok {
		return nil
	}
	if pass.TLS {
		env.Errors.Add(d.At(0), "https protocol requires SSL support", "upstreams are reached over http:// only")
		return nil
	}
	h := &Handler{set: s}
	if pass.Vars {
		text := env.Vars.CompileWord(d.Args[0], env.Errors)
		if text == nil {
			return nil
		}
		h.target.text = text
	} else if !s.compileTarget(env, scope, pass, h) {
		return nil
	}
	h.head = compileHead(env, scope)
	if v, ok := scope.Get("proxy_http_version"); ok {
		h.http11 = v.Arg(0) == "1.1"
	}
	h.compileBuffers(env, scope)
	h.connectTimeout = duration(env, scope, "proxy_connect_timeout", time.Minute)
	h.sendTimeout = duration(env, scope, "proxy_send_timeout", time.Minute)
	h.readTimeout = duration(env, scope, "proxy_read_timeout", time.Minute)
	return h
}

// compileTarget fills in a target without variables, and proxy_redirect default.
func (s *Set) compileTarget(env *phase.Env, scope *conf.Scope, pass conf.ProxyPass, h *Handler) bool {
	t := &h.target
	host, port := proxyNames(pass.Target, pass.Named)
	t.host, t.port, t.uri = []byte(host), []byte(port), []byte(pass.URI)
	pattern := ""
	if l := scope.Enclosing(conf.Location); l != nil && l.Place != nil {
		pattern = l.Place.Pattern
	}
	if pass.URI == "" {
		h.redirect = &redirect{from: []byte(pass.Text + "/"), to: []byte("/")}
	} else {
		t.skip = len(pattern)
		h.redirect = &redirect{from: []byte(pass.Text), to: []byte(pattern)}
		if pass.URI[0] == '?' {
			t.uri = []byte("/" + pass.URI)
		}
	}
	t.group = s.lookup(env, pass)
	return t.group != nil
}

// lookup returns the group that a proxy_pass without variables names: an upstream block, or what its address resolves to.
// The same address in two places is one group, as in nginx.
func (s *Set) lookup(env *phase.Env, pass conf.ProxyPass) *group {
	e := pass.Target
	host := strings.ToLower(e.Host)
	if g := s.groups[host]; g != nil && e.Unix == "" {
		if !e.NoPort {
			env.Errors.Add(pass.At, `upstream "`+e.Host+`" may not have port `+strconv.Itoa(e.Port), "write http://"+e.Host+"; its servers have ports")
			return nil
		}
		return g
	}
	key := host + ":" + strconv.Itoa(e.Port)
	if e.Unix != "" {
		key = "unix:" + e.Unix
	}
	if g := s.shared[key]; g != nil {
		return g
	}
	peers, fault := resolve(e)
	if fault != "" {
		env.Errors.Add(pass.At, fault+` in upstream "`+e.Host+`"`, "names are looked up when the configuration is loaded")
		return nil
	}
	g := &group{name: []byte(pass.Named)}
	for _, p := range peers {
		g.primary = append(g.primary, p.defaults())
	}
	s.shared[key] = g
	return g
}

// compileGroup makes the group of an upstream block.
func (s *Set) compileGroup(env *phase.Env, d *conf.Directive) *group {
	g := &group{name: []byte(d.Arg(0))}
	for _, sd := range d.Block.Own("server") {
		server, ok := conf.ReadUpstreamServer(sd, env.Errors)
		if !ok {
			continue
		}
		peers, fault := resolve(server.Endpoint)
		if fault != "" {
			env.Errors.Add(sd.At(0), fault+` in upstream "`+sd.Arg(0)+`"`, "names are looked up when the configuration is loaded")
			continue
		}
		for _, p := range peers {
			p.weight, p.effective = int(server.Weight), int(server.Weight)
			p.maxFails, p.maxConns = int(server.MaxFails), int(server.MaxConns)
			p.failTimeout, p.down = int64(server.FailTimeout/time.Second), server.Down
			if server.Backup {
				g.backup = append(g.backup, p)
			} else {
				g.primary = append(g.primary, p)
			}
		}
	}
	if k := d.Block.Own("keepalive"); len(k) > 0 {
		n, _ := conf.ParseInt(k[len(k)-1].Arg(0)) // the table has checked it
		g.idle = &idle{max: int(n), timeout: time.Minute, requests: 1000, age: time.Hour, now: env.Now}
	}
	return g
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

// compileHead makes the plan of the proxy_set_header lines in force.
func compileHead(env *phase.Env, scope *conf.Scope) *head {
	var settings []setting
	for _, d := range scope.All("proxy_set_header") {
		text := env.Vars.CompileWord(d.Args[1], env.Errors)
		if text == nil {
			continue
		}
		set := setting{name: d.Arg(0)}
		if fixed, ok := text.Constant(); ok {
			set.fixed = string(fixed)
		} else {
			set.text = text
		}
		settings = append(settings, set)
	}
	return planHead(settings)
}

func duration(env *phase.Env, scope *conf.Scope, name string, without time.Duration) time.Duration {
	if d, ok := scope.Get(name); ok {
		if t, ok := d.Duration(env.Errors, 0); ok {
			return t
		}
	}
	return without
}

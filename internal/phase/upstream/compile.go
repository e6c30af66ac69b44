package upstream

import (
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// Open makes the groups of the upstream blocks of an http block; names are looked up. The set belongs to the program that
// is compiled, which closes it.
func Open(env *phase.Env, http *conf.Scope) *Set {
	s := newSet(env.Now, env.Log)
	s.names = env.Names
	if http == nil {
		return s
	}
	for _, d := range http.Own("upstream") {
		s.groups[strings.ToLower(d.Arg(0))] = s.compileGroup(env, d)
	}
	return s
}

// Compile returns the handler of a scope, or nil where neither proxy_pass nor grpc_pass is in force. Of both in one place the
// later counts, as in nginx, and one in a block inside before that of the location.
func (s *Set) Compile(env *phase.Env, scope *conf.Scope) phase.Handler {
	h := s.compileProxy(env, scope)
	c := s.compileCalls(env, scope)
	switch {
	case h == nil && c == nil:
		return nil
	case c == nil || h != nil && answersFirst(scope, "proxy_pass", "grpc_pass"):
		return h
	}
	return c
}

// answersFirst reports whether of two directives that are both in force the first one named answers.
func answersFirst(scope *conf.Scope, name, other string) bool {
	a, _ := scope.Get(name)
	b, _ := scope.Get(other)
	if a.Scope == b.Scope {
		return a.Pos.Order > b.Pos.Order
	}
	return a.Scope == scope
}

// compileProxy compiles a proxy_pass.
func (s *Set) compileProxy(env *phase.Env, scope *conf.Scope) *Handler {
	d, ok := scope.Get("proxy_pass")
	if !ok {
		compileRequest(env, scope, &Handler{}) // for their mistakes: nginx finds them here too
		compileRules(env, scope)
		return nil
	}
	pass, ok := conf.ReadProxyPass(d, env.Errors)
	if !ok {
		return nil
	}
	h := &Handler{set: s}
	if pass.TLS || pass.Vars {
		h.tls = tlsconf.CompileUpstream(env.TLS(), scope, "proxy_ssl_")
	}
	if pass.Vars {
		text := env.Vars.CompileWord(d.Args[0], env.Errors)
		if text == nil {
			return nil
		}
		h.target.text = text
	} else if !s.compileTarget(env, scope, pass, h) {
		return nil
	}
	h.resolver = s.compileResolver(env, scope)
	compileRequest(env, scope, h)
	h.rules = compileRules(env, scope)
	h.retry = compileRetry(env, scope, proxied)
	h.compileBuffers(env, scope)
	h.compileTimeouts(env, scope, proxied)
	return h
}

func (h *Handler) compileTimeouts(env *phase.Env, scope *conf.Scope, family string) {
	h.connectTimeout = duration(env, scope, family+"connect_timeout", time.Minute)
	h.sendTimeout = duration(env, scope, family+"send_timeout", time.Minute)
	h.readTimeout = duration(env, scope, family+"read_timeout", time.Minute)
}

// compileTarget fills in a target without variables.
func (s *Set) compileTarget(env *phase.Env, scope *conf.Scope, pass conf.ProxyPass, h *Handler) bool {
	t := &h.target
	host, port := proxyNames(pass.Target, pass.Named, defaultPort(pass.TLS))
	t.secure = pass.TLS
	t.host, t.port, t.uri = []byte(host), []byte(port), []byte(pass.URI)
	if pass.URI != "" {
		t.skip = len(prefix(scope))
		if pass.URI[0] == '?' {
			t.uri = []byte("/" + pass.URI)
		}
	}
	t.group = s.lookup(env, pass)
	return t.group != nil
}

// prefix returns the location that a proxy_pass stands in, as far as a path of it can take its place.
func prefix(scope *conf.Scope) string {
	if l := scope.Enclosing(conf.Location); l != nil && l.Place != nil {
		return l.Place.Pattern
	}
	return ""
}

// lookup returns the group that a proxy_pass without variables names: an upstream block, or what its address resolves to.
// The same address in two places is one group, as in nginx.
func (s *Set) lookup(env *phase.Env, pass conf.ProxyPass) *group {
	e := pass.Target
	host := strings.ToLower(e.Host)
	if g := s.groups[host]; g != nil && e.Unix == "" {
		if !e.NoPort {
			env.Errors.Add(pass.At, `upstream "`+e.Host+`" may not have port `+strconv.Itoa(e.Port), "leave the port out; its servers have ports")
			return nil
		}
		return g
	}
	key := sharedKey(e)
	if g := s.shared[key]; g != nil {
		return g
	}
	if e.Port == 0 && e.Unix == "" { // an address of grpc_pass: it has no default
		env.Errors.Add(pass.At, `no port in upstream "`+e.Host+`"`, "write HOST:PORT, or the name of an upstream block")
		return nil
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

// sharedKey is what an address is found by among those of proxy_pass.
func sharedKey(e conf.Endpoint) string {
	if e.Unix != "" {
		return "unix:" + e.Unix
	}
	return strings.ToLower(e.Host) + ":" + strconv.Itoa(e.Port)
}

func duration(env *phase.Env, scope *conf.Scope, name string, without time.Duration) time.Duration {
	if d, ok := scope.Get(name); ok {
		if t, ok := d.Duration(env.Errors, 0); ok {
			return t
		}
	}
	return without
}

package pipeline

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/access"
	"github.com/limitgate/limitgate/internal/phase/decision"
	"github.com/limitgate/limitgate/internal/phase/limit"
	"github.com/limitgate/limitgate/internal/phase/match"
	"github.com/limitgate/limitgate/internal/phase/mirror"
	"github.com/limitgate/limitgate/internal/phase/realip"
	"github.com/limitgate/limitgate/internal/phase/record"
	"github.com/limitgate/limitgate/internal/phase/rewrite"
	"github.com/limitgate/limitgate/internal/phase/shape"
	"github.com/limitgate/limitgate/internal/phase/static"
	"github.com/limitgate/limitgate/internal/phase/status"
	"github.com/limitgate/limitgate/internal/phase/trace"
	"github.com/limitgate/limitgate/internal/phase/tryfiles"
	"github.com/limitgate/limitgate/internal/phase/upstream"
	"github.com/limitgate/limitgate/internal/request"
)

// New compiles a configuration. What is wrong with it goes to env.Errors; the program must not serve then.
func New(env *phase.Env, cfg *conf.Config) *Program { return compile(env, cfg, true) }

// NewTrial compiles a configuration as far as a Trial needs it: without content and logs, so that no upstream is looked up
// and no file opened. It must not serve.
func NewTrial(env *phase.Env, cfg *conf.Config) *Program { return compile(env, cfg, false) }

func compile(env *phase.Env, cfg *conf.Config, serves bool) *Program {
	p := &Program{now: env.Now, mirrors: newMirrors(), pages: newPages(h1.ServerName(env.Version, true)), bare: newPages(h1.ServerName(env.Version, false))}
	http := cfg.HTTP()
	if http == nil {
		return p
	}
	if d, found := http.Get("limit_arithmetic"); found && d.Arg(0) == "nginx" && !env.Fixed {
		env.Arithmetic = limitgate.Nginx
	}
	env.Vars.Define(http, env.Errors)
	if serves {
		p.upstreams = upstream.Open(env, http)
	}
	c := compiler{env: env, program: p, serves: serves, shapes: shape.NewSet(), index: map[*conf.Scope]int{}, names: map[*conf.Scope][]match.Name{}}
	c.read = reader{env: env, mute: !serves, logs: map[*conf.Scope]*errorlog.Log{}}
	c.number(http)
	for _, s := range c.scopes {
		c.compile(s)
	}
	c.listen()
	p.slots, p.requestID = env.Vars.Slots(), env.Vars.RequestID()
	return p
}

type compiler struct {
	env     *phase.Env
	program *Program
	serves  bool
	read    reader
	scopes  []*conf.Scope
	shapes  *shape.Set
	index   map[*conf.Scope]int // of a scope in the program
	names   map[*conf.Scope][]match.Name
}

// number lists the blocks that requests may be in, outer ones first.
func (c *compiler) number(s *conf.Scope) {
	if s.Kind&(conf.HTTP|conf.Server|conf.Location|conf.IfServer|conf.IfLocation|conf.LimitExcept) == 0 {
		return
	}
	c.index[s] = len(c.scopes)
	c.scopes = append(c.scopes, s)
	for _, inner := range s.Children {
		c.number(inner)
	}
}

// compile builds one scope of the program.
func (c *compiler) compile(s *conf.Scope) {
	out := scope{name: nameOf(s), at: s.Opener.Pos, label: labelOf(s), server: -1, errorPages: compileErrorPages(c.env, s)}
	out.recursive = c.read.flag(s, "recursive_error_pages", false)
	out.logsSubs = c.read.flag(s, "log_subrequest", false)
	serverName := ""
	if server := s.Enclosing(conf.Server); server != nil {
		if server == s {
			c.names[s] = match.CompileNames(c.env, s)
		}
		serverName = c.names[server][0].String()
		// Outer blocks come first: the server itself is the next of the servers, all in it belong to the last one.
		out.server = len(c.program.servers)
		if server != s {
			out.server--
		}
	}
	out.settings = c.read.settings(s, serverName)
	out.settings.Root = static.Root(c.env, s)
	out.shaper = c.shapes.Compile(c.env, s)
	h := &out.handlers
	out.trace = trace.Compile(c.env, s)
	out.settings.TraceExtract = out.trace.Extracts()
	if out.trace.Acts() {
		h[phase.Trace] = out.trace
	}
	h[phase.RealIP] = realip.Compile(c.env, s)
	h[phase.Limit] = limit.Compile(c.env, s)
	h[phase.Access] = access.Compile(c.env, s, c.program)
	h[phase.Try] = tryfiles.Compile(c.env, s)
	if c.serves {
		h[phase.Record] = record.Compile(c.env, s)
		h[phase.Content] = c.content(s)
		h[phase.Mirror] = mirror.Compile(c.env, s, c.program)
	}
	if out.decision = decision.Compile(c.env, s); out.decision != nil {
		h[phase.Try], h[phase.Mirror], h[phase.Content] = nil, nil, out.decision.Content(h[phase.Content])
	}
	switch s.Kind {
	case conf.Server:
		h[phase.ServerRewrite] = rewrite.Compile(c.env, s, c.program, c.index)
		locations := match.Compile(c.env, s, c.index)
		h[phase.Match] = locations
		secured, clients := c.tls(s)
		c.program.servers = append(c.program.servers, server{scope: c.index[s], locations: locations, tls: secured, clients: clients})
	case conf.Location:
		h[phase.Rewrite] = rewrite.Compile(c.env, s, c.program, c.index)
		_, out.internal = s.Get("internal")
		out.except = c.exceptions(s)
	}
	if s.Kind&(conf.Location|conf.IfLocation|conf.LimitExcept) != 0 && h[phase.RealIP] != nil {
		// nginx asks once more behind the match, for locations with directives of their own.
		h[phase.Limit] = chain{h[phase.RealIP], h[phase.Limit]}
	}
	c.program.scopes = append(c.program.scopes, out)
}

// content compiles what answers requests that nothing has answered before.
func (c *compiler) content(s *conf.Scope) phase.Handler {
	proxied := c.program.upstreams.Compile(c.env, s) // also where something else answers: its directives are checked
	if h := status.Compile(c.env, s); h != nil {
		return h
	}
	if proxied != nil {
		return proxied
	}
	return static.Compile(c.env, s)
}

// exceptions reads the limit_except of a location.
func (c *compiler) exceptions(s *conf.Scope) *exceptions {
	for _, d := range s.Own("limit_except") {
		if methods, good := conf.ReadMethods(d, c.env.Errors); good {
			return &exceptions{methods: methods, scope: c.index[d.Block]}
		}
	}
	return nil
}

// labelOf is a block as people name it: a location by its address, others by their directive.
func labelOf(s *conf.Scope) string {
	if s.Place == nil || len(s.Opener.Args) == 0 {
		return s.Opener.Name
	}
	label := s.Opener.Arg(0)
	for i := 1; i < len(s.Opener.Args); i++ {
		label += " " + s.Opener.Arg(i)
	}
	return label
}

func nameOf(s *conf.Scope) string {
	switch {
	case s.Place == nil && s.Kind&(conf.IfServer|conf.IfLocation|conf.LimitExcept) != 0:
		return s.Opener.Name
	case s.Place == nil:
		return ""
	case s.Place.Modifier == conf.Exact:
		return "=" + s.Place.Pattern
	}
	return s.Place.Pattern
}

// chain is several handlers in the place of one.
type chain []phase.Handler

// Serve asks them in order, as far as they let the request go on.
func (c chain) Serve(r *request.Request) phase.Next {
	for _, h := range c {
		if h == nil {
			continue
		}
		if next := h.Serve(r); next != phase.Continue {
			return next
		}
	}
	return phase.Continue
}

// listen builds the sockets, with the look-up of names for each of their addresses.
func (c *compiler) listen() {
	p := c.program
	ps := points{byName: map[string]*point{}}
	for i, s := range p.servers {
		scope := c.scopes[s.scope]
		ps.gather(c.env, scope, i, c.names[scope])
	}
	var numbers []int
	groups := ps.sockets()
	for i, group := range groups {
		own := group[len(group)-1]
		l := listener{}
		for _, one := range group {
			l.addresses = append(l.addresses, c.address(one, one != own))
		}
		p.listeners = append(p.listeners, l)
		p.listens = append(p.listens, own.listen())
		numbers = append(numbers, i)
	}
	p.Place(numbers)
	if !c.serves {
		p.arrivals = c.arrivals(groups)
	}
}

func (c *compiler) address(p *point, shares bool) address {
	s := c.scopes[c.program.servers[p.chosen].scope]
	a := address{
		fallback: p.chosen,
		names:    match.NewNames(c.env, p.name, p.hosts, p.chosen),
		head:     c.read.head(s, &p.options),
	}
	if p.options.SSL && c.serves {
		c.secure(&a, p)
	}
	if shares {
		a.local = p.addr.Addr()
	}
	return a
}

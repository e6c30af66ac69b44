package limit

import (
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
)

// most is how many limits of one kind a scope may have: as many as limitgate.All takes.
const most = 64

// Compile builds the limits in force at a scope. In the http block it also makes every zone that is declared, so that a
// zone lives whether or not a limit uses it.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	c := compiler{env: env, http: s.Enclosing(conf.HTTP)}
	if c.http == nil {
		return nil
	}
	if s.Kind == conf.HTTP {
		c.declare()
	}
	h := &handler{
		req:     c.group(s, "limit_req"),
		conn:    c.group(s, "limit_conn"),
		headers: readHeaders(s),
	}
	h.conn.asksInTurn = true
	// nginx logs a delay one level below a refusal, and knows nothing below info.
	h.delay = min(h.req.level+1, errorlog.Info)
	for _, d := range s.All("limit_req") {
		c.limitReq(h, d)
	}
	for _, d := range s.All("limit_conn") {
		c.limitConn(h, d)
	}
	if len(h.req.limits) == 0 && len(h.conn.limits) == 0 {
		return nil
	}
	return h
}

type compiler struct {
	env  *phase.Env
	http *conf.Scope
}

// group reads what limits of a kind do together.
func (c *compiler) group(s *conf.Scope, kind string) group {
	g := group{status: 503, level: errorlog.Error}
	if d, found := s.Get(kind + "_status"); found {
		if n, valid := d.Int(c.env.Errors, 0); valid {
			g.status = int(n)
		}
	}
	if d, found := s.Get(kind + "_log_level"); found {
		if level, valid := errorlog.ParseLevel(d.Arg(0)); valid {
			g.level = level
		}
	}
	if d, found := s.Get(kind + "_dry_run"); found {
		g.dryRun, _ = d.Flag(c.env.Errors)
	}
	return g
}

// readHeaders reads limit_headers; the table checks its words.
func readHeaders(s *conf.Scope) headers {
	if d, found := s.Get("limit_headers"); found {
		switch d.Arg(0) {
		case "draft":
			return headersDraft
		case "legacy":
			return headersLegacy
		}
	}
	return headersOff
}

// limitReq adds a limit_req to the handler.
func (c *compiler) limitReq(h *handler, d *conf.Directive) {
	l, good := conf.ReadLimitReq(d, c.env.Errors)
	if !good {
		return
	}
	z, found := c.reqZone(l.Zone)
	if !found {
		return // reported when all zones were known
	}
	rate, err := limitgate.ParseRate(z.Rate.Text)
	if err != nil {
		c.env.Errors.Add(z.At, `invalid rate "rate=`+z.Rate.Text+`"`, err.Error())
		return
	}
	req := limitgate.Req{Rate: rate, Burst: l.Burst, Delay: l.Delay, NoDelay: l.NoDelay, Arithmetic: c.env.Arithmetic}
	if made, good := c.limit(d, z.Key, reqSpec(z), req); good {
		made.policy = newPolicy(l.Zone, req)
		c.add(&h.req, d, made)
	}
}

// limitConn adds a limit_conn to the handler.
func (c *compiler) limitConn(h *handler, d *conf.Directive) {
	l, good := conf.ReadLimitConn(d, c.env.Errors)
	if !good {
		return
	}
	z, found := c.connZone(l.Zone)
	if !found {
		return // reported when all zones were known
	}
	if made, good := c.limit(d, z.Key, connSpec(z), limitgate.Conn{Limit: l.Limit}); good {
		c.add(&h.conn, d, made)
	}
}

// The zones, as the daemon is asked for them. nginx names them in its words.

func reqSpec(z conf.LimitReqZone) phase.ZoneSpec {
	return phase.ZoneSpec{Name: z.Zone.Name, Directive: "limit_req", Key: z.Key.Text, Bytes: int(z.Zone.Bytes), Reject: z.Reject}
}

func connSpec(z conf.LimitConnZone) phase.ZoneSpec {
	return phase.ZoneSpec{Name: z.Zone.Name, Directive: "limit_conn_zone", Key: z.Key.Text, Bytes: int(z.Zone.Bytes)}
}

// limit binds an algorithm to a zone.
func (c *compiler) limit(d *conf.Directive, key conf.Word, spec phase.ZoneSpec, a limitgate.Algorithm) (limit, bool) {
	template := c.env.Vars.CompileWord(key, c.env.Errors)
	if template == nil {
		return limit{}, false
	}
	zone, err := c.env.Zones.Zone(spec)
	if err != nil {
		c.env.Errors.Late(conf.AtStart, conf.Pos{}, err.Error(), "the zone is at "+key.Pos.String())
		return limit{}, false
	}
	limiter, err := limitgate.NewLimiter(zone, a)
	if err != nil {
		c.env.Errors.Add(d.Pos, fmt.Sprintf("zone %q: %s", spec.Name, err),
			"a zone keeps what it counts, also over a reload: use another name, or start anew")
		return limit{}, false
	}
	return limit{zone: spec.Name, key: template, limiter: limiter}, true
}

// add puts a limit at the end of its group.
func (c *compiler) add(g *group, d *conf.Directive, l limit) {
	if len(g.limits) == most {
		c.env.Errors.Add(d.Pos, fmt.Sprintf(`more than %d "%s" directives in one place`, most, d.Name), "")
		return
	}
	g.limits = append(g.limits, l)
}

// declare makes the zones of the http block.
func (c *compiler) declare() {
	for _, d := range c.http.Own("limit_req_zone") {
		if z, good := conf.ReadLimitReqZone(d, c.env.Errors); good {
			c.make(z.Key, reqSpec(z))
		}
	}
	for _, d := range c.http.Own("limit_conn_zone") {
		if z, good := conf.ReadLimitConnZone(d, c.env.Errors); good {
			c.make(z.Key, connSpec(z))
		}
	}
}

func (c *compiler) make(key conf.Word, spec phase.ZoneSpec) {
	if c.env.Vars.CompileWord(key, c.env.Errors) == nil {
		return
	}
	if _, err := c.env.Zones.Zone(spec); err != nil {
		c.env.Errors.Late(conf.AtStart, conf.Pos{}, err.Error(), "the zone is at "+key.Pos.String())
	}
}

// reqZone finds a limit_req_zone by name.
func (c *compiler) reqZone(name string) (conf.LimitReqZone, bool) {
	for _, d := range c.http.Own("limit_req_zone") {
		if z, good := conf.ReadLimitReqZone(d, c.env.Errors); good && z.Zone.Name == name {
			return z, true
		}
	}
	return conf.LimitReqZone{}, false
}

// connZone finds a limit_conn_zone by name.
func (c *compiler) connZone(name string) (conf.LimitConnZone, bool) {
	for _, d := range c.http.Own("limit_conn_zone") {
		if z, good := conf.ReadLimitConnZone(d, c.env.Errors); good && z.Zone.Name == name {
			return z, true
		}
	}
	return conf.LimitConnZone{}, false
}

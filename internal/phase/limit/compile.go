package limit

import (
	"fmt"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/limitfields"
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
	if probed(s) {
		return nil
	}
	h := &handler{headers: readHeaders(s), refusal: readRefusal(env, s), exempt: env.Exempt(s)}
	for _, k := range []kind{byReq, byCount, byToken} {
		into := &h.earnest
		g := c.group(s, k)
		if g.dryRun {
			into = &h.rehearsed
		}
		for _, d := range s.All(k.String()) {
			c.add(into, d, g)
		}
	}
	g := c.group(s, byConn)
	_, decides := s.Get("limit_decision")
	for _, d := range s.All("limit_conn") {
		if decides {
			env.Errors.Note(d.Pos, `"limit_conn" counts nothing where "limit_decision" answers`,
				"a decision is over at once and holds no place while the request is served: let the proxy that asks count connections")
			continue
		}
		c.add(&h.conn, d, g)
	}
	if len(h.earnest)+len(h.rehearsed)+len(h.conn) == 0 {
		return nil
	}
	for _, list := range [][]limit{h.earnest, h.rehearsed, h.conn} {
		for i := range list {
			m := &list[i]
			m.settle()
			env.Limits.Add(&known{m, phase.LimitAbout{Directive: m.group.kind.String(), Zone: m.zone, At: m.at, DryRun: m.group.dryRun, Key: m.keyText, Partly: m.split != nil}})
		}
	}
	return h
}

// probed tells whether a scope answers probes, and has no limits of its own: who asks whether the process is well must not be counted
// among its clients.
func probed(s *conf.Scope) bool {
	_, is := s.Get("health")
	for _, k := range []kind{byReq, byCount, byToken, byConn} {
		is = is && len(s.Own(k.String())) == 0
	}
	return is
}

type compiler struct {
	env  *phase.Env
	http *conf.Scope
}

// group reads what limits of a kind do together.
func (c *compiler) group(s *conf.Scope, k kind) *group {
	g := &group{kind: k, status: 503, level: errorlog.Error}
	if d, found := s.Get(k.String() + "_status"); found {
		if n, valid := d.Int(c.env.Errors, 0); valid {
			g.status = int(n)
		}
	}
	if d, found := s.Get(k.String() + "_log_level"); found {
		if level, valid := errorlog.ParseLevel(strings.ToLower(d.Arg(0))); valid {
			g.level = level
		}
	}
	if d, found := s.Get(k.String() + "_dry_run"); found {
		g.dryRun, _ = d.Flag(c.env.Errors)
	}
	g.hints = hints(s)
	// nginx logs a delay one level below a refusal, and knows nothing below info.
	g.delay = min(g.level+1, errorlog.Info)
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

// add puts a limit at the end of a list.
func (c *compiler) add(list *[]limit, d *conf.Directive, g *group) {
	if len(*list) == most {
		c.env.Errors.Add(d.Pos, fmt.Sprintf(`more than %d limits in one place`, most), "")
		return
	}
	if w, good := c.read(d, g.kind); good {
		if m, good := c.limit(d, w); good {
			m.group, m.at, m.keyText = g, d.Pos, w.key.Text
			m.split = c.split(m.zone, w.canary)
			if m.live = m.split.Live(); g.dryRun {
				m.split = nil // which comes before: all keys are watched
			}
			*list = append(*list, m)
		}
	}
}

// limit makes the limit that directives want.
func (c *compiler) limit(d *conf.Directive, w wish) (limit, bool) {
	m := limit{zone: w.spec.Name, meter: c.env.Meters.Zone(w.spec.Name), stored: w.spec.Store.Name != "", key: c.env.Vars.CompileWord(w.key, c.env.Errors)}
	if tellsAddress(w.key.Text) {
		m.crowd = c.env.Crowd(m.zone)
	}
	if w.tarpit > 0 {
		m.tarpit, m.held = w.tarpit, c.env.Held(m.zone)
	}
	v := &vary{base: w.base, units: w.cost, algorithm: w.algorithm}
	good := m.key != nil
	for _, p := range w.varying {
		if p.word.Text == "" {
			continue
		}
		t := c.env.Vars.CompileWord(p.word, c.env.Errors)
		good = good && t != nil
		v.parameters = append(v.parameters, parameter{name: p.name, value: t, at: p.word.Pos})
		w.spec.Parted = w.spec.Parted || p.name == "window"
	}
	if w.costFrom.Text != "" {
		v.cost = c.env.Vars.CompileWord(w.costFrom, c.env.Errors)
		good = good && v.cost != nil
	}
	zone, err := c.env.Zones.Zone(w.spec)
	if err != nil {
		c.env.Errors.Late(conf.AtStart, conf.Pos{}, err.Error(), "the zone is at "+w.key.Pos.String())
		good = false
	}
	if !good {
		return m, false
	}
	if len(v.parameters) > 0 || v.cost != nil || v.units != 1 {
		m.vary = v
	}
	v.zone = c.zonesOf(zone, w.spec)
	m.own, m.fixed.numbers = &own{zone: c.env.Overrides.Zone(m.zone), vary: v}, w.base
	if len(v.parameters) > 0 {
		m.sample, good = c.mayHold(d, w, zone)
		return m, good
	}
	a := w.algorithm(w.base)
	if a != nil {
		if err := a.Validate(); err != nil {
			c.env.Errors.Add(d.Pos, fmt.Sprintf("zone %q: %s", m.zone, err), "")
			return m, false
		}
		if m.fixed.limiter, err = limitgate.NewLimiter(zone, a); err != nil {
			c.unfit(d, w.spec.Name, err)
			return m, false
		}
	}
	m.fixed.policy = limitfields.New(m.zone, a)
	m.finder, good = c.finder(d, w, zone)
	return m, good
}

// zonesOf gives the zone for a limit: the zone itself, or where lengths of windows vary a part of it.
func (c *compiler) zonesOf(zone limitgate.Zone, spec phase.ZoneSpec) func(limitgate.Algorithm) (limitgate.Zone, error) {
	zones := c.env.Zones
	return func(a limitgate.Algorithm) (limitgate.Zone, error) {
		w, windows := a.(limitgate.Count)
		if !spec.Parted || !windows {
			return zone, nil
		}
		part := spec
		part.Part = fmt.Sprintf("%v windows of %v", w.Windowing, w.Window)
		return zones.Zone(part)
	}
}

// mayHold tries whether the zone holds states of the limit's kind, with numbers that every kind takes, and gives what it tried with.
func (c *compiler) mayHold(d *conf.Directive, w wish, zone limitgate.Zone) (*limitgate.Limiter, bool) {
	if w.spec.Parted {
		return nil, true // its parts hold them
	}
	n := w.base
	for _, p := range w.varying {
		if p.word.Text != "" {
			p.sample(&n)
		}
	}
	a := w.algorithm(n)
	if a == nil {
		return nil, true
	}
	if err := a.Validate(); err != nil {
		return nil, true // other values may be good
	}
	l, err := limitgate.NewLimiter(zone, a)
	if err != nil {
		c.unfit(d, w.spec.Name, err)
		return nil, false
	}
	return l, true
}

// unfit reports a limit that its zone can't hold.
func (c *compiler) unfit(d *conf.Directive, zone string, err error) {
	c.env.Errors.Add(d.Pos, fmt.Sprintf("zone %q: %s", zone, err),
		"a zone keeps what it counts, also over a reload: use another name, or start anew")
}

// declare makes the zones of the http block.
func (c *compiler) declare() {
	for _, k := range []kind{byReq, byCount, byToken, byConn} {
		for _, d := range c.http.Own(k.String() + "_zone") {
			w, good := c.readZone(d, k)
			if !good || c.env.Vars.CompileWord(w.key, c.env.Errors) == nil {
				continue
			}
			if _, err := c.env.Zones.Zone(w.spec); err != nil {
				c.env.Errors.Late(conf.AtStart, conf.Pos{}, err.Error(), "the zone is at "+w.key.Pos.String())
			}
		}
	}
}

package replay

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/accesslog"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/virtual"
)

// Options say what to replay.
type Options struct {
	Config  virtual.Options
	Against *virtual.Options // another configuration, to compare with; nil: none

	DropRefused bool   // leave out what was refused when it was logged
	Port        int    // of requests of which the log tells none; 0: it is not known
	Host        string // of requests of which the log tells none

	Verdicts io.Writer // gets a line of JSON for each request; nil: nobody does
}

// Replay is one or two configurations that a log is put through, once.
type Replay struct {
	options Options
	plan    *plan
	intake  *intake
	runs    []*run              // by configuration
	changes []*changes          // by lane, where configurations are compared
	trail   *trail              // nil: nobody wants to know of single requests
	done    []*entry            // that are decided in all lanes
	sources []*accesslog.Source // when the log was read
}

// plan is what the intake has to know.
type plan struct {
	configs     []*config
	refusals    []int // statuses that tell of a refusal
	drop        bool
	host        []byte
	keepSlashes bool

	agent, referer, user bool // some configuration asks for it
}

// config is one of the configurations.
type config struct {
	options virtual.Options
	first   *virtual.Gate // with one lane
	realIP  []string      // variables that tell the client's address, where proxies are trusted
	tlsPort int
}

// Open compiles the configurations. Faults of one are a *virtual.ConfigError.
func Open(o Options) (*Replay, error) {
	r := &Replay{options: o, plan: &plan{drop: o.DropRefused}, trail: newTrail(o.Verdicts)}
	if o.Host != "" {
		r.plan.host = []byte(o.Host)
	}
	list := []virtual.Options{o.Config}
	if o.Against != nil {
		list = append(list, *o.Against)
	}
	for _, v := range list {
		g, err := virtual.Open(v)
		if err != nil {
			return nil, err
		}
		p := r.plan
		p.configs = append(p.configs, newConfig(v, g))
		p.agent = p.agent || g.Vars.Used("http_user_agent")
		p.referer = p.referer || g.Vars.Used("http_referer")
		p.user = p.user || g.Vars.Used("remote_user") || g.Vars.Used("http_authorization")
	}
	first := r.plan.configs[0]
	r.plan.keepSlashes = first.first.Rules.KeepSlashes
	r.plan.refusals = refusals(first.first.Config)
	return r, nil
}

func newConfig(o virtual.Options, g *virtual.Gate) *config {
	c := &config{options: o, first: g}
	g.Config.Main.Walk(func(s *conf.Scope) {
		if len(s.All("set_real_ip_from")) == 0 {
			return
		}
		name := "x-real-ip"
		if d, found := s.Get("real_ip_header"); found {
			name = d.Arg(0)
		}
		variable := "http_" + strings.ReplaceAll(strings.ToLower(name), "-", "_")
		if name == "proxy_protocol" {
			variable = "proxy_protocol_addr"
		}
		if !slices.Contains(c.realIP, variable) {
			c.realIP = append(c.realIP, variable)
		}
	})
	for _, l := range g.Program.Listens() {
		if l.SSL && c.tlsPort == 0 {
			c.tlsPort = l.Port
		}
	}
	return c
}

// refusals returns the statuses that requests are refused with: 429, which has no other meaning, and what a configuration says.
func refusals(cfg *conf.Config) []int {
	list := []int{429}
	cfg.Main.Walk(func(s *conf.Scope) {
		if s.Kind != conf.Location && (s.Kind != conf.Server || hasRoot(s)) {
			return // no request is decided there
		}
		for _, kind := range [...]string{"limit_req", "limit_conn", "limit_count", "limit_token"} {
			if len(s.All(kind)) == 0 {
				continue
			}
			status := 503
			if d, found := s.Get(kind + "_status"); found {
				if n, valid := conf.ParseInt(d.Arg(0)); valid {
					status = int(n)
				}
			}
			if !slices.Contains(list, status) {
				list = append(list, status)
			}
		}
	})
	slices.Sort(list)
	return list
}

// hasRoot tells whether a server has a location for whatever no other one is for: then none is decided on in the server itself.
func hasRoot(server *conf.Scope) bool {
	return slices.ContainsFunc(server.Children, func(s *conf.Scope) bool {
		return s.Kind == conf.Location && len(s.Opener.Args) == 1 && s.Opener.Arg(0) == "/"
	})
}

// meet tells for each configuration whether a source has what real_ip_header asks for.
func (p *plan) meet(s *accesslog.Source) (listens [2]bool) {
	for i, c := range p.configs {
		for _, name := range c.realIP {
			listens[i] = listens[i] || slices.Contains(s.Variables, name)
		}
	}
	return listens
}

// begin makes the runs, with a lane for each assumption.
func (r *Replay) begin(lanes int) error {
	for which, c := range r.plan.configs {
		g := c.first
		if lanes > 1 {
			var err error
			if g, err = virtual.OpenLanes(c.options, lanes); err != nil {
				return fmt.Errorf("compiling %s again: %w", c.options.File, err)
			}
		}
		r.runs = append(r.runs, newRun(r, which, lanes, g))
	}
	if len(r.runs) == 2 {
		for range lanes {
			r.changes = append(r.changes, newChanges())
		}
	}
	return nil
}

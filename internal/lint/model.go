package lint

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
)

// kind is what a limit counts: the name of its directive.
type kind string

const (
	byReq   kind = "limit_req"
	byConn  kind = "limit_conn"
	byCount kind = "limit_count"
	byToken kind = "limit_token"
)

// kinds returns all kinds, in the order in which a request meets them.
func kinds() []kind { return []kind{byReq, byCount, byToken, byConn} }

// rateKinds returns the kinds that are decided as one, before limit_conn.
func rateKinds() []kind { return kinds()[:3] }

// zone is a zone as it is declared, with the limits that use it.
type zone struct {
	kind      kind
	name      string
	key       conf.Word
	bytes     int64
	rate      conf.Rate // of limit_req_zone and limit_token_zone
	rateFrom  string    // the rate, where it holds variables
	max       int64     // the limit of limit_count_zone, the capacity of limit_token_zone
	maxFrom   string
	window    time.Duration
	varying   []setting // what of it holds variables
	algorithm string
	calendar  bool
	zone      string // of time, that windows follow
	opens     bool   // a window with the first request of a key
	overflow  bool   // overflow=reject
	store     string // what it lives in; "": the memory of each instance
	at        conf.Pos
	uses      []*limit
	elsewhere bool // declared in a file that was not read: of all this only kind, name and uses are known
}

// setting is a number of a limit, as it is called and as it stands in the file.
type setting struct{ name, text string }

// settings returns those that hold variables.
func settings(all ...setting) []setting {
	return slices.DeleteFunc(all, func(s setting) bool { return s.text == "" })
}

// limit is one limit where it stands.
type limit struct {
	kind    kind
	zone    *zone
	scope   *conf.Scope
	at      conf.Pos
	burst   int64
	delay   int64 // of the burst, what does not wait
	noDelay bool
	varies  bool // burst or delay hold variables
	varying []setting
	places  int64 // of limit_conn; the most where it finds itself
	least   int64 // of a limit_conn that finds itself; 0 of others
	cost    int64 // of limit_count and limit_token; 0 where it varies
	fail    conf.Fail
	held    time.Duration // reject_delay
	canary  conf.Canary
}

// model is a configuration as rules see it.
type model struct {
	cfg        *conf.Config
	errs       *conf.Errors
	whole      bool // not only a part that another file includes
	arithmetic limitgate.Arithmetic
	zones      []*zone // that are declared
	foreign    []*zone // that are declared elsewhere
	limits     []*limit
	limitOf    map[*conf.Directive]*limit
	scopes     []*conf.Scope // all of http, outer ones first
	listens    []listen
	vars       map[string]*variable
}

// newModel reads the limits of a configuration. Faults were reported when it was loaded and are not met again.
func newModel(cfg *conf.Config, errs *conf.Errors, whole bool, arithmetic limitgate.Arithmetic) *model {
	m := &model{cfg: cfg, errs: errs, whole: whole, arithmetic: arithmetic, vars: map[string]*variable{}, limitOf: map[*conf.Directive]*limit{}}
	http := cfg.HTTP()
	if http == nil {
		return m
	}
	for _, k := range kinds() {
		for _, d := range http.Own(string(k) + "_zone") {
			if z := readZone(d, k); z != nil {
				m.zones = append(m.zones, z)
			}
		}
	}
	http.Walk(func(s *conf.Scope) {
		m.scopes = append(m.scopes, s)
		m.readVariables(s)
		for _, k := range kinds() {
			for _, d := range s.Own(string(k)) {
				if l := m.readLimit(d, k); l != nil {
					m.limits, m.limitOf[d] = append(m.limits, l), l
					l.zone.uses = append(l.zone.uses, l)
				}
			}
		}
	})
	m.listens = readListens(m.scopes)
	return m
}

func readZone(d *conf.Directive, k kind) *zone {
	z := &zone{kind: k, at: d.Pos}
	errs, good := &conf.Errors{}, false
	switch k {
	case byReq:
		var r conf.LimitReqZone
		r, good = conf.ReadLimitReqZone(d, errs)
		z.name, z.bytes, z.key, z.rate, z.rateFrom, z.store = r.Zone.Name, r.Zone.Bytes, r.Key, r.Rate, r.RateFrom.Text, r.Store.Text
		z.overflow = r.Reject
		z.varying = settings(setting{"rate", r.RateFrom.Text})
	case byConn:
		var r conf.LimitConnZone
		r, good = conf.ReadLimitConnZone(d, errs)
		z.name, z.bytes, z.key, z.store = r.Zone.Name, r.Zone.Bytes, r.Key, r.Store.Text
	case byCount:
		var r conf.LimitCountZone
		r, good = conf.ReadLimitCountZone(d, errs)
		z.name, z.bytes, z.key, z.max, z.maxFrom = r.Zone.Name, r.Zone.Bytes, r.Key, r.Limit, r.LimitFrom.Text
		z.window, z.algorithm, z.calendar, z.store = r.Window, r.Algorithm, r.Timezone != nil, r.Store.Text
		z.overflow, z.opens = r.Reject, r.First
		if r.Timezone != nil {
			z.zone = r.Timezone.String()
		}
		z.varying = settings(setting{"limit", r.LimitFrom.Text}, setting{"window", r.WindowFrom.Text})
	case byToken:
		var r conf.LimitTokenZone
		r, good = conf.ReadLimitTokenZone(d, errs)
		z.name, z.bytes, z.key, z.max, z.maxFrom = r.Zone.Name, r.Zone.Bytes, r.Key, r.Capacity, r.CapacityFrom.Text
		z.rate, z.rateFrom, z.store, z.overflow = r.Rate, r.RateFrom.Text, r.Store.Text, r.Reject
		z.varying = settings(setting{"rate", r.RateFrom.Text}, setting{"capacity", r.CapacityFrom.Text})
	}
	if !good {
		return nil
	}
	return z
}

func (m *model) readLimit(d *conf.Directive, k kind) *limit {
	l := &limit{kind: k, scope: d.Scope, at: d.Pos, cost: 1}
	errs, name, good := &conf.Errors{}, "", false
	switch k {
	case byReq:
		var r conf.LimitReq
		r, good = conf.ReadLimitReq(d, errs)
		name, l.burst, l.delay, l.noDelay, l.fail = r.Zone, r.Burst, r.Delay, r.NoDelay, r.Fail
		l.held, l.canary = r.RejectDelay, r.Canary
		l.varying = settings(setting{"burst", r.BurstFrom.Text}, setting{"delay", r.DelayFrom.Text})
		l.varies = len(l.varying) > 0
	case byConn:
		var r conf.LimitConn
		r, good = conf.ReadLimitConn(d, errs)
		name, l.places, l.fail, l.canary = r.Zone, r.Limit, r.Fail, r.Canary
		if r.Adaptive {
			l.least = r.Min
		}
	default:
		var r conf.LimitQuota
		r, good = conf.ReadLimitQuota(d, errs)
		name, l.cost, l.fail, l.held, l.canary = r.Zone, r.Cost, r.Fail, r.RejectDelay, r.Canary
		l.varying = settings(setting{"cost", r.CostFrom.Text})
	}
	if l.zone = m.zone(name, k); !good || l.zone == nil {
		return nil
	}
	return l
}

// zone returns the zone of a name. One that is not declared may be in what a part is a part of; in a whole configuration it is
// a fault, and there is none.
func (m *model) zone(name string, k kind) *zone {
	for _, z := range slices.Concat(m.zones, m.foreign) {
		if z.name == name && z.kind == k {
			return z
		}
	}
	if m.whole {
		return nil
	}
	z := &zone{kind: k, name: name, elsewhere: true}
	m.foreign = append(m.foreign, z)
	return z
}

// limitsAt returns the limits of these kinds that are in force in a scope.
func (m *model) limitsAt(s *conf.Scope, of ...kind) []*limit {
	var list []*limit
	for _, k := range of {
		for _, d := range s.All(string(k)) {
			if l := m.limitOf[d]; l != nil {
				list = append(list, l)
			}
		}
	}
	return list
}

// flag is whether a directive is in force as "on".
func flag(s *conf.Scope, name string) bool {
	d, found := s.Get(name)
	return found && strings.EqualFold(d.Arg(0), "on")
}

// word returns the first argument of the directive in force, or what holds without it.
func word(s *conf.Scope, name, otherwise string) string {
	if d, found := s.Get(name); found {
		return d.Arg(0)
	}
	return otherwise
}

// duration returns the time of the directive in force, or what holds without it.
func duration(s *conf.Scope, name string, otherwise time.Duration) time.Duration {
	if t, ok := conf.ParseDuration(word(s, name, "")); ok {
		return t
	}
	return otherwise
}

// inside reports whether s is outer or stands in it.
func inside(s, outer *conf.Scope) bool {
	for ; s != nil; s = s.Parent {
		if s == outer {
			return true
		}
	}
	return false
}

// ends returns the scopes in which requests end that meet the limit: the scope it stands in, and those in it that inherit it.
func (m *model) ends(l *limit) []*conf.Scope {
	var list []*conf.Scope
	for _, s := range m.scopes {
		if inside(s, l.scope) && s.Kind&(conf.Server|conf.Location|conf.IfLocation) != 0 && slices.Contains(m.limitsAt(s, l.kind), l) {
			list = append(list, s)
		}
	}
	return list
}

// upstream returns the upstream block of a name.
func (m *model) upstream(name string) *conf.Scope {
	for _, s := range m.scopes {
		if s.Kind == conf.Upstream && s.Opener.Arg(0) == name {
			return s
		}
	}
	return nil
}

// where is how a scope is called in a message.
func where(s *conf.Scope) string {
	switch {
	case s.Kind == conf.Location && s.Place != nil:
		return fmt.Sprintf("location %s", s.Place.Pattern)
	case s.Kind == conf.Server:
		if names := s.Own("server_name"); len(names) > 0 && names[0].Arg(0) != "" {
			return "server " + names[0].Arg(0)
		}
		return "this server"
	}
	return s.Kind.String()
}

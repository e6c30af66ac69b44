package lint

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
)

// Change is one thing about limits that differs between two configurations.
type Change struct {
	What    string   `json:"what"`             // limit, zone, store, rollout, table or setting
	Change  string   `json:"change"`           // added, removed or changed
	Name    string   `json:"name"`             // of the zone or store, the variable of a table, the directive of a setting
	Limit   string   `json:"limit,omitempty"`  // the directive of a limit, or of the limits of a zone
	Where   string   `json:"where,omitempty"`  // the scope it stands in
	Places  []string `json:"places,omitempty"` // where a limit came into force, or went out of it, though its own line stayed
	Figures []Figure `json:"figures,omitempty"`
	Text    string   `json:"text"` // all this in one line
}

// Figure is one number or word of it, as it was and as it is; "" where there is none.
type Figure struct {
	Name string `json:"name"`
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

// Diff tells what differs in the limits of two configurations, and nothing of what else does: limits first, in the order of the
// second one, then what went, then zones, stores, tables and settings. Both are read as far as they are good.
func Diff(was, is *conf.Config) []Change {
	d := &differ{was: newSide(was), is: newSide(is), told: map[*conf.Directive]bool{}}
	d.limits()
	d.zones()
	d.stores()
	d.tables()
	d.settings()
	for i := range d.list {
		d.list[i].Text = d.list[i].text()
	}
	return d.list
}

// differ compares two configurations.
type differ struct {
	was, is side
	list    []Change
	told    map[*conf.Directive]bool // settings that lines of limits tell of
}

// side is one of them.
type side struct {
	*model
	places map[*conf.Scope]string
	byID   map[string]*limit
	order  []string
}

func newSide(cfg *conf.Config) side {
	arithmetic := limitgate.Exact
	if http := cfg.HTTP(); http != nil && word(http, "limit_arithmetic", "") == "nginx" {
		arithmetic = limitgate.Nginx
	}
	s := side{model: newModel(cfg, &conf.Errors{}, true, arithmetic), byID: map[string]*limit{}}
	s.places = placesOf(s.scopes)
	for _, l := range s.limits {
		id := string(l.kind) + " " + l.zone.name + " " + s.places[l.scope]
		if s.byID[id] == nil {
			s.order = append(s.order, id)
		}
		s.byID[id] = l
	}
	return s
}

// zoneOf returns a zone that is declared.
func (s side) zoneOf(k kind, name string) *zone {
	for _, z := range s.zones {
		if z.kind == k && z.name == name {
			return z
		}
	}
	return nil
}

func (d *differ) add(c Change) { d.list = append(d.list, c) }

func (d *differ) limits() {
	for _, id := range d.is.order {
		is, was := d.is.byID[id], d.was.byID[id]
		c := Change{What: "limit", Change: "changed", Name: is.zone.name, Limit: string(is.kind), Where: d.is.places[is.scope]}
		if was == nil {
			c.Change = "added"
			f := d.ownFacts(is, d.was.zoneOf(is.kind, is.zone.name) == nil)
			if f.find("key").name == "" {
				f = append(numbersOf(is.zone), f...)
			}
			c.Figures = figuresOf(nil, f)
			d.add(c)
			continue
		}
		alone := len(is.zone.uses) == 1 && len(was.zone.uses) == 1
		c.Figures = figuresOf(d.ownFacts(was, alone), d.ownFacts(is, alone))
		gone, come := d.moved(was, is)
		if len(c.Figures) > 0 {
			d.add(c)
		}
		c.Figures = nil
		if len(gone) > 0 {
			c.Change, c.Places = "removed", gone
			d.add(c)
		}
		if len(come) > 0 {
			c.Change, c.Places = "added", come
			d.add(c)
		}
	}
	for _, id := range d.was.order {
		if was := d.was.byID[id]; d.is.byID[id] == nil {
			d.ownFacts(was, false) // its settings went with it
			d.add(Change{What: "limit", Change: "removed", Name: was.zone.name, Limit: string(was.kind), Where: d.was.places[was.scope]})
		}
	}
}

// ownFacts are those of a limit, with those of its zone where these are told nowhere else.
func (d *differ) ownFacts(l *limit, zone bool) facts {
	var f facts
	if zone {
		f = zoneFacts(l.zone)
	}
	f = append(f, limitFacts(l)...)
	for _, name := range [...]string{"status", "dry_run"} {
		set, found := l.scope.Get(string(l.kind) + "_" + name)
		if found {
			d.told[set] = true
		}
		otherwise := map[string]string{"status": "503", "dry_run": "off"}[name]
		value := word(l.scope, string(l.kind)+"_"+name, otherwise)
		f.put(strings.ReplaceAll(name, "_", " "), value, otherwise)
	}
	return f
}

// moved tells in which places, of those that both configurations have, a limit is no longer in force, and in which it came into force.
func (d *differ) moved(was, is *limit) (gone, come []string) {
	before, after := d.was.inForce(was), d.is.inForce(is)
	for _, s := range d.was.scopes {
		if place := d.was.places[s]; before[place] && !after[place] && d.is.has(place) {
			gone = append(gone, place)
		}
	}
	for _, s := range d.is.scopes {
		if place := d.is.places[s]; after[place] && !before[place] && d.was.has(place) {
			come = append(come, place)
		}
	}
	return gone, come
}

func (s side) inForce(l *limit) map[string]bool {
	in := map[string]bool{}
	for _, scope := range s.ends(l) {
		in[s.places[scope]] = true
	}
	return in
}

func (s side) has(place string) bool {
	for _, p := range s.places {
		if p == place {
			return true
		}
	}
	return false
}

// zones tells of zones that no line of a limit told of: those of several limits, and of none.
func (d *differ) zones() {
	for _, z := range d.is.zones {
		was := d.was.zoneOf(z.kind, z.name)
		c := Change{What: "zone", Change: "changed", Name: z.name, Limit: string(z.kind)}
		switch {
		case was == nil && len(z.uses) == 0:
			c.Change, c.Figures = "added", figuresOf(nil, zoneFacts(z))
		case was == nil, len(z.uses) == 1 && len(was.uses) == 1 && d.paired(z, was):
			continue
		default:
			c.Figures = figuresOf(zoneFacts(was), zoneFacts(z))
		}
		for _, l := range z.uses {
			c.Places = append(c.Places, d.is.places[l.scope])
		}
		if len(c.Figures) > 0 {
			d.add(c)
		}
	}
	for _, z := range d.was.zones {
		if d.is.zoneOf(z.kind, z.name) == nil {
			d.add(Change{What: "zone", Change: "removed", Name: z.name, Limit: string(z.kind)})
		}
	}
}

// paired reports whether the one limit of a zone stands where it stood.
func (d *differ) paired(is, was *zone) bool {
	return d.is.places[is.uses[0].scope] == d.was.places[was.uses[0].scope]
}

func (d *differ) stores() {
	d.named("store", storesOf(d.was.cfg), storesOf(d.is.cfg))
	d.named("rollout", rolloutsOf(d.was.cfg), rolloutsOf(d.is.cfg))
	d.named("bandwidth zone", bandwidthOf(d.was.cfg), bandwidthOf(d.is.cfg))
}

// named compares what has a name and some facts.
func (d *differ) named(what string, was, is map[string]facts) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before, had := was[name]
		after, has := is[name]
		c := Change{What: what, Change: "changed", Name: name, Figures: figuresOf(before, after)}
		switch {
		case !had:
			c.Change = "added"
		case !has:
			c.Change, c.Figures = "removed", nil
		case len(c.Figures) == 0:
			continue
		}
		d.add(c)
	}
}

// tables tells of maps, geos and splits that choose a key or a number of a limit. What stands in them may be a secret, an API key for
// example, so only networks are named.
func (d *differ) tables() {
	was, is := d.was.tablesOf(), d.is.tablesOf()
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := Change{What: "table", Change: "changed", Name: "$" + name, Figures: rowsOf(was[name], is[name])}
		if len(c.Figures) > 0 {
			d.add(c)
		}
	}
}

// settings tells of directives around limits, by the scope they stand in.
func (d *differ) settings() {
	was, is := d.was.settingsOf(), d.is.settingsOf()
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, id := range slices.SortedFunc(maps.Keys(all), func(a, b settingID) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	}) {
		before, after := was[id], is[id]
		if d.covered(before) || d.covered(after) {
			continue
		}
		c := Change{What: "setting", Change: "changed", Name: id.name, Where: id.place}
		if c.Figures = settingFigures(before, after); len(c.Figures) == 0 {
			continue
		}
		switch {
		case len(before) == 0:
			c.Change = "added"
		case len(after) == 0:
			c.Change = "removed"
		}
		d.add(c)
	}
}

func (d *differ) covered(list []*conf.Directive) bool {
	return slices.ContainsFunc(list, func(s *conf.Directive) bool { return d.told[s] })
}

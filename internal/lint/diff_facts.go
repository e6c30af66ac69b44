package lint

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// fact is one thing that is said of a limit: as people read it, and as it is compared.
type fact struct{ name, shown, same string }

type facts []fact

// put adds a fact, but for what holds anyway.
func (f *facts) put(name, value, otherwise string) {
	if value != otherwise {
		*f = append(*f, fact{name, value, value})
	}
}

func (f facts) find(name string) fact {
	for _, x := range f {
		if x.name == name {
			return x
		}
	}
	return fact{}
}

// usual are what facts say that are left out.
func usual(name string) string {
	return map[string]string{"burst": "0", "waiting": "0", "status": "503", "dry run": "off", "overflow": "evict", "cost": "1", "canary": "100%"}[name]
}

// figuresOf tells what differs: in the order of the second, then what is only in the first.
func figuresOf(was, is facts) []Figure {
	var list []Figure
	shown := func(f fact, other fact) string {
		if f.name == "" && other.name != "" && was != nil && is != nil {
			return usual(other.name)
		}
		return f.shown
	}
	for _, after := range is {
		if before := was.find(after.name); before.same != after.same {
			list = append(list, Figure{after.name, shown(before, after), after.shown})
		}
	}
	for _, before := range was {
		if after := is.find(before.name); after.name == "" {
			list = append(list, Figure{before.name, before.shown, shown(after, before)})
		}
	}
	return list
}

// numbersOf are how much a zone lets through.
func numbersOf(z *zone) (f facts) {
	switch z.kind {
	case byReq, byToken:
		f = append(f, rateFact(z))
	case byCount:
		f = append(f, countFact(z))
	}
	if z.kind == byToken {
		f.put("capacity", number64(z.max, z.maxFrom), "")
	}
	return f
}

// zoneFacts are what the declaration of a zone says.
func zoneFacts(z *zone) facts {
	f := numbersOf(z)
	f.put("key", z.key.Text, "")
	f = append(f, sizeFact(z.bytes))
	f.put("store", z.store, "")
	if z.overflow {
		f.put("overflow", "reject", "evict")
	}
	return f
}

func rateFact(z *zone) fact {
	if z.rateFrom != "" {
		return fact{"rate", z.rateFrom, z.rateFrom}
	}
	n, per := z.rate.Rate.Millionths()
	a, b := n, int64(per)
	for b != 0 {
		a, b = b, a%b
	}
	if a == 0 {
		a = 1
	}
	shown := z.rate.Text
	if at := strings.Index(shown, "r/"); at > 0 {
		shown = shown[:at] + " " + shown[at:]
	}
	return fact{"rate", shown, fmt.Sprintf("%d/%d", n/a, int64(per)/a)}
}

func countFact(z *zone) fact {
	window := "a window that varies"
	if z.window > 0 {
		window = span(z.window)
	}
	text := number64(z.max, z.maxFrom) + " in " + window
	for _, s := range z.varying {
		if s.name == "window" {
			text = number64(z.max, z.maxFrom) + " in " + s.text
		}
	}
	if z.algorithm != "sliding" {
		text += " (" + z.algorithm + ")"
	}
	if z.zone != "" {
		text += " " + z.zone
	}
	if z.opens {
		text += " from the first request"
	}
	return fact{"limit", text, text}
}

// sizeFact writes a size as configurations do.
func sizeFact(bytes int64) fact {
	text := fmt.Sprint(bytes)
	switch {
	case bytes%(1<<20) == 0:
		text = fmt.Sprint(bytes>>20) + "m"
	case bytes%(1<<10) == 0:
		text = fmt.Sprint(bytes>>10) + "k"
	}
	return fact{"size", text, text}
}

func number64(n int64, from string) string {
	if from != "" {
		return from
	}
	return fmt.Sprint(n)
}

// limitFacts are what the line of a limit says.
func limitFacts(l *limit) facts {
	var f facts
	switch l.kind {
	case byReq:
		if l.varies {
			for _, s := range l.varying {
				f.put(s.name, s.text, "")
			}
			break
		}
		prompt, waiting := l.prompt()
		f.put("burst", fmt.Sprint(l.burst), "0")
		f.put("at once", fmt.Sprint(prompt), "")
		f.put("waiting", fmt.Sprint(waiting), "0")
	case byConn:
		if l.least > 0 {
			f.put("at once", fmt.Sprintf("what it finds, %d to %d", l.least, l.places), "")
			break
		}
		f.put("at once", fmt.Sprint(l.places), "")
	default:
		cost := fmt.Sprint(l.cost)
		for _, s := range l.varying {
			cost = s.text
		}
		f.put("cost", cost, "1")
	}
	f.put("without its store", string(l.fail), "")
	if l.canary.Set {
		f.put("canary", l.canary.Share.String(), "")
	}
	if l.held > 0 {
		f.put("reject delay", span(l.held), "")
	}
	return f
}

// ownDirectives are those of a name in http.
func ownDirectives(cfg *conf.Config, name string) []*conf.Directive {
	if http := cfg.HTTP(); http != nil {
		return http.Own(name)
	}
	return nil
}

// storesOf are the facts of stores; there are no secrets in them.
func storesOf(cfg *conf.Config) map[string]facts {
	list := map[string]facts{}
	for _, d := range ownDirectives(cfg, "limit_store") {
		f := facts{{"address", d.Arg(1), d.Arg(1)}}
		list[d.Arg(0)] = append(f, parameterFacts(d, 2)...)
	}
	return list
}

// rolloutsOf are the facts of rollouts. Of a webhook only the host is told: its address is a secret.
func rolloutsOf(cfg *conf.Config) map[string]facts {
	list := map[string]facts{}
	for _, d := range ownDirectives(cfg, "limit_rollout") {
		p, good := conf.ReadLimitRollout(d, &conf.Errors{})
		if !good {
			continue
		}
		var f facts
		f.put("zones", strings.Join(p.Zones, " "), "")
		f.put("steps", fmt.Sprint(p.Steps), "")
		f.put("interval", span(p.Interval), "")
		f.put("window", span(p.Window), "")
		f.put("min requests", fmt.Sprint(p.MinRequests), "")
		for i, s := range p.Stops {
			f.put(fmt.Sprintf("stop %d", i+1), s.String(), "")
		}
		if u, err := url.Parse(p.Webhook); err == nil && p.Webhook != "" {
			f = append(f, fact{"webhook", "at " + u.Host, p.Webhook})
		}
		list[p.Name] = f
	}
	return list
}

// bandwidthOf are the facts of zones that count bytes.
func bandwidthOf(cfg *conf.Config) map[string]facts {
	list := map[string]facts{}
	for _, d := range ownDirectives(cfg, "limit_bandwidth_zone") {
		f, name := facts{{"key", d.Arg(0), d.Arg(0)}}, ""
		for _, p := range parameterFacts(d, 1) {
			if p.name == "zone" {
				var size string
				name, size, _ = strings.Cut(p.shown, ":")
				p = fact{"size", size, size}
			}
			f = append(f, p)
		}
		list[name] = f
	}
	return list
}

func parameterFacts(d *conf.Directive, from int) (f facts) {
	for i := from; i < len(d.Args); i++ {
		name, value, _ := strings.Cut(d.Arg(i), "=")
		f = append(f, fact{name, value, value})
	}
	return f
}

// tablesOf are the blocks that make variables which a limit's key or numbers come from, by the name of the variable.
func (s side) tablesOf() map[string]*conf.Directive {
	made := map[string]*conf.Directive{}
	for _, scope := range s.scopes {
		for _, d := range scope.Own("map", "geo", "split_clients") {
			if d.Block != nil && len(d.Args) > 0 {
				made[strings.ToLower(strings.TrimPrefix(d.Args[len(d.Args)-1].Text, "$"))] = d
			}
		}
	}
	used := map[string]*conf.Directive{}
	var follow func(text string)
	follow = func(text string) {
		for _, name := range names(text) {
			d := made[name]
			if d == nil || used[name] != nil {
				continue
			}
			used[name] = d
			for _, a := range d.Args[:len(d.Args)-1] {
				follow(a.Text)
			}
			for _, row := range d.Block.Directives {
				follow(row.Arg(0))
			}
		}
	}
	for _, z := range s.zones {
		follow(z.key.Text)
		for _, v := range z.varying {
			follow(v.text)
		}
	}
	for _, l := range s.limits {
		for _, v := range l.varying {
			follow(v.text)
		}
	}
	for _, name := range [...]string{"limit_rate", "limit_rate_after"} {
		s.each(name, func(d *conf.Directive) { follow(d.Arg(0)) })
	}
	return used
}

// namedRows is how many rows of a geo are named; beyond they are counted.
const namedRows = 8

// rowsOf tells what differs between two tables: networks of geo by name, all else by number.
func rowsOf(was, is *conf.Directive) []Figure {
	before, after := rows(was), rows(is)
	all := maps.Clone(before)
	maps.Copy(all, after)
	var differ []Figure
	added, removed, changed := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b, had := before[name]
		a, has := after[name]
		switch {
		case !had:
			added++
		case !has:
			removed++
		case a != b:
			changed++
		default:
			continue
		}
		differ = append(differ, Figure{name, b, a})
	}
	geo := (was == nil || was.Name == "geo") && (is == nil || is.Name == "geo")
	if len(differ) == 0 || geo && len(differ) <= namedRows {
		return differ
	}
	var counts []Figure
	for _, c := range [...]struct {
		name string
		n    int
	}{{"rows added", added}, {"rows removed", removed}, {"rows changed", changed}} {
		if c.n > 0 {
			counts = append(counts, Figure{Name: c.name, Is: fmt.Sprint(c.n)})
		}
	}
	return counts
}

// rows are the lines of a table by what they stand for.
func rows(d *conf.Directive) map[string]string {
	list := map[string]string{}
	if d == nil {
		return list
	}
	for i, a := range d.Args[:len(d.Args)-1] {
		list[fmt.Sprintf("argument %d", i+1)] = a.Text
	}
	for _, row := range d.Block.Directives {
		if list[row.Name] = strings.Join(words(row), " "); list[row.Name] == "" {
			list[row.Name] = `""` // no key: what is exempt
		}
	}
	return list
}

func words(d *conf.Directive) []string {
	list := make([]string, len(d.Args))
	for i, a := range d.Args {
		list[i] = a.Text
	}
	return list
}

// settingID is a directive of a name in a place.
type settingID struct{ place, name string }

// isSetting reports whether a directive is one around limits that is compared by its place.
func isSetting(name string) bool {
	switch name {
	case "limit_except", "limit_store", "limit_bandwidth_zone", "limit_rollout":
		return false
	case "set_real_ip_from", "real_ip_header", "real_ip_recursive":
		return true
	}
	if k, found := strings.CutSuffix(name, "_zone"); found && slices.Contains(kinds(), kind(k)) {
		return false
	}
	return strings.HasPrefix(name, "limit_") && !slices.Contains(kinds(), kind(name))
}

func (s side) settingsOf() map[settingID][]*conf.Directive {
	list := map[settingID][]*conf.Directive{}
	for _, scope := range s.scopes {
		for _, d := range scope.Directives {
			if isSetting(d.Name) {
				id := settingID{s.places[scope], d.Name}
				list[id] = append(list[id], d)
			}
		}
	}
	return list
}

// settingFigures compares a directive as it is written: one that may stand several times by what was added and what went.
func settingFigures(was, is []*conf.Directive) []Figure {
	before, after := values(was), values(is)
	slices.Sort(before)
	slices.Sort(after)
	if slices.Equal(before, after) {
		return nil
	}
	if len(before) <= 1 && len(after) <= 1 && !repeats(was) && !repeats(is) {
		return []Figure{{"value", strings.Join(before, ""), strings.Join(after, "")}}
	}
	var list []Figure
	for _, v := range after {
		if !slices.Contains(before, v) {
			list = append(list, Figure{Name: "entry", Is: v})
		}
	}
	for _, v := range before {
		if !slices.Contains(after, v) {
			list = append(list, Figure{Name: "entry", Was: v})
		}
	}
	return list
}

func repeats(list []*conf.Directive) bool {
	return len(list) > 0 && list[0].Spec != nil && list[0].Spec.Repeat
}

// values are the values of directives; of those that may stand several times each argument is one.
func values(list []*conf.Directive) []string {
	var texts []string
	for _, d := range list {
		switch {
		case d.Block != nil:
			texts = append(texts, strings.Join(words(d), " ")+" "+block(d.Block))
		case repeats(list):
			texts = append(texts, words(d)...)
		default:
			texts = append(texts, strings.Join(words(d), " "))
		}
	}
	return texts
}

func block(s *conf.Scope) string {
	var b strings.Builder
	b.WriteString("{ ")
	for _, d := range s.Directives {
		b.WriteString(d.Name + " " + strings.Join(words(d), " "))
		if d.Block != nil {
			b.WriteString(" " + block(d.Block))
		}
		b.WriteString("; ")
	}
	return b.String() + "}"
}

package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The keys, by where they are read. Those of the last line are additions of limitgate.
var (
	fileKeys       = []string{"domain", "descriptors"}
	descriptorKeys = []string{"key", "value", "rate_limit", "descriptors", "shadow_mode", "quota_mode", "detailed_metric", "value_to_metric", "share_threshold", "metadata"}
	limitKeys      = []string{"unit", "requests_per_unit", "unlimited", "name", "replaces",
		"unit_multiplier", "algorithm", "burst", "fail", "lease", "concurrency", "hold"}
	replacesKeys = []string{"name"}
)

// places says where a key is read, for messages.
var places = []struct {
	keys []string
	at   string
}{
	{fileKeys, "at the top of the file"},
	{descriptorKeys, "beside the key of a descriptor"},
	{limitKeys, "below rate_limit"},
	{replacesKeys, "below replaces"},
}

// Read reads a file. A File without errors can be compiled; what is warned of was passed over.
func Read(s Source) (*File, Errors, Errors) {
	r := &reader{file: s.Name, most: spareNodes + nodesPerByte*len(s.Text)}
	f := &File{Pos: Pos{File: s.Name}}
	if n := r.document(s.Text); n != nil {
		f.Pos = r.at(n)
		r.readFile(f, n)
	}
	byPlace := func(a, b *Error) int { return cmp.Or(a.Pos.Line-b.Pos.Line, a.Pos.Col-b.Pos.Col) }
	slices.SortStableFunc(r.errs, byPlace)
	slices.SortStableFunc(r.warnings, byPlace)
	if f.Domain == "" && len(r.errs) == 0 {
		r.errs = append(r.errs, &Error{Pos: f.Pos, Code: EmptyDomain, Text: "the file names no domain", Help: "write domain: and the domain that Envoy's configuration names"})
	}
	return f, r.errs, r.warnings
}

// known gives the pairs of a map whose keys are read there. A key that nobody knows is an error, one that belongs elsewhere a warning.
func (r *reader) known(n *yaml.Node, depth int, keys []string) []pair {
	if n.Kind != yaml.MappingNode {
		if !null(n) {
			r.fail(n, NotAMap, "write key: value lines", "this is %s where a map is meant", shown(n))
		}
		return nil
	}
	list := r.pairs(n, depth)
	return slices.DeleteFunc(list, func(p pair) bool {
		if slices.Contains(keys, p.name) {
			return false
		}
		r.stranger(p, keys)
		return true
	})
}

// stranger tells of a key that is not read where it stands.
func (r *reader) stranger(p pair, here []string) {
	at := ""
	for _, pl := range places {
		if slices.Contains(pl.keys, p.name) {
			if at != "" {
				at += " or "
			}
			at += pl.at
		}
	}
	if at != "" {
		r.warn(p.key, Misplaced, "write it "+at, "%q is not read here, and changes nothing", p.name)
		r.below(p.value, 1)
		return
	}
	help := "known here: " + strings.Join(here, ", ")
	if near := nearest(p.name, here); near != "" {
		help = "did you mean " + near + "?"
	}
	r.fail(p.key, UnknownKey, help, "unknown key %q", p.name)
}

// below looks for unknown keys in what is not read, because envoyproxy/ratelimit refuses them anywhere.
func (r *reader) below(n *yaml.Node, depth int) {
	n, ok := r.enter(n, depth)
	if !ok {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for _, p := range r.pairs(n, depth) {
			all := slices.Concat(fileKeys, descriptorKeys, limitKeys)
			if !slices.Contains(all, p.name) {
				r.stranger(p, all)
			} else if p.name != "metadata" {
				r.below(p.value, depth+1)
			}
		}
	case yaml.SequenceNode:
		r.maps(n, depth, "a list", func(e *yaml.Node) { r.below(e, depth+1) })
	}
}

// nearest is the word that a misspelt one may mean: the same letters but for _ and case, or one edit away.
func nearest(word string, words []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
	}
	for _, w := range words {
		if plain(w) == plain(word) || oneEdit(w, word) {
			return w
		}
	}
	return ""
}

// oneEdit tells whether one letter more, less or other makes a of b.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(a) < 3 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i < len(a) && a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}

// maps calls f with each element of a list of maps.
func (r *reader) maps(n *yaml.Node, depth int, what string, f func(*yaml.Node)) {
	n, ok := r.enter(n, depth)
	switch {
	case !ok || null(n):
		return
	case n.Kind != yaml.SequenceNode:
		r.fail(n, BadValue, "begin each element with a dash", "%s is a list, and this is none", what)
		return
	}
	for _, e := range n.Content {
		e, ok := r.enter(e, depth)
		if !ok {
			return
		}
		if e.Kind != yaml.MappingNode {
			r.fail(e, ListOfNonMaps, "write each element as - and key: value lines", "%s holds %s, which is no map", what, shown(e))
			continue
		}
		f(e)
	}
}

func (r *reader) readFile(f *File, n *yaml.Node) {
	n, ok := r.enter(n, 0)
	if !ok {
		return
	}
	for _, p := range r.known(n, 0, fileKeys) {
		switch p.name {
		case "domain":
			f.Domain = r.text(p)
		case "descriptors":
			f.Descriptors = r.descriptors(p.value, 1)
		}
	}
}

func (r *reader) descriptors(n *yaml.Node, depth int) []Descriptor {
	var list []Descriptor
	r.maps(n, depth, "descriptors", func(e *yaml.Node) { list = append(list, r.descriptor(e, depth+1)) })
	return list
}

func (r *reader) descriptor(n *yaml.Node, depth int) Descriptor {
	d := Descriptor{Pos: r.at(n)}
	for _, p := range r.known(n, depth, descriptorKeys) {
		switch p.name {
		case "key":
			d.Key = r.text(p)
		case "value":
			d.Value = r.text(p)
		case "rate_limit":
			d.Limit = r.limit(p, depth+1)
		case "descriptors":
			d.Descriptors = r.descriptors(p.value, depth+1)
		case "shadow_mode":
			d.Shadow = r.flag(p)
		case "quota_mode":
			d.Quota = r.flag(p)
		case "detailed_metric":
			d.Detailed = r.flag(p)
		case "value_to_metric":
			d.ValueToMetric = r.flag(p)
		case "share_threshold":
			d.ShareThreshold = r.flag(p)
		case "metadata":
			d.Metadata = r.metadata(p, depth+1)
		}
	}
	return d
}

func (r *reader) metadata(p pair, depth int) map[string]any {
	n, ok := r.enter(p.value, depth)
	if !ok || null(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, BadMetadata, "write key: value lines below it", "metadata is %s, and must be a map", shown(n))
		return nil
	}
	m, _ := r.free(n, depth).(map[string]any)
	return m
}

func (r *reader) limit(p pair, depth int) *Limit {
	n, ok := r.enter(p.value, depth)
	if !ok || null(n) {
		return nil
	}
	l := &Limit{Pos: r.at(n), Multiplier: 1, Hold: DefaultHold}
	var unit, hold *pair
	for _, p := range r.known(n, depth, limitKeys) {
		switch p.name {
		case "unit":
			l.Unit, unit = r.unit(p), &p
		case "requests_per_unit":
			l.Requests = r.number(p)
		case "unlimited":
			l.Unlimited = r.flag(p)
		case "name":
			l.Name = r.text(p)
		case "replaces":
			l.Replaces = r.replaces(p, depth+1)
		case "unit_multiplier":
			l.Multiplier = r.multiplier(p)
		case "algorithm":
			l.Algorithm = Algorithm(r.oneOf(p, algorithmNames[:], BadAlgorithm))
		case "burst":
			l.Burst, l.HasBurst = r.number(p), true
		case "fail":
			l.Fail = Fail(r.oneOf(p, failNames[:], BadFail))
		case "lease":
			l.Lease = r.flag(p)
		case "concurrency":
			if l.Places = r.number(p); l.Places == 0 || l.Places > maxPlaces {
				r.fail(p.value, BadValue, "write a number between 1 and 65535", "concurrency is %d", l.Places)
			}
		case "hold":
			hold = &p
			l.Hold = r.duration(p)
		}
	}
	r.limitFits(l, n, unit, hold)
	return l
}

const (
	// DefaultHold is how long a place is held that nobody renews or releases.
	DefaultHold = 30 * time.Second

	maxPlaces = 65_535
)

// unit reads a unit. What is none is told by limitFits, which knows whether one is needed.
func (r *reader) unit(p pair) Unit {
	u, ok := ParseUnit(r.text(p))
	if !ok {
		return badUnit
	}
	return u
}

const badUnit Unit = 255

func (r *reader) multiplier(p pair) uint32 {
	m := r.number(p)
	if m == 0 {
		r.fail(p.value, BadValue, "write 1 or more, or leave it out", "unit_multiplier is 0")
		return 1
	}
	return m
}

// oneOf reads one of some words, and gives its number.
func (r *reader) oneOf(p pair, words []string, code Code) int {
	word := r.text(p)
	if i := slices.Index(words, word); i >= 0 {
		return i
	}
	r.fail(p.value, code, "write one of "+strings.Join(words, ", "), "%s %q is not known", p.name, word)
	return 0
}

// duration reads a time such as 30s.
func (r *reader) duration(p pair) time.Duration {
	d, err := time.ParseDuration(r.text(p))
	if err != nil || d < time.Second || d > 24*time.Hour {
		r.fail(p.value, BadValue, "write a time between 1s and 24h, such as 30s", "%s is %s", p.name, shown(p.value))
		return DefaultHold
	}
	return d
}

func (r *reader) replaces(p pair, depth int) []string {
	var names []string
	r.maps(p.value, depth, "replaces", func(e *yaml.Node) {
		name := ""
		for _, p := range r.known(e, depth+1, replacesKeys) {
			name = r.text(p)
		}
		names = append(names, name)
	})
	return names
}

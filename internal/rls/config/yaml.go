package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What a file may make of the reader: an alias that holds others costs as much as what it stands for. A file without any makes less than
// two parts of a byte, however long it is.
const (
	maxDepth     = 64
	spareNodes   = 200_000
	nodesPerByte = 2
	maxTold      = 100 // mistakes, of each sort
)

// reader reads one file. It notes what is wrong and goes on.
type reader struct {
	file     string
	nodes    int  // entered
	most     int  // that may be
	stopped  bool // there were too many: what is missed from now on is not the file's mistake
	errs     Errors
	warnings Errors
}

// at is the place of a node.
func (r *reader) at(n *yaml.Node) Pos { return Pos{File: r.file, Line: n.Line, Col: n.Column} }

func (r *reader) fail(n *yaml.Node, code Code, help, format string, args ...any) {
	if len(r.errs) >= maxTold || r.stopped {
		return
	}
	r.errs = append(r.errs, &Error{Pos: r.at(n), Code: code, Text: fmt.Sprintf(format, args...), Help: help})
}

func (r *reader) warn(n *yaml.Node, code Code, help, format string, args ...any) {
	if len(r.warnings) >= maxTold {
		return
	}
	r.warnings = append(r.warnings, &Error{Pos: r.at(n), Code: code, Text: fmt.Sprintf(format, args...), Help: help})
}

// yamlLine finds the line in an error of the YAML library.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document parses the text as YAML and gives its first document; nil where there is none or it is wrong. As in envoyproxy/ratelimit
// further documents are not read.
func (r *reader) document(text []byte) *yaml.Node {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		pos := Pos{File: r.file, Line: 1, Col: 1}
		why := err.Error()
		if m := yamlLine.FindStringSubmatch(why); m != nil {
			why = why[len(m[0]):]
			if n, err := strconv.Atoi(m[1]); err == nil {
				pos.Line = n
			}
		}
		r.errs = append(r.errs, &Error{Pos: pos, Code: YAMLSyntax, Text: "this is not YAML: " + why, Help: "look for a quote or bracket that is not closed, a tab, or a line that is not indented like its neighbours"})
		return nil
	}
	if err := d.Decode(&more); err == nil && len(more.Content) > 0 {
		r.warn(more.Content[0], SeveralDocuments, "give each domain a file of its own", "a second document begins here: it is not read")
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// enter counts a node that is read at a depth, follows it if it is an alias, and reports whether that may go on.
func (r *reader) enter(n *yaml.Node, depth int) (*yaml.Node, bool) {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	r.nodes++
	if depth <= maxDepth && r.nodes <= r.most {
		return n, true
	}
	r.nodes = r.most
	r.fail(n, TooDeep, "take out anchors that hold each other", "the file is nested more than %d deep or its anchors make more than %d parts of it", maxDepth, r.most)
	r.stopped = true
	return n, false
}

// null tells whether a node says nothing.
func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pair is a key and its value.
type pair struct {
	name  string
	key   *yaml.Node
	value *yaml.Node
}

// pairs are those of a map, in order.
type pairs struct {
	list []pair
	at   map[string]int // in list, by name
}

// pairs gives what a map has, merges included: of a key that is there twice the last one counts, and what is merged gives way to
// what is written.
func (r *reader) pairs(n *yaml.Node, depth int) []pair {
	all := pairs{at: map[string]int{}}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merged = append(merged, v)
			continue
		}
		k, ok := r.enter(k, depth)
		if !ok {
			return all.list
		}
		if k.Kind != yaml.ScalarNode || k.Tag != "!!str" {
			r.fail(k, KeyNotText, "keys are words such as domain, descriptors, key, rate_limit", "a key is no text")
			continue
		}
		r.set(&all, pair{k.Value, k, v}, true)
	}
	for _, m := range merged {
		r.merge(&all, m, depth+1)
	}
	return all.list
}

// set adds a pair; replace is for one that stands in the map itself.
func (r *reader) set(all *pairs, p pair, replace bool) {
	i, twice := all.at[p.name]
	switch {
	case !twice:
		all.at[p.name] = len(all.list)
		all.list = append(all.list, p)
	case replace:
		r.warn(p.key, Twice, "take one of them out", "%q is here for the second time: the first, in line %d, does not count", p.name, all.list[i].key.Line)
		all.list[i] = p
	}
}

// merge adds what <<: brings.
func (r *reader) merge(all *pairs, m *yaml.Node, depth int) {
	m, ok := r.enter(m, depth)
	if !ok {
		return
	}
	switch m.Kind {
	case yaml.MappingNode:
		for _, p := range r.pairs(m, depth) {
			r.set(all, p, false)
		}
	case yaml.SequenceNode:
		for _, e := range m.Content {
			r.merge(all, e, depth+1)
		}
	default:
		r.fail(m, BadValue, "write <<: *name of a map", "what is merged here is no map")
	}
}

// text reads a word: a scalar as it is written. Numbers with a point are refused, as envoyproxy/ratelimit does: nobody knows whether
// 1.10 means the text or the number.
func (r *reader) text(p pair) string {
	n, ok := r.enter(p.value, 0)
	switch {
	case !ok || null(n):
		return ""
	case n.Kind != yaml.ScalarNode:
		r.fail(n, BadValue, "write one word or number, in quotes if it has : or # in it", "%q needs a text, and this is a list or a map", p.name)
	case n.Tag == "!!float":
		r.fail(n, BadValue, fmt.Sprintf("write %q in quotes", n.Value), "%q is %s, which YAML takes for a fraction, where a text is meant", p.name, n.Value)
	default:
		return n.Value
	}
	return ""
}

// flag reads yes or no.
func (r *reader) flag(p pair) bool {
	n, ok := r.enter(p.value, 0)
	if !ok || null(n) {
		return false
	}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on", "y":
			return true
		case "false", "no", "off", "n":
			return false
		}
	}
	r.fail(n, BadValue, "write true or false, without quotes", "%q is neither true nor false", p.name)
	return false
}

// number reads a count.
func (r *reader) number(p pair) uint32 {
	n, ok := r.enter(p.value, 0)
	if !ok || null(n) {
		return 0
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		if v, err := strconv.ParseUint(strings.ReplaceAll(n.Value, "_", ""), 0, 32); err == nil {
			return uint32(v)
		}
	}
	r.fail(n, BadValue, "write a whole number, without quotes", "%q is %s, which is not a whole number between 0 and 4294967295", p.name, shown(n))
	return 0
}

// shown is a node as messages quote it.
func shown(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return "a list or a map"
	}
	return strconv.Quote(n.Value)
}

// free reads what has no form: metadata.
func (r *reader) free(n *yaml.Node, depth int) any {
	n, ok := r.enter(n, depth)
	if !ok {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, p := range r.pairs(n, depth) {
			m[p.name] = r.free(p.value, depth+1)
		}
		return m
	case yaml.SequenceNode:
		l := make([]any, len(n.Content))
		for i, e := range n.Content {
			l[i] = r.free(e, depth+1)
		}
		return l
	}
	var v any
	if err := n.Decode(&v); err != nil {
		r.fail(n, BadMetadata, "write text in quotes", "the value can't be read: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	switch v := v.(type) {
	case nil, bool, string, float64:
		return v
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	r.fail(n, BadMetadata, "write it in quotes", "metadata can't hold %s: only text, numbers, true, false, lists and maps", shown(n))
	return nil
}

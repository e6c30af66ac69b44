package conf

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// Context is the kind of a block, or a set of kinds.
type Context uint32

// The kinds of blocks.
const (
	Main Context = 1 << iota
	Events
	HTTP
	Server
	Location
	IfServer    // if in a server
	IfLocation  // if in a location
	LimitExcept // limit_except in a location
	Upstream
	MapBody
	GeoBody
	TypesBody
	SplitBody
	Rollout      // limit_rollout in http
	OtelExporter // otel_exporter in http
)

// bodies are the blocks whose lines are rows of a table, not directives.
const bodies = MapBody | GeoBody | TypesBody | SplitBody

func contextNames() [15]string {
	return [...]string{"main", "events", "http", "server", "location", "if in server", "if in location", "limit_except",
		"upstream", "map", "geo", "types", "split_clients", "limit_rollout", "otel_exporter"}
}

// String returns the names of the kinds in c, joined with ", ".
func (c Context) String() string {
	var names []string
	for i, name := range contextNames() {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Config is a checked configuration.
type Config struct {
	Main  *Scope
	Files []File
	Tree  *syntax.Tree // what the scopes were built from, for whoever writes the files anew

	// Lacks are the directives that were left out because limitgate does not have them. Each is a fault too.
	Lacks []Lack
}

// Lack is a directive that limitgate does not have.
type Lack struct {
	Name string
	Pos  Pos
	Spec *Spec // what is known of it; nil where nginx does not have it either
}

// HTTP returns the http block, or nil where the file has none.
func (c *Config) HTTP() *Scope {
	for _, s := range c.Main.Children {
		if s.Kind == HTTP {
			return s
		}
	}
	return nil
}

// Scope is a block, or the file as a whole, with what stands directly in it. It does not change after Load.
type Scope struct {
	Kind       Context
	Opener     *Directive // the directive that opens the block; nil for Main
	Parent     *Scope     // nil for Main
	Directives []*Directive
	Children   []*Scope // the blocks in it, in order

	// Place is the parsed address of a location; nil for other kinds.
	Place *Place

	byName map[string][]*Directive
}

// Own returns the directives of these names that stand in the scope itself, in the order of the file.
func (s *Scope) Own(names ...string) []*Directive {
	if len(names) == 1 {
		return s.byName[names[0]]
	}
	var list []*Directive
	for _, d := range s.Directives {
		for _, name := range names {
			if d.Name == name {
				list = append(list, d)
			}
		}
	}
	return list
}

// Get returns the directive of this name that is in force here: the one in the nearest scope that has it, as far as its
// merge rule lets it be inherited. Where one may stand several times it is the last.
func (s *Scope) Get(name string) (*Directive, bool) {
	list := s.All(name)
	if len(list) == 0 {
		return nil, false
	}
	return list[len(list)-1], true
}

// All returns the directives of these names that are in force here: those of the nearest scope that has any, as a whole.
// Several names make one list with one inheritance (allow and deny).
func (s *Scope) All(names ...string) []*Directive {
	for at := s; at != nil; at = at.Parent {
		if list := at.Own(names...); len(list) > 0 && inherits(list[0].Spec, at, s) {
			return list
		}
	}
	return nil
}

// inherits reports whether a directive that stands in scope from is in force in scope to, which is from or inside it.
func inherits(spec *Spec, from, to *Scope) bool {
	if from == to {
		return true
	}
	if spec == nil {
		return false
	}
	switch spec.Merge {
	case Own:
		return false
	case Handler:
		for ; to != from; to = to.Parent {
			if to.Kind&(IfServer|IfLocation|LimitExcept) == 0 {
				return false
			}
		}
	}
	return true
}

// Walk calls visit for the scope and all in it, outer ones first, in the order of the file.
func (s *Scope) Walk(visit func(*Scope)) {
	visit(s)
	for _, child := range s.Children {
		child.Walk(visit)
	}
}

// Enclosing returns the nearest scope of one of these kinds: s itself or one around it.
func (s *Scope) Enclosing(kinds Context) *Scope {
	for ; s != nil; s = s.Parent {
		if s.Kind&kinds != 0 {
			return s
		}
	}
	return nil
}

// Directive is one directive in its scope. In a map, geo or types block it is a row: Name is the first word, and Spec is
// nil.
type Directive struct {
	Name  string
	Pos   Pos
	Args  []Word
	Spec  *Spec  // what the table says; nil for a row
	Scope *Scope // where it stands
	Block *Scope // what it opens; nil if it has no block
	Close Pos    // the end of that block
}

// Arg returns the text of argument i, counted from 0, or "" if there are not that many.
func (d *Directive) Arg(i int) string {
	if i < 0 || i >= len(d.Args) {
		return ""
	}
	return d.Args[i].Text
}

// At returns the place of argument i, or of the directive if there are not that many.
func (d *Directive) At(i int) Pos {
	if i < 0 || i >= len(d.Args) {
		return d.Pos
	}
	return d.Args[i].Pos
}

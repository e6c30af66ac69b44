package conf

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// checker builds the scopes of one configuration and checks each directive as it is met, in the order of loading.
type checker struct {
	errs    *Errors
	table   map[string][]*Spec
	noted   map[string]bool      // accepted directives that had their notice
	formats map[string]bool      // log formats declared so far
	buffers map[string]buffering // of access logs by path
	zones   zoneSet
	sockets map[string]*socket // by address, see Listen.Keys
	bodies  map[*Scope]*body
	lacks   []Lack
}

func newChecker(errs *Errors) *checker {
	c := &checker{errs: errs, table: map[string][]*Spec{}, noted: map[string]bool{}, formats: map[string]bool{}, buffers: map[string]buffering{},
		zones: zoneSet{byName: map[string]*zone{}}, sockets: map[string]*socket{}, bodies: map[*Scope]*body{}}
	table := Table()
	for i := range table {
		c.table[table[i].Name] = append(c.table[table[i].Name], &table[i])
	}
	return c
}

// build turns the tree into the main scope and all below it.
func (c *checker) build(tree *syntax.Tree) *Scope {
	main := newScope(Main, nil, nil)
	c.fill(main, syntax.Flatten(tree.Globals))
	c.fill(main, syntax.Flatten(tree.Body))
	if len(tree.Files) > 0 {
		c.finish(main)
	}
	return main
}

func newScope(kind Context, opener *Directive, parent *Scope) *Scope {
	s := &Scope{Kind: kind, Opener: opener, Parent: parent, byName: map[string][]*Directive{}}
	if parent != nil {
		parent.Children = append(parent.Children, s)
	}
	return s
}

// fill puts directives into a scope.
func (c *checker) fill(s *Scope, list []*syntax.Directive) {
	for _, d := range list {
		if s.Kind&bodies != 0 {
			c.row(s, d)
			continue
		}
		spec := c.find(s, d)
		if spec == nil {
			continue
		}
		c.add(s, spec, d)
	}
}

// row puts one line of a map, geo or types block into its scope.
func (c *checker) row(s *Scope, d *syntax.Directive) {
	if d.Block {
		c.errs.Add(d.Pos, `unexpected "{"`, "a line of this block ends with \";\"; put a value with braces in quotes")
		return
	}
	if d.Name == "include" {
		if len(d.Args) != 1 {
			c.errs.Add(d.Pos, `invalid number of arguments in "include" directive`, "")
		}
		return
	}
	row := &Directive{Name: d.Name, Pos: d.Pos, Args: d.Args, Scope: s}
	s.Directives = append(s.Directives, row)
	c.checkRow(s, row)
}

// closed checks a block when its end was read.
func (c *checker) closed(d *Directive) {
	switch d.Block.Kind {
	case Upstream:
		c.upstreamClosed(d)
	case SplitBody:
		c.splitClosed(d)
	case Rollout:
		c.rolloutClosed(d)
	case OtelExporter:
		c.exporterClosed(d)
	case HTTP:
		c.errs.httpEnd = d.Close.Order
		d.Block.Walk(c.duplicateLocations)
		c.proxyBuffers(d)
	}
}

// finish checks what nginx checks when all was read.
func (c *checker) finish(main *Scope) {
	if len(main.Own("events")) == 0 {
		c.errs.Late(AtStart, Pos{}, `no "events" section in configuration`, "add events {} at the top level")
	}
	c.undeclaredZones()
	for _, s := range main.Children {
		if s.Kind == HTTP {
			c.stores(s)
			c.rollouts(s)
		}
	}
}

// add checks one directive and hangs it into its scope, with its block.
func (c *checker) add(s *Scope, spec *Spec, d *syntax.Directive) {
	dir := &Directive{Name: d.Name, Pos: d.Pos, Args: d.Args, Spec: spec, Scope: s, Close: d.Close}
	if c.duplicate(s, dir) {
		return
	}
	s.Directives = append(s.Directives, dir)
	s.byName[d.Name] = append(s.byName[d.Name], dir)
	c.note(dir)
	if spec.Opens != 0 {
		dir.Block = newScope(opens(spec, s), dir, s)
	}
	if spec.check != nil {
		spec.check(c, dir)
	}
	if dir.Block != nil {
		c.fill(dir.Block, syntax.Flatten(d.Body))
		c.closed(dir)
	}
}

// opens returns the kind of block a directive opens in scope s.
func opens(spec *Spec, s *Scope) Context {
	if spec.Opens&(IfServer|IfLocation) == 0 {
		return spec.Opens
	}
	if s.Kind == Server {
		return IfServer
	}
	return IfLocation
}

// find returns what the table says of a directive in this scope, or nil after reporting why it can't stand here.
func (c *checker) find(s *Scope, d *syntax.Directive) *Spec {
	specs := c.table[d.Name]
	if len(specs) == 0 {
		c.lacks = append(c.lacks, Lack{Name: d.Name, Pos: d.Pos})
		c.errs.Add(d.Pos, `unknown directive "`+d.Name+`"`, c.suggest(d.Name, s.Kind))
		return nil
	}
	var allowed Context
	for _, spec := range specs {
		if spec.Status == Missing {
			c.lacks = append(c.lacks, Lack{d.Name, d.Pos, spec})
			c.errs.Add(d.Pos, `"`+d.Name+`" directive is not supported by limitgate`, spec.Doc)
			return nil
		}
		if spec.Contexts&s.Kind != 0 {
			return c.shape(spec, d)
		}
		allowed |= spec.Contexts
	}
	c.errs.Add(d.Pos, `"`+d.Name+`" directive is not allowed here`, "it may stand in: "+allowed.String())
	return nil
}

// shape checks the block and the number of arguments.
func (c *checker) shape(spec *Spec, d *syntax.Directive) *Spec {
	n := len(d.Args)
	switch {
	case spec.Opens == 0 && d.Block:
		c.errs.Add(d.Pos, `directive "`+d.Name+`" is not terminated by ";"`, "it has no block")
	case spec.Opens != 0 && !d.Block:
		c.errs.Add(d.Pos, `directive "`+d.Name+`" has no opening "{"`, "")
	case n < spec.Min || spec.Max != Any && n > spec.Max:
		c.errs.Add(d.Pos, `invalid number of arguments in "`+d.Name+`" directive`, "usage: "+spec.Form())
	default:
		return spec
	}
	return nil
}

// duplicate reports a directive that may stand only once in its scope and was there before.
func (c *checker) duplicate(s *Scope, d *Directive) bool {
	if d.Spec.Repeat || len(s.byName[d.Name]) == 0 {
		return false
	}
	first := s.byName[d.Name][0]
	c.errs.Add(d.Pos, `"`+d.Name+`" directive is duplicate`, "the first is at "+first.Pos.String())
	return true
}

// note tells once of each directive that has no effect.
func (c *checker) note(d *Directive) {
	if d.Spec.Status != Accepted || c.noted[d.Name] {
		return
	}
	c.noted[d.Name] = true
	c.errs.Mention(d.Pos, `"`+d.Name+`" directive is accepted and has no effect`, d.Spec.Doc)
}

// suggest returns a help line for an unknown name: the known name that is closest to it in this kind of block.
func (c *checker) suggest(name string, in Context) string {
	if name == "ssl" { // went away with nginx 1.25
		return `write ssl behind the address, in listen: "listen 443 ssl;"`
	}
	best, distance := "", 3
	for known, specs := range c.table {
		for _, spec := range specs {
			if spec.Status == Missing || spec.Contexts&in == 0 {
				continue
			}
			if d := editDistance(name, known); d < distance || d == distance && best != "" && known < best {
				best, distance = known, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return `did you mean "` + best + `"?`
}

// editDistance counts the single-byte changes between two names; names that differ a lot in length are far apart.
func editDistance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// hasVariable reports whether text uses variables.
func hasVariable(text string) bool {
	return strings.IndexByte(text, '$') >= 0
}

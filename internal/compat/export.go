package compat

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// Change is one place where an export differs from what was read.
type Change struct {
	File string
	Line int
	What string // in words: what was left out or written otherwise, and what that means
}

// Export is a configuration as nginx reads it.
type Export struct {
	Text    []byte // of the main file; files it includes stand in it where they had to change
	Changes []Change
}

// ToNginx returns the configuration in a file without what only limitgate has. Everything else, comments too, stays byte
// for byte. A configuration that limitgate refuses is not exported: its faults are returned.
func ToNginx(file string, disk conf.Disk) (Export, []*conf.Error) {
	cfg, errs := conf.Load(conf.Options{Path: file, Disk: disk})
	if errs.Failed() {
		return Export{}, errs.List()
	}
	tree := cfg.Tree
	e := newExporter(tree)
	e.walk(tree.Body, "main")
	x := Export{Text: e.text(tree.Files[0].Name, tree.Body)}
	slices.SortStableFunc(e.changes, func(a, b placed) int { return a.order - b.order })
	for _, c := range e.changes {
		x.Changes = append(x.Changes, c.Change)
	}
	return x, nil
}

// edit replaces a part of a file.
type edit struct {
	from, to int
	text     string
}

type placed struct {
	Change
	order int
}

// exporter collects edits, by file.
type exporter struct {
	files   map[string][]byte
	edits   map[string]map[int]edit // by where they begin: a file that is included twice is edited once
	changes []placed
	maps    map[string][]*syntax.Directive // the rows of each map block, by its variable
	gone    map[string]bool                // zones that nginx can't have
	beyond  map[string]bool                // directives that only limitgate has
}

func newExporter(tree *syntax.Tree) *exporter {
	e := &exporter{files: map[string][]byte{}, edits: map[string]map[int]edit{}, maps: map[string][]*syntax.Directive{}, gone: map[string]bool{},
		beyond: map[string]bool{}}
	for _, s := range conf.Table() {
		e.beyond[s.Name] = s.Beyond
	}
	for _, f := range tree.Files {
		e.files[f.Name] = f.Bytes
	}
	e.prepare(tree.Body)
	return e
}

// prepare finds the maps, and the zones that have no counterpart in nginx, before anything that uses them is met.
func (e *exporter) prepare(list []*syntax.Directive) {
	for _, d := range syntax.Flatten(list) {
		switch {
		case d.Name == "map" && len(d.Args) == 2:
			e.maps[strings.ToLower(d.Args[1].Text)] = syntax.Flatten(d.Body)
		case d.Block:
			e.prepare(d.Body)
		}
	}
	for _, d := range syntax.Flatten(list) {
		if d.Name == "limit_req_zone" {
			if _, _, ok := e.reqZone(d); !ok {
				e.gone[zoneName(d)] = true
			}
		}
	}
}

// walk edits directives and all inside them.
func (e *exporter) walk(list []*syntax.Directive, block string) {
	for _, d := range syntax.Flatten(list) {
		switch block {
		case "map", "geo", "types", "split_clients":
			e.row(d)
			continue
		}
		e.directive(d)
		if d.Block && !e.beyond[d.Name] { // what is left out goes with all in it
			e.walk(d.Body, d.Name)
		}
	}
}

// change notes what an edit means.
func (e *exporter) change(d *syntax.Directive, format string, args ...any) {
	c := placed{Change{d.Pos.File, d.Pos.Line, fmt.Sprintf(format, args...)}, d.Pos.Order}
	e.changes = append(e.changes, c)
}

// remove takes a directive out, and its line with it where it stands alone there.
func (e *exporter) remove(d *syntax.Directive) {
	src := e.files[d.Pos.File]
	from, to := offset(src, d.Pos), offset(src, d.End)+1
	if d.Block {
		to = offset(src, d.Close) + 1
	}
	start, end := from, to
	for start > 0 && (src[start-1] == ' ' || src[start-1] == '\t') {
		start--
	}
	for end < len(src) && (src[end] == ' ' || src[end] == '\t' || src[end] == '\r') {
		end++
	}
	if (start == 0 || src[start-1] == '\n') && (end == len(src) || src[end] == '\n') {
		from, to = start, min(end+1, len(src))
	}
	e.put(d.Pos.File, edit{from, to, ""})
}

// rewrite gives a directive other arguments.
func (e *exporter) rewrite(d *syntax.Directive, args []string) {
	src := e.files[d.Pos.File]
	var b strings.Builder
	b.WriteString(syntax.Quote(d.Name))
	for _, a := range args {
		b.WriteByte(' ')
		b.WriteString(syntax.Quote(a))
	}
	if d.Block {
		b.WriteByte(' ')
	}
	e.put(d.Pos.File, edit{offset(src, d.Pos), offset(src, d.End), b.String()})
}

func (e *exporter) put(file string, x edit) {
	if e.edits[file] == nil {
		e.edits[file] = map[int]edit{}
	}
	e.edits[file][x.from] = x
}

// text applies the edits to a file. Files that it includes are put in their place if they have edits themselves.
func (e *exporter) text(file string, body []*syntax.Directive) []byte {
	src := e.files[file]
	var edits []edit
	for _, x := range e.edits[file] {
		edits = append(edits, x)
	}
	e.includes(file, body, func(d *syntax.Directive) {
		if x, changed := e.inline(d); changed {
			edits = append(edits, x)
		}
	})
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for _, x := range edits {
		if x.from < at {
			continue // inside a block that was taken out
		}
		out.Write(src[at:x.from])
		out.WriteString(x.text)
		at = x.to
	}
	out.Write(src[at:])
	return out.Bytes()
}

// includes calls visit for the include directives that stand in a file itself.
func (e *exporter) includes(file string, body []*syntax.Directive, visit func(*syntax.Directive)) {
	for _, d := range body {
		switch {
		case d.Pos.File != file:
		case d.Included != nil:
			visit(d)
		default:
			e.includes(file, d.Body, visit)
		}
	}
}

// inline makes the edit that puts included files in the place of their include, if any of them changes.
func (e *exporter) inline(d *syntax.Directive) (edit, bool) {
	var names []string
	bodies := map[string][]*syntax.Directive{}
	for _, in := range d.Included {
		if bodies[in.Pos.File] == nil {
			names = append(names, in.Pos.File)
		}
		bodies[in.Pos.File] = append(bodies[in.Pos.File], in)
	}
	var text bytes.Buffer
	changed := false
	for _, name := range names {
		t := e.text(name, bodies[name])
		changed = changed || !bytes.Equal(t, e.files[name])
		text.Write(bytes.TrimRight(t, "\n"))
		text.WriteByte('\n')
	}
	src := e.files[d.Pos.File]
	return edit{offset(src, d.Pos), offset(src, d.End) + 1, strings.TrimRight(text.String(), "\n")}, changed
}

// offset is the index of a place in its file.
func offset(src []byte, p conf.Pos) int {
	at := 0
	for line := 1; line < p.Line; line++ {
		at += bytes.IndexByte(src[at:], '\n') + 1
	}
	return at + p.Col - 1
}

package vars

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// Define reads what the http block defines: map, geo and split_clients, the targets of set, and named groups of regular expressions. First
// all names are made known, then the blocks are compiled, so that a variable may be used above its definition. Faults go
// to errs.
func (t *Table) Define(http *conf.Scope, errs *conf.Errors) {
	if http == nil {
		return
	}
	var blocks []block
	for _, d := range http.Own("map", "geo", "split_clients") {
		if d.Block == nil {
			continue
		}
		target := len(d.Args) - 1
		name, ok := variableName(d, target, errs)
		if !ok {
			continue
		}
		def, err := t.define(name)
		if err != nil {
			Report(errs, d.At(target), err)
			continue
		}
		blocks = append(blocks, block{d, def})
	}
	t.declare(http, errs)
	for _, b := range blocks {
		switch b.from.Name {
		case "map":
			t.compileMap(b.from, b.def, errs)
		case "geo":
			t.compileGeo(b.from, b.def, errs)
		default:
			t.compileSplit(b.from, b.def, errs)
		}
	}
}

type block struct {
	from *conf.Directive
	def  *definition
}

// declare makes the names known that no block defines.
func (t *Table) declare(http *conf.Scope, errs *conf.Errors) {
	http.Walk(func(s *conf.Scope) {
		if s.Place != nil && s.Place.IsRegexp() {
			t.groups(s.Opener, len(s.Opener.Args)-1, s.Place.Pattern, errs)
		}
		for _, d := range s.Directives {
			switch {
			case s.Kind == conf.MapBody:
				if pattern, ok := strings.CutPrefix(d.Name, "~"); ok {
					t.groups(d, -1, strings.TrimPrefix(pattern, "*"), errs)
				}
			case s.Kind == conf.GeoBody || s.Kind == conf.SplitBody:
			case d.Name == "set":
				t.target(d, errs)
			case d.Name == "auth_request_set":
				t.answered(d, errs)
			case d.Name == "rewrite":
				t.groups(d, 0, d.Arg(0), errs)
			case d.Name == "if":
				if c, good := conf.ReadCondition(d, &conf.Errors{}); good && c.Test == conf.Matches {
					t.groups(d, len(d.Args)-1, c.Value.Text, errs)
				}
			case d.Name == "server_name":
				for i := range d.Args {
					if pattern, ok := strings.CutPrefix(d.Arg(i), "~"); ok {
						t.groups(d, i, pattern, errs)
					}
				}
			}
		}
	})
}

// target makes the variable of a set directive known.
func (t *Table) target(d *conf.Directive, errs *conf.Errors) {
	name, ok := variableName(d, 0, errs)
	if !ok {
		return
	}
	if _, err := t.Setter(name); err != nil {
		Report(errs, d.At(0), err)
	}
}

// answered makes the variable of an auth_request_set directive known. Where only those set it, it has no value before.
func (t *Table) answered(d *conf.Directive, errs *conf.Errors) {
	name, _ := strings.CutPrefix(d.Arg(0), "$")
	known := t.defined[strings.ToLower(name)]
	t.target(d, errs)
	if made := t.defined[strings.ToLower(name)]; known == nil && made != nil {
		made.group = true
	}
}

// groups makes the named groups of an expression known. An expression that does not compile is for others to report.
func (t *Table) groups(d *conf.Directive, arg int, pattern string, errs *conf.Errors) {
	if !strings.Contains(pattern, "(?") {
		return
	}
	re, fault, _ := conf.CompileRegexp(pattern, false)
	if fault != "" {
		return
	}
	if _, err := t.Regexp(re); err != nil {
		Report(errs, d.At(arg), err)
	}
}

// variableName reads argument i as the name of a variable to define.
func variableName(d *conf.Directive, i int, errs *conf.Errors) (name string, ok bool) {
	text := d.Arg(i)
	name, ok = strings.CutPrefix(text, "$")
	if !ok || name == "" {
		errs.Add(d.At(i), `invalid variable name "`+text+`"`, "a variable's name begins with a dollar sign")
		return "", false
	}
	return name, true
}

package arch

import (
	"go/ast"
	"go/doc"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Every function and method that Go programs import has an example that runs and whose output is checked. What package zonetest
// has needs a testing.T, which no example can give.
func TestPublicEntriesHaveExamples(t *testing.T) {
	entries, examples := map[string]string{}, map[string]bool{}
	for _, f := range tree(t) {
		if !public(f.pkg) {
			continue
		}
		if f.test {
			for _, e := range doc.Examples(f.syntax) {
				if e.Output != "" || e.EmptyOutput || f.pkg == "rediszone" { // some of whose need a server
					examples[f.pkg+" "+exampleOf(e.Name)] = true
				}
			}
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				if name := entryName(fn); name != "" {
					entries[f.pkg+" "+name] = f.name
				}
			}
		}
	}
	if len(entries) < 80 {
		t.Errorf("only %d entries were found", len(entries))
	}
	for name, file := range entries {
		if !examples[name] {
			pkg, entry, _ := strings.Cut(name, " ")
			t.Errorf("%s: no test of package %q has a func Example%s with an Output", file, pkg, entry)
		}
	}
}

// entryName is what an example of a function is called behind Example; "" for methods of types that are not exported.
func entryName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	of := fn.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if id, ok := of.(*ast.Ident); ok && id.IsExported() {
		return id.Name + "_" + fn.Name.Name
	}
	return ""
}

// exampleOf drops the suffix by which several examples of one entry differ.
func exampleOf(name string) string {
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		if r, _ := utf8.DecodeRuneInString(name[i+1:]); unicode.IsLower(r) {
			return name[:i]
		}
	}
	return name
}

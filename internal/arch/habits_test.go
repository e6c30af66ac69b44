package arch

import (
	"go/ast"
	"strings"
	"testing"
)

const (
	maxFileLines     = 600
	maxFunctionLines = 80
)

func TestFilesStayShort(t *testing.T) {
	for _, f := range tree(t) {
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, at most %d: split it by idea", f.name, f.lines, maxFileLines)
		}
	}
}

func TestFunctionsStayShort(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, at most %d", f.fset.Position(fn.Pos()), fn.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

func TestEveryPackageSaysItsStation(t *testing.T) {
	docs := map[string]string{}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		if f.syntax.Doc != nil {
			docs[f.pkg] = f.syntax.Doc.Text()
		} else if _, seen := docs[f.pkg]; !seen {
			docs[f.pkg] = ""
		}
	}
	for pkg, doc := range docs {
		if !strings.HasPrefix(doc, "Package ") && !strings.HasPrefix(doc, "Command ") {
			t.Errorf("package %s: no doc that begins with Package or Command", pkg)
		}
	}
}

func TestExportsAreDocumented(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no doc", f.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no doc", f.fset.Position(ts.Pos()), ts.Name.Name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch t := x.(type) {
		case *ast.StarExpr:
			x = t.X
		case *ast.IndexExpr:
			x = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

func TestNothingRegistersItself(t *testing.T) {
	for _, f := range tree(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init: what is in the binary must be visible in pipeline and daemon", f.fset.Position(fn.Pos()))
			}
		}
	}
}

func TestTheLibraryStartsNoGoroutine(t *testing.T) {
	for _, f := range tree(t) {
		// zonetest is a kit for tests: its goroutines end with the test.
		if f.test || !library(f.pkg) || f.pkg == "zonetest" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: go statement in the library half", f.fset.Position(g.Pos()))
			}
			return true
		})
	}
}

// Every go statement outside tests names its owner and its end in the line above it.
func TestGoroutinesHaveAnOwner(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		comments := map[int]bool{}
		for _, c := range f.syntax.Comments {
			comments[f.fset.Position(c.End()).Line] = true
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				line := f.fset.Position(g.Pos()).Line
				if !comments[line-1] && !comments[line] {
					t.Errorf("%s: go statement without a comment that names its owner and its end", f.fset.Position(g.Pos()))
				}
			}
			return true
		})
	}
}

func TestNothingIsLeftForLater(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasPrefix(f.name, "internal/arch/") {
			continue
		}
		for _, c := range f.syntax.Comments {
			for _, word := range []string{"TODO", "FIXME", "XXX"} {
				if strings.Contains(c.Text(), word) {
					t.Errorf("%s: %s", f.fset.Position(c.Pos()), word)
				}
			}
		}
	}
}

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/limitgate/limitgate"

// file is one parsed Go file of the module.
type file struct {
	name   string // relative to the module's root
	pkg    string // its folder, "." for the root
	test   bool
	lines  int
	syntax *ast.File
	fset   *token.FileSet
}

// isModule tells whether a folder is a module of its own, such as bench.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// tree parses every Go file of the module, without those of modules below it.
func tree(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || isModule(p)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, file{
			name: filepath.ToSlash(rel), pkg: path.Dir(filepath.ToSlash(rel)), test: strings.HasSuffix(p, "_test.go"),
			lines: fset.File(f.Pos()).LineCount(), syntax: f, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d files: this test looks in the wrong place", len(files))
	}
	return files
}

// ours returns the folder of an import within the module, or false.
func ours(spec *ast.ImportSpec) (string, bool) {
	p, _ := strconv.Unquote(spec.Path.Value)
	if p == module {
		return ".", true
	}
	rest, ok := strings.CutPrefix(p, module+"/")
	return rest, ok
}

// outside reports whether an import is neither ours nor the standard library's.
func outside(spec *ast.ImportSpec) (string, bool) {
	p, _ := strconv.Unquote(spec.Path.Value)
	if _, is := ours(spec); is {
		return "", false
	}
	first, _, _ := strings.Cut(p, "/")
	return p, strings.Contains(first, ".")
}

// library reports whether a package is part of the half that Go programs import, and starts no goroutine. A zone in a store has
// some, and a Close that ends them.
func library(pkg string) bool {
	return public(pkg) && pkg != "rediszone" && pkg != "leasezone" || pkg == "zonetest" || pkg == "internal/admit" || strings.HasPrefix(pkg, "memzone/")
}

// public reports whether Go programs import a package for what it does.
func public(pkg string) bool {
	switch pkg {
	case ".", "memzone", "rediszone", "leasezone", "guard", "httplimit", "grpclimit", "retry", "retry/grpcretry", "sqllimit":
		return true
	}
	return false
}

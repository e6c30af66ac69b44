package arch

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

var testReference = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`")

// Every test that docs/differences.md names exists where it says.
func TestDifferencesNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, f := range tree(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				tests[f.pkg+"."+fn.Name.Name] = true
			}
		}
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") {
			continue
		}
		rows++
		refs := testReference.FindAllStringSubmatch(line, -1)
		if len(refs) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, r := range refs {
			pkg := r[1]
			if pkg == "limitgate" {
				pkg = "."
			}
			if !tests[pkg+"."+r[2]] {
				t.Errorf("%s.%s does not exist: %s", r[1], r[2], line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("found %d rows: the table looks different from what this test expects", rows)
	}
}

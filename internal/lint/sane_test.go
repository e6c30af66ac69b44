package lint

import (
	"path/filepath"
	"testing"
)

// Twenty configurations after the examples of Debian's packages, and twenty of sites that limit as they should: no rule warns.
func TestNoRuleWarnsOfSaneFiles(t *testing.T) {
	names, err := filepath.Glob("testdata/sane/*.conf")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d files, want 40 (%v)", len(names), err)
	}
	for _, name := range names {
		for _, arithmetic := range []string{"", "nginx"} {
			for _, f := range Check(Options{Path: name, Arithmetic: arithmetic}).Findings {
				if f.Severity != Info {
					t.Errorf("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
				}
			}
		}
	}
}

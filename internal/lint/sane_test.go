package lint

import (
	"path/filepath"
	"testing"
)

// Twenty configurations after the examples of Debian's packages, twenty of sites that limit as they should, and twenty that were
// written by somebody who had not seen the rules: no rule warns.
func TestNoRuleWarnsOfSaneFiles(t *testing.T) {
	for folder, want := range map[string]int{"sane": 40, "sane-blind": 20} {
		names, err := filepath.Glob(filepath.Join("testdata", folder, "*.conf"))
		if err != nil || len(names) < want {
			t.Fatalf("%s: %d files, want %d (%v)", folder, len(names), want, err)
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
}

// What is only worth knowing is said where it is true, and nowhere else: an info that fires on what its own mend advises is a
// fault of the rule.
func TestWhatIsWorthKnowingOfSaneFiles(t *testing.T) {
	want := map[string]string{
		"admin-area":        "zone-shared:52 limits-replaced:52",
		"downloads":         "key-ipv6-whole:24 conn-below-browser:39",
		"multi-site":        "key-constant:14 bandwidth-per-answer:70",
		"shop-login":        "rate-truncated:33",
		"static-cdn-origin": "key-ipv6-whole:25",
		"wordpress":         "zone-shared:52",
	}
	names, err := filepath.Glob("testdata/sane-blind/*.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		id := filepath.Base(name[:len(name)-len(".conf")])
		if got := found(Check(Options{Path: name})); got != want[id] {
			t.Errorf("%s: found %q, want %q", id, got, want[id])
		}
	}
}

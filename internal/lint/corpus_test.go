package lint

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// The realistic configurations that run side by side with nginx: one of them limits by an API key as it comes, which may be
// left out and made up, and nothing is beside it. Nothing else is warned of.
func TestRealConfigurations(t *testing.T) {
	want := map[string][]string{"api-behind-balancer": {"key-chosen", "key-may-be-empty"}}
	names, err := filepath.Glob("../../conformance/testdata/real/*.txtar")
	if err != nil || len(names) < 34 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	port := regexp.MustCompile(`@(\d+)@`)
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if f.Name != "nginx.conf" {
				continue
			}
			var got []string
			for _, f := range check(t, "", port.ReplaceAllString(string(f.Data), "$1")).Findings {
				if f.Severity != Info {
					got = append(got, f.Rule)
				}
			}
			slices.Sort(got)
			short := filepath.Base(name[:len(name)-len(".txtar")])
			if !slices.Equal(got, want[short]) {
				t.Errorf("%s: %v, want %v", short, got, want[short])
			}
		}
	}
}

// Every configuration of the reader's corpus, good or bad, can be checked: each finding has its place and its words.
func TestCorpus(t *testing.T) {
	names, err := filepath.Glob("../conf/testdata/nginx/*.conf")
	if err != nil || len(names) < 50 {
		t.Fatalf("%d files (%v)", len(names), err)
	}
	for _, name := range names {
		r := Check(Options{Path: name})
		for _, f := range r.Findings {
			if f.File == "" || f.Line < 1 || f.Message == "" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

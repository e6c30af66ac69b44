package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var arrow = regexp.MustCompile(`# <- (.*)$`)

// arrows reads which rules a file names, at which lines.
func arrows(t *testing.T, path string) (text string, want map[string][]int) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want = map[string][]int{}
	for i, l := range strings.Split(string(src), "\n") {
		if m := arrow.FindStringSubmatch(l); m != nil {
			for _, id := range strings.Fields(m[1]) {
				want[id] = append(want[id], i+1)
			}
		}
	}
	return string(src), want
}

// Each rule has a file in which it fires, at the lines with an arrow and at no others, and beside it no other warning or error
// than those that the arrows name.
func TestEachRuleFiresOnItsFile(t *testing.T) {
	if n := len(Rules()); n < 30 {
		t.Errorf("%d rules, want at least 30", n)
	}
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			path := filepath.Join("testdata", "bad", r.ID+".conf")
			_, want := arrows(t, path)
			if len(want[r.ID]) == 0 {
				t.Fatalf("%s has no line with an arrow and %s", path, r.ID)
			}
			got := map[string][]int{}
			for _, f := range Check(Options{Path: path}).Findings {
				if f.Severity != Info || f.Rule == r.ID {
					got[f.Rule] = append(got[f.Rule], f.Line)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBadFilesBelongToRules(t *testing.T) {
	names, err := filepath.Glob("testdata/bad/*.conf")
	if err != nil || len(names) != len(Rules()) {
		t.Errorf("%d files for %d rules (%v)", len(names), len(Rules()), err)
	}
}

func TestRulesAreWhole(t *testing.T) {
	id := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	var seen []string
	for _, r := range Rules() {
		if !id.MatchString(r.ID) || slices.Contains(seen, r.ID) {
			t.Errorf("id %q", r.ID)
		}
		seen = append(seen, r.ID)
		if !slices.Contains([]Severity{Error, Warning, Info}, r.Severity) {
			t.Errorf("%s: severity %q", r.ID, r.Severity)
		}
		if r.Title == "" || strings.HasSuffix(r.Title, ".") {
			t.Errorf("%s: title %q", r.ID, r.Title)
		}
		if !strings.HasSuffix(r.Why, ".") || strings.Contains(strings.TrimSuffix(r.Why, "."), ". ") {
			t.Errorf("%s: why is one sentence: %q", r.ID, r.Why)
		}
		if !strings.HasSuffix(r.Mend, ".") {
			t.Errorf("%s: mend %q", r.ID, r.Mend)
		}
		if r.find == nil {
			t.Errorf("%s finds nothing", r.ID)
		}
	}
}

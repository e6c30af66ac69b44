package match_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/match"
)

func table(t rapid.TB, rules string) *match.Table {
	t.Helper()
	tab, _, err := load.Compile([]config.Source{{Name: "rules.yaml", Text: []byte(rules)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// entries reads k=v,k=v.
func entries(text string) []match.Entry {
	var list []match.Entry
	for part := range strings.SplitSeq(text, ",") {
		k, v, _ := strings.Cut(part, "=")
		list = append(list, match.Entry{Key: k, Value: v})
	}
	return list
}

const rules = `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 1}
    descriptors:
      - key: b
        value: x*
        share_threshold: true
        detailed_metric: true
        rate_limit: {unit: day, requests_per_unit: 2}
      - key: b
        value: "*"
        value_to_metric: true
        rate_limit: {unit: day, requests_per_unit: 3}
  - key: under_
    rate_limit: {unit: day, requests_per_unit: 4}
  - key: c
    detailed_metric: true
    rate_limit: {unit: day, requests_per_unit: 5}
`

func TestFind(t *testing.T) {
	tab := table(t, rules)
	var w match.Walk
	for _, c := range []struct {
		entries string
		want    uint32 // 0: no rule
		name    string
		key     string
	}{
		{"a=1", 1, "d.a", "d_a_1_"},
		{"a=", 1, "d.a", "d_a__"},
		{"a=1,b=xyz", 2, "d.a_1.b_x*", "d_a_1_b_x*_"},
		{"a=,b=xyz", 2, "d.a.b_x*", "d_a__b_x*_"},
		{"a=1,b=yz", 3, "d.a.b_yz", "d_a_1_b_yz_"},
		{"a=1,b=yz,c=1", 0, "", ""},
		{"b=x", 0, "", ""},
		{"under=", 4, "d.under", "d_under__"},
		{"under_=1", 4, "d.under_", "d_under__1_"},
		{"c=1", 5, "d.c_1", "d_c_1_"},
		{"c=", 5, "d.c_", "d_c__"},
	} {
		tab.Find("d", entries(c.entries), &w)
		if w.Rule == nil {
			if c.want != 0 {
				t.Errorf("%s: got no rule, want %d", c.entries, c.want)
			}
			continue
		}
		name, key := string(w.AppendName(nil)), string(w.AppendKey(nil, "d"))
		if w.Rule.Limit.Requests != c.want || name != c.name || key != c.key {
			t.Errorf("%s: got %d, %s, %s; want %d, %s, %s", c.entries, w.Rule.Limit.Requests, name, key, c.want, c.name, c.key)
		}
		if w.Dynamic() == (name == w.Rule.Path) && !w.Rule.Detailed {
			t.Errorf("%s: dynamic %v, but the name is %s and the path %s", c.entries, w.Dynamic(), name, w.Rule.Path)
		}
	}
	if tab.Find("other", entries("a=1"), &w); w.Domain || w.Rule != nil {
		t.Error("a domain that is not there was found")
	}
}

// star is the stupid twin of a pattern: every way in which its stars can stretch is tried.
func star(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		for i := range len(text) + 1 {
			if star(pattern[1:], text[i:]) {
				return true
			}
		}
		return false
	}
	return text != "" && text[0] == pattern[0] && star(pattern[1:], text[1:])
}

// A pattern matches what its twin matches.
func TestPatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[ab*]{0,4}\*[ab*]{0,3}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,6}`).Draw(t, "text")
		tab := table(t, "domain: d\ndescriptors:\n  - key: k\n    value: \""+value+"\"\n    rate_limit: {unit: day, requests_per_unit: 1}\n")
		var w match.Walk
		tab.Find("d", []match.Entry{{Key: "k", Value: text}}, &w)
		if want := star("k_"+value, "k_"+text); (w.Rule != nil) != want {
			t.Errorf("pattern %q, text %q: got %v, want %v", value, text, w.Rule != nil, want)
		}
	})
}

// All mistakes of all files are told, each with its place.
func TestCompileTellsAll(t *testing.T) {
	one := "domain: d\ndescriptors:\n  - rate_limit: {unit: day}\n  - key: a\n  - key: a\n  - key: b\n    share_threshold: true\n"
	_, _, err := load.Compile([]config.Source{{Name: "1.yaml", Text: []byte(one)}, {Name: "2.yaml", Text: []byte("domain: d")}}, false)
	want := `1.yaml:3:5: a descriptor has no key; write key: and the key of an entry
1.yaml:5:5: "d.a" is here for the second time: the first is 1.yaml:4:5 (key and value are compared joined by an underscore); take one of them out
1.yaml:6:5: share_threshold is for patterns, and "b" has no *; write a value with a * in it, or take it out
2.yaml:1:1: domain "d" is in 1.yaml too; put both into one file, or set MERGE_DOMAIN_CONFIG=true`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

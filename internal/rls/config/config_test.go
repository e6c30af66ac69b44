package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/limitgate/limitgate/internal/rls/config"
)

// A mistake is told with its place, what is wrong and what would be right.
func TestMistakes(t *testing.T) {
	const head = "domain: d\ndescriptors:\n"
	limit := func(text string) string { return head + "  - key: a\n    rate_limit:\n      " + text + "\n" }
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml: the file names no domain; write domain: and the domain that Envoy's configuration names"},
		{"descriptors: []", "f.yaml:1:1: the file names no domain; write domain:"},
		{"- a", "f.yaml:1:1: this is a list or a map where a map is meant; write key: value lines"},
		{"domain: [", "f.yaml:1:1: this is not YAML: "},
		{"domain: d\n\tx: 1", "f.yaml:2:1: this is not YAML: found a tab character that violates indentation"},
		{"domain: d\n1: x", "f.yaml:2:1: a key is no text"},
		{"domain: d\ndescriptor: []", `f.yaml:2:1: unknown key "descriptor"; did you mean descriptors?`},
		{"domain: d\nfoo: []", `f.yaml:2:1: unknown key "foo"; known here: domain, descriptors`},
		{"domain: [d]", `f.yaml:1:9: "domain" needs a text, and this is a list or a map`},
		{"domain: 1.5", `f.yaml:1:9: "domain" is 1.5, which YAML takes for a fraction, where a text is meant; write "1.5" in quotes`},
		{"domain: d\ndescriptors: x", "f.yaml:2:14: descriptors is a list, and this is none; begin each element with a dash"},
		{head + "  - a", `f.yaml:3:5: descriptors holds "a", which is no map; write each element as - and key: value lines`},
		{head + "  - key: a\n    shadow_mode: 1", `f.yaml:4:18: "shadow_mode" is neither true nor false; write true or false, without quotes`},
		{head + "  - key: a\n    shadow_mode: \"true\"", `f.yaml:4:18: "shadow_mode" is neither`},
		{head + "  - key: a\n    rate_limt: {}", `f.yaml:4:5: unknown key "rate_limt"; did you mean rate_limit?`},
		{head + "  - key: a\n    metadata: x", "f.yaml:4:15: metadata is \"x\", and must be a map"},
		{head + "  - key: a\n    metadata: {x: 2020-01-01}", "f.yaml:4:19: metadata can't hold \"2020-01-01\""},
		{limit("requests_per_unit: 1"), "f.yaml:5:7: the limit has no unit; write second, minute, hour, day, week, month or year"},
		{limit("unit: fortnight"), `f.yaml:5:13: the unit "fortnight" is not known`},
		{limit("{unit: day, requests_per_unit: -1}"), `f.yaml:5:38: "requests_per_unit" is "-1", which is not a whole number between 0 and 4294967295`},
		{limit("{unit: day, requests_per_unit: 4294967296}"), `f.yaml:5:38: "requests_per_unit" is "4294967296", which is not`},
		{limit("{unit: day, requests_per_unit: \"5\"}"), `f.yaml:5:38: "requests_per_unit" is "5", which is not a whole number between 0 and 4294967295; write a whole number, without quotes`},
		{limit("{unit: day, unlimited: true}"), "f.yaml:5:7: a limit that is unlimited has a unit; take out either"},
		{limit("{unit: year, unit_multiplier: 2, requests_per_unit: 1}"), "f.yaml:5:7: a window of 2 times a YEAR is longer than 366 days"},
		{limit("{unit: day, unit_multiplier: 0}"), "f.yaml:5:36: unit_multiplier is 0; write 1 or more, or leave it out"},
		{limit("{unit: day, replaces: [{name: \"\"}]}"), "f.yaml:5:7: replaces has an entry without a name"},
		{limit("{unit: day, name: n, replaces: [{name: n}]}"), `f.yaml:5:7: the limit "n" replaces itself`},
		{limit("{unit: day, algorithm: gcra, requests_per_unit: 1}"), `f.yaml:5:30: algorithm "gcra" is not known; write one of fixed, sliding, token, leaky`},
		{limit("{unit: day, burst: 1, requests_per_unit: 1}"), "f.yaml:5:7: burst is for algorithms token and leaky, not fixed"},
		{limit("{unit: day, algorithm: token, requests_per_unit: 0}"), "f.yaml:5:7: requests_per_unit 0 refuses everything"},
		{limit("{unit: day, algorithm: token, burst: 0, requests_per_unit: 1}"), "f.yaml:5:7: a bucket that holds no token refuses everything"},
		{limit("{unit: second, algorithm: token, requests_per_unit: 2000000}"), "f.yaml:5:7: algorithm token keeps rates between one in 100 days and 1,000,000 a second, not 2000000 in 1s"},
		{limit("{unit: year, algorithm: leaky, requests_per_unit: 1}"), "f.yaml:5:7: algorithm leaky keeps rates between one in 100 days"},
		{limit("{unit: day, algorithm: leaky, burst: 30000, requests_per_unit: 1}"), "f.yaml:5:7: a bucket of 30001 would take more than 70 years to fill"},
		{limit("{unit: day, algorithm: sliding, requests_per_unit: 2000000}"), "f.yaml:5:7: algorithm sliding counts up to 1048575"},
		{limit("{unit: day, lease: true, requests_per_unit: 20000000}"), "f.yaml:5:7: a lease counts up to 16777215"},
		{limit("{unlimited: true, lease: true}"), "f.yaml:5:7: a limit that is unlimited has an algorithm or a lease"},
		{limit("{unit: day, fail: never}"), `f.yaml:5:25: fail "never" is not known; write one of call, open, closed, local`},
		{limit("{concurrency: 0}"), "f.yaml:5:21: concurrency is 0; write a number between 1 and 65535"},
		{limit("{concurrency: 5, unit: day}"), "f.yaml:5:7: concurrency limits how many are served at once"},
		{limit("{unit: day, hold: 5s}"), "f.yaml:5:19: hold is for limits with concurrency"},
		{limit("{concurrency: 5, hold: 5}"), `f.yaml:5:30: hold is "5"; write a time between 1s and 24h`},
		{"a: &a [*a]\ndomain: d", "f.yaml:1:1: unknown key \"a\""},
		{head + "  - &x\n    key: a\n    descriptors: [*x]", "the file is nested more than 64 deep"},
	} {
		_, errs, _ := config.Read(config.Source{Name: "f.yaml", Text: []byte(c.text)})
		if len(errs) == 0 || !strings.Contains(errs.Error(), c.want) {
			t.Errorf("%q: got\n%v\nwant in it\n%s", c.text, errs, c.want)
		}
	}
}

// What envoyproxy/ratelimit passes over in silence is told.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"domain: d\nunit: day", `f.yaml:2:1: "unit" is not read here, and changes nothing; write it below rate_limit`},
		{"domain: d\ndescriptors:\n  - key: a\n    name: x", `f.yaml:4:5: "name" is not read here, and changes nothing; write it below rate_limit or below replaces`},
		{"domain: d\ndomain: e", `f.yaml:2:1: "domain" is here for the second time: the first, in line 1, does not count`},
		{"domain: d\n---\ndomain: e", "f.yaml:3:1: a second document begins here: it is not read"},
	} {
		f, errs, warnings := config.Read(config.Source{Name: "f.yaml", Text: []byte(c.text)})
		if len(errs) > 0 || f.Domain == "" || len(warnings) != 1 || !strings.HasPrefix(warnings[0].Error(), c.want) {
			t.Errorf("%q: got errors %v and warnings\n%v\nwant\n%s", c.text, errs, warnings, c.want)
		}
	}
	// What is not read is looked through all the same.
	_, errs, _ := config.Read(config.Source{Name: "f.yaml", Text: []byte("domain: d\nunit: {foo: 1}")})
	if len(errs) != 1 || errs[0].Code != config.UnknownKey {
		t.Errorf("an unknown key below one that is not read: got %v", errs)
	}
}

// Spellings of YAML that mean what is meant.
func TestSpellings(t *testing.T) {
	text := `
domain: d
limits: &limits
  unit: MiNuTe
  requests_per_unit: 1_000
descriptors:
  - key: port
    value: 0070
    rate_limit:
      <<: *limits
      requests_per_unit: 0x10
    shadow_mode: yes
    quota_mode: Off
  - key: nothing
    value: ~
    rate_limit:
    descriptors:
  - {key: on, value: true, rate_limit: *limits, metadata: {a: [1, 2.5, x, true, null, {b: c}]}}
`
	text = strings.Replace(text, "limits: &limits", "metadata: &limits", 1) // a place that nobody reads
	f, errs, warnings := config.Read(config.Source{Name: "f.yaml", Text: []byte(text)})
	if len(errs) > 0 || len(warnings) != 1 {
		t.Fatalf("got errors %v and warnings %v, want one warning", errs, warnings)
	}
	got := f.Descriptors
	for i := range got {
		got[i].Pos = config.Pos{}
		if l := got[i].Limit; l != nil {
			l.Pos = config.Pos{}
		}
	}
	want := []config.Descriptor{
		{Key: "port", Value: "0070", Shadow: true, Limit: &config.Limit{Unit: config.Minute, Requests: 16, Multiplier: 1, Hold: config.DefaultHold}},
		{Key: "nothing"},
		{Key: "on", Value: "true", Limit: &config.Limit{Unit: config.Minute, Requests: 1000, Multiplier: 1, Hold: config.DefaultHold},
			Metadata: map[string]any{"a": []any{1.0, 2.5, "x", true, nil, map[string]any{"b": "c"}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnits(t *testing.T) {
	for name, want := range map[string]time.Duration{
		"second": time.Second, "MINUTE": time.Minute, "Hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
	} {
		u, ok := config.ParseUnit(name)
		if !ok || u.Length() != want || !strings.EqualFold(u.String(), name) {
			t.Errorf("%s: got %v, %v, %v; want %v", name, u, ok, u.Length(), want)
		}
	}
	if u, ok := config.ParseUnit(""); ok || u.Length() != 0 {
		t.Errorf("no name: got %v", u)
	}
}

// No text makes the reader fail otherwise than by an error with a place, and what has no error has a domain.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"domain: d\ndescriptors:\n  - key: a\n    value: b*\n    rate_limit: {unit: day, requests_per_unit: 1, replaces: [{name: x}]}\n    metadata: {x: 1}\n",
		"domain: d\ndescriptors: [{key: a, rate_limit: {concurrency: 4, hold: 5s}}]", "a: &a [*a]", "domain: d\n<<: {descriptors: []}", "'''", "? [a]\n: b", "domain: !!binary aGk=", "--- \n---\n",
		"domain: d\ndescriptors:\n  - &x\n    key: a\n    descriptors: [*x]", "{\"domain\": \"d\", \"descriptors\": [{\"key\": \"a\"}]}", "domain: |\n  d\n", "<<: [*a]", "domain: ~",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, errs, warnings := config.Read(config.Source{Name: "f.yaml", Text: text})
		for _, e := range append(errs, warnings...) {
			if e.Pos.File != "f.yaml" || e.Text == "" || e.Code == "" {
				t.Errorf("an error without a place, a text or a code: %+v", e)
			}
		}
		if len(errs) == 0 && file.Domain == "" {
			t.Error("no error and no domain")
		}
		if fmt.Sprint(errs.Err() == nil) != fmt.Sprint(len(errs) == 0) {
			t.Error("Err does not tell of the errors")
		}
	})
}

// How much a file may make of the reader is bounded by what is written there: long files are read, anchors that multiply are not.
func TestLongFilesAndAnchors(t *testing.T) {
	const rules = 30_000
	var long, bomb strings.Builder
	long.WriteString("domain: d\ndescriptors:\n")
	for i := range rules {
		fmt.Fprintf(&long, "- {key: k%d, rate_limit: {unit: day, requests_per_unit: 1}, metadata: {m%d: }}\n", i, i)
	}
	f, errs, warnings := config.Read(config.Source{Name: "f.yaml", Text: []byte(long.String())})
	if len(f.Descriptors) != rules || len(errs)+len(warnings) > 0 {
		t.Errorf("%d rules: got %d, %v and %v", rules, len(f.Descriptors), errs, warnings)
	}
	bomb.WriteString("domain: d\ndescriptors:\n- key: k\n  metadata:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		fmt.Fprintf(&bomb, "    a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	bomb.WriteString("- key: l\n  rate_limit: {unit: day, requests_per_unit: 1}\n")
	_, errs, _ = config.Read(config.Source{Name: "f.yaml", Text: []byte(bomb.String())})
	if len(errs) != 1 || errs[0].Code != config.TooDeep {
		t.Errorf("anchors that multiply: got %v, want that alone", errs)
	}
}

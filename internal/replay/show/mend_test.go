package show

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/replay"
)

// What may tell people is in no anonymous report.
func TestAnonymizeLeaksNothing(t *testing.T) {
	tops := func(list ...string) (out []replay.Top) {
		for _, s := range list {
			out = append(out, replay.Top{Text: s, N: 1})
		}
		return out
	}
	r := &replay.Report{
		Config: "/home/mallory/nginx.conf", Locations: []replay.Location{{Location: "= /login", File: "/home/mallory/nginx.conf"}, {Location: "/api/items/"}, {Location: `~ "/secret/`}},
		Log: replay.Log{Sources: []replay.Source{{Name: "/logs/10.9.8.7-mallory.log", Examples: []replay.Example{{Text: "mallory", Why: `"token=TOPSECRET \"mallory\"" can't be $time_local`}}}}},
		Hit: replay.Hit{
			Agents: tops("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Firefox/109.0", "bot/1.0 203.0.113.9:5555 (+mailto:alice%40example.com) [2001:db8::1]:80", "x/203.0.113.9"),
			Paths:  tops("/login", "/api/items/mallory/main.css", "/u/bob.smith", "/users/alice/inbox", "/secret/TOPSECRET"),
		},
	}
	if err := Anonymize(r); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := JSON(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{"mallory", "TOPSECRET", "203.0.113", "10.9.8", "alice", "5555", "bob", "smith", "users", "inbox", "example.com", "2001:db8"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%s is told: %s", leak, out.String())
		}
	}
	for _, want := range []string{`"/login"`, "/api/items/", ".css", "Mozilla/5.0", "Linux", "Firefox/109.0", "can't be $time_local", "nginx.conf"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not told: %s", want, out.String())
		}
	}
}

// A report is safe on a terminal, and still the same to a program.
func TestJSONHasNoCommandsForTerminals(t *testing.T) {
	name := "a\u009b31m\x7f\u202e\x1b[0m\U000e0001é"
	r := &replay.Report{Answer: name, Log: replay.Log{Sources: []replay.Source{{Name: name, Format: name}}}}
	var out, text strings.Builder
	if err := JSON(&out, r); err != nil {
		t.Fatal(err)
	}
	var back replay.Report
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back.Answer != name {
		t.Errorf("got %q, %v, want %q", back.Answer, err, name)
	}
	r.Answer = ""
	if err := Text(&text, r, false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(out.String()+text.String(), "\u009b\x7f\u202e\x1b\U000e0001") || !strings.Contains(out.String(), "é") {
		t.Errorf("got %q and %q", out.String(), text.String())
	}
}

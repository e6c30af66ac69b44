package show

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/limitgate/limitgate/internal/replay"
)

// evil is what a client may send into a log.
const evil = "<script>alert(1)</script>\"'&\x1b[31m\u202e"

// report is one with something in every section.
func report() *replay.Report {
	band := replay.Band{Min: 301, Max: 1_412_000}
	fates := replay.Fates{Passed: band, Delayed: band, Rejected: band, DryDelayed: band, DryRejected: band}
	top := func() []replay.Top {
		return []replay.Top{{Text: "2001:db8:1234:5678:9abc:def0:1234:5678", N: 5000, Error: 12, Share: 0.5}, {Text: evil + strings.Repeat("x", 200), N: 3, Share: 0.1}}
	}
	runs := []replay.Run{{Assumption: "all at once at the beginning of the second", Passed: 30_000_000, Delayed: 1_000_000, Rejected: 1_412_000}}
	series := replay.Series{Start: "2026-11-29T10:00:00Z", Width: 60}
	for i := range 240 {
		series.Admitted, series.Delayed, series.Rejected = append(series.Admitted, int64(i*1000)), append(series.Delayed, 0), append(series.Rejected, int64(i%7))
	}
	change := func() []replay.Change {
		return []replay.Change{{Zone: "clients", Server: "www.example.org", Location: "/a/very/long/location/that/does/not/end", File: "/etc/nginx/nginx.conf", Line: 120, Requests: band, Keys: top()}}
	}
	return &replay.Report{
		Answer: "this configuration would have refused 1.3 % (412 of 31,204 requests)", Partial: true, Config: "nginx.conf", Against: "new.conf",
		Refused: replay.Already{Requests: 7, How: "status 429 or 503", Kept: true},
		Log: replay.Log{
			Records: 31_204, First: "2026-11-29T10:00:00Z", Last: "2026-11-29T23:00:00Z", Seconds: 46_800, Arrival: "the stamp of the answer less the time that the request took",
			Sources: []replay.Source{{Name: "/var/log/nginx/access.log", Format: "combined", Recognised: true, Lines: 31_211, Malformed: 7, Broken: "it breaks off behind line 31,211",
				Examples: []replay.Example{{Line: 4, Why: `no " - " behind $remote_addr 192.0.2.77`, Text: evil}}}},
		},
		Assumed: runs, Reference: "evenly over the second", Notes: []replay.Note{{ID: "field", Text: strings.Repeat("the key of zone clients needs $http_x_api_key ", 4)}},
		Requests: 31_204, Total: fates, Series: series,
		Zones:     []replay.Zone{{Name: "clients", Directive: "limit_req", Key: "$binary_remote_addr", Asked: band, Fates: fates, Keys: top(), Held: &replay.Held{P99: 3, Peak: 20, PeakKey: "192.0.2.77"}}},
		Locations: []replay.Location{{Server: "www.example.org", Location: "/a/very/long/location/that/does/not/end", File: "/etc/nginx/nginx.conf", Line: 120, Requests: band, Fates: fates}},
		Delays:    replay.Delays{Requests: 10, P50: 0.071, P90: 1.5, P99: 200, Max: 90_000},
		Hit:       replay.Hit{Clients: top(), Agents: []replay.Top{{Text: "Mozilla/5.0 (bot; anna@example.org; 192.0.2.77) " + evil, N: 2, Share: 0.2}}, Paths: []replay.Top{{Text: "/users/4711/anna@example.org/edit", N: 1, Share: 1}}},
		Flight:    &replay.Flight{P99: 40, Peak: 212, At: "2026-11-29T10:00:00Z"},
		Upstream:  replay.Upstream{Before: replay.Peak{PerSecond: 900, At: "2026-11-29T10:00:00Z"}, After: replay.Peak{PerSecond: 800, At: "2026-11-29T10:00:00Z"}},
		Changes:   &replay.Changes{Total: fates, Assumed: runs, NewRefused: band, NewPassed: band, Refused: change(), Passed: change()},
	}
}

func text(t *testing.T, r *replay.Report, colour bool) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, colour); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The text fits a terminal, begins with the answer, and sends the terminal nothing but text.
func TestText(t *testing.T) {
	got := text(t, report(), false)
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.ContainsAny(got, "\x1b\u202e") {
		t.Error("control characters of the log reach the terminal")
	}
	if !strings.HasPrefix(got, "this configuration would have refused 1.3 % (412 of 31,204 requests)\nPARTIAL") {
		t.Errorf("begins with %.100q", got)
	}
	for _, want := range []string{
		"7 requests had been refused already when logged (status 429 or 503): kept", "line 4: ", "301..1,412,000", "half of them up to 71 ms, 90 % up to 1.5 s, 99 % up to 3.3 min, the longest 25 h",
		"4,988 to 5,000", "Over time, 5 min a column, from 2026-11-29T10:00:00Z", "Against new.conf", "zone clients: 99 % of requests found at most 3",
	} {
		if !strings.Contains(strings.Join(strings.Fields(got), " "), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

// Colours change nothing but colours.
func TestColours(t *testing.T) {
	plain, coloured := text(t, report(), false), text(t, report(), true)
	if !strings.Contains(coloured, "\x1b[31m") {
		t.Error("nothing is red")
	}
	for _, how := range []string{"\x1b[31m", "\x1b[1m", "\x1b[0m"} {
		coloured = strings.ReplaceAll(coloured, how, "")
	}
	got, want := strings.Split(coloured, "\n"), strings.Split(plain, "\n")
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("line %d: got\n%q\nwant\n%q", i+1, got[i], want[i])
		}
	}
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		n    []int64
		each int
		want string
		most int64
	}{
		{[]int64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 1, " ▁▂▃▄▅▆▇█", 8}, {[]int64{1, 1, 8, 0}, 2, "▂█", 8}, {[]int64{0, 0}, 1, "  ", 0}, {[]int64{1_000_000, 1}, 1, "█▁", 1_000_000},
	} {
		if got, most := Sparkline(c.n, c.each); got != c.want || most != c.most {
			t.Errorf("%v: got %q and %d, want %q and %d", c.n, got, most, c.want, c.most)
		}
	}
}

// The page holds what the log holds as text, and asks for nothing from elsewhere.
func TestHTML(t *testing.T) {
	var b strings.Builder
	if err := HTML(&b, report()); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, never := range []string{"<script", "alert(1)</", "http://", "https://", "src=", "url(", "\x1b", "ZgotmplZ"} {
		if strings.Contains(got, never) {
			t.Errorf("%q is in the page", never)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "<h1>this configuration would have refused 1.3 % (412 of 31,204 requests)</h1>", "default-src 'none'", "<rect", "</html>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing", want)
		}
	}
	empty := &replay.Report{Answer: "the log has no requests to decide on"}
	if err := HTML(&b, empty); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}

// The names of the JSON report stay: programs read them.
func TestJSON(t *testing.T) {
	var b strings.Builder
	if err := JSON(&b, report()); err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal([]byte(b.String()), &all); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"answer", "partial", "config", "against", "requests", "reference", "refused_in_log.requests", "refused_in_log.recognised_by", "refused_in_log.kept", "log.records",
		"log.first", "log.last", "log.seconds", "log.grain_s", "log.arrival", "log.late", "log.garbage", "log.sources.0.name", "log.sources.0.format", "log.sources.0.recognised",
		"log.sources.0.lines", "log.sources.0.malformed", "log.sources.0.examples.0.line", "log.sources.0.examples.0.why", "log.sources.0.examples.0.text", "log.sources.0.broken",
		"assumptions.0.assumption", "assumptions.0.passed", "assumptions.0.delayed", "assumptions.0.rejected", "notes.0.id", "notes.0.text", "total.unlimited.min", "total.passed.max",
		"total.delayed.min", "total.rejected.max", "total.dry_delayed.min", "total.dry_rejected.max", "zones.0.name", "zones.0.directive", "zones.0.key", "zones.0.asked.min",
		"zones.0.fates.rejected.max", "zones.0.top_keys.0.text", "zones.0.top_keys.0.refused", "zones.0.top_keys.0.error", "zones.0.top_keys.0.share", "zones.0.at_once.p99",
		"zones.0.at_once.peak", "zones.0.at_once.peak_key", "locations.0.server", "locations.0.location", "locations.0.file", "locations.0.line", "locations.0.requests.max",
		"locations.0.fates.passed.min", "series.start", "series.width_s", "series.admitted.0", "series.delayed.0", "series.rejected.0", "delays.requests", "delays.p50_s", "delays.p90_s",
		"delays.p99_s", "delays.max_s", "hit.clients.0.text", "hit.user_agents.0.text", "hit.paths.0.text", "concurrency.p99", "concurrency.peak", "concurrency.peak_at",
		"upstream.before.per_second", "upstream.before.at", "upstream.after.per_second", "changes.total.passed.min", "changes.assumptions.0.rejected", "changes.newly_refused.max",
		"changes.newly_let_through.min", "changes.refused.0.zone", "changes.refused.0.server", "changes.refused.0.requests.max", "changes.let_through.0.top_keys.0.text",
	} {
		var at any = all
		for _, name := range strings.Split(path, ".") {
			switch v := at.(type) {
			case map[string]any:
				at = v[name]
			case []any:
				at = v[0]
			}
		}
		if at == nil {
			t.Errorf("%s is missing", path)
		}
	}
}

// Nothing that names a person is left, the same text has the same name in one report and another one in the next.
func TestAnonymize(t *testing.T) {
	var reports [2]string
	for i := range reports {
		r := report()
		if err := Anonymize(r); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		reports[i] = b.String()
		for _, never := range []string{"2001:db8", "192.0.2.77", "anna", "4711"} {
			if strings.Contains(reports[i], never) {
				t.Errorf("%q is in the report", never)
			}
		}
		if r.Hit.Clients[0].Text != r.Zones[0].Keys[0].Text || !strings.HasPrefix(r.Hit.Clients[0].Text, "ipv6-") {
			t.Errorf("one address has two names: %s and %s", r.Hit.Clients[0].Text, r.Zones[0].Keys[0].Text)
		}
		if a := r.Hit.Agents[0].Text; !strings.HasPrefix(a, "Mozilla/5.0 (bot; x-") {
			t.Errorf("user agent: got %s", a)
		}
		if p := r.Hit.Paths[0].Text; strings.Count(p, "/x-") != 4 || strings.Contains(p, "users") || strings.Contains(p, "edit") {
			t.Errorf("path: got %s", p)
		}
	}
	if reports[0] == reports[1] {
		t.Error("two reports have the same names")
	}
}

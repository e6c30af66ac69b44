package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/vectors"
)

// TestQuotaVectors tells the stories of windows and of buckets of tokens, from directives and events to answers, once with
// numbers in the configuration and once with numbers that come with each request.
func TestQuotaVectors(t *testing.T) {
	window := func(algorithm string) func(c vectors.Case, number func(string) string) string {
		return func(c vectors.Case, number func(string) string) string {
			return fmt.Sprintf("limit_count_zone $http_x_key zone=z:1m limit=%s window=%s %s; limit_count_status 429; server { limit_count zone=z cost=$http_x_cost; }\n",
				number(fmt.Sprint(c.Params.Limit)), number(fmt.Sprintf("%vms", c.Params.WindowMS)), algorithm)
		}
	}
	for _, m := range []struct {
		file, model string
		conf        func(c vectors.Case, number func(string) string) string
		least       int
	}{
		{"token", "token_ms", func(c vectors.Case, number func(string) string) string {
			return fmt.Sprintf("limit_token_zone $http_x_key zone=z:1m rate=%s capacity=%s; limit_token_status 429; server { limit_token zone=z cost=$http_x_cost; }\n",
				number(fmt.Sprintf("%dr/s", c.Params.RatePerS)), number(fmt.Sprint(c.Params.Capacity)))
		}, 8},
		{"fixed", "fixed_aligned", window("algorithm=fixed"), 5},
		{"fixed", "fixed_first_hit", window("algorithm=fixed first=on"), 2},
		{"sliding_counter", "sliding_rl", window(""), 4},
		{"sliding_log", "log_set", window("algorithm=log"), 5},
	} {
		ran := 0
		for _, c := range vectors.Load(t, m.file).Select(m.model) {
			if counts := c.Params.CountRejected; m.file == "fixed" && (counts == nil || *counts) || c.Params.InclusiveEnd || c.ID == "tk-s2-back" || !onlyTakes(c) {
				continue
			}
			ran++
			for name, number := range map[string]func(string) string{"plain": func(s string) string { return s }, "of the request": inMap()} {
				t.Run(c.ID+" "+name, func(t *testing.T) {
					conf := m.conf(c, number)
					if name != "plain" {
						conf = mapsOf(conf)
					}
					answers := tell(t, open(t, conf, ""), quotaEvents(c))
					for i, x := range c.Expect {
						compareQuota(t, i, x, &answers[i])
					}
				})
			}
		}
		if ran < m.least {
			t.Errorf("%s: only %d cases were told", m.model, ran)
		}
	}
}

func onlyTakes(c vectors.Case) bool {
	return !slices.ContainsFunc(c.Events, func(e vectors.Event) bool { return e.Op != "take" || e.Amount() < 1 })
}

// inMap puts a number where mapsOf finds it.
func inMap() func(string) string { return func(s string) string { return "<" + s + ">" } }

// mapsOf takes the numbers out of a configuration and lets maps give them.
func mapsOf(conf string) string {
	maps := ""
	for i := 0; strings.Contains(conf, "<"); i++ {
		before, rest, _ := strings.Cut(conf, "<")
		number, after, _ := strings.Cut(rest, ">")
		maps += fmt.Sprintf("map $http_x_key $number%d { default %s; }\n", i, number)
		conf = fmt.Sprintf("%s$number%d%s", before, i, after)
	}
	return maps + conf
}

func quotaEvents(c vectors.Case) string {
	var out strings.Builder
	for _, e := range c.Events {
		line, _ := json.Marshal(map[string]any{"at_ms": e.AtMS, "remote_addr": "192.0.2.1", "host": "h",
			"headers": map[string]string{"X-Key": e.KeyText(), "X-Cost": fmt.Sprint(e.Amount())}})
		out.Write(append(line, '\n'))
	}
	return out.String()
}

func compareQuota(t *testing.T, i int, x vectors.Expect, got *told) {
	t.Helper()
	status := map[string]int{"pass": 200, "reject": 429}[x.Verdict]
	if got.Verdict != x.Verdict || got.Status != status {
		t.Errorf("event %d: got %s and %d, want %s and %d", i, got.Verdict, got.Status, x.Verdict, status)
	}
	if x.Remaining != nil && *got.Remaining != *x.Remaining {
		t.Errorf("event %d: remaining %d, want %d", i, *got.Remaining, *x.Remaining)
	}
	if len(got.Limits) != 1 || got.Limits[0].Zone != "z" || got.Limits[0].Verdict != x.Verdict {
		t.Errorf("event %d: limits %+v, want z with %s", i, got.Limits, x.Verdict)
	}
}

// What limits of all kinds say together: limit_req, then limit_count, then limit_token, then limit_conn.
func TestAllKinds(t *testing.T) {
	http := `limit_req_zone $remote_addr zone=r:1m rate=1r/s; limit_count_zone $remote_addr zone=c:1m limit=3 window=1m algorithm=fixed;
		limit_token_zone $remote_addr zone=t:1m rate=1r/m capacity=2; limit_conn_zone $remote_addr zone=n:1m;
		server { limit_token zone=t; limit_conn n 1; limit_count zone=c; limit_req zone=r burst=1;
			location / { } location /dry { limit_token_dry_run on; } }`
	check(t, http,
		[]string{at(0, "/"), at(0, "/"), at(2000, "/"), at(2000, "/dry"), at(4000, "/dry")},
		[]string{"200 pass 0 -", "200 delay 1000 r", "503 reject 0 t", "200 pass 0 t dry:reject", "503 reject 0 c"})
	list := tell(t, open(t, http, ""), at(0, "/")+at(0, "/dry"))
	for i, want := range []string{"[{r pass 0 0.000} {c pass 0 0.000} {t pass 0 0.000} {n pass 0 0.000}]", "[{r delay 1000 1.000} {c pass 0 0.000} {t pass 0 1.000} {n pass 0 0.000}]"} {
		if got := fmt.Sprint(list[i].Limits); got != want {
			t.Errorf("event %d: got %s, want %s", i, got, want)
		}
	}
}

// TestConnVectors tells the stories of limit_conn: each event has a millisecond of its own, and a request stays until the
// event that releases it.
func TestConnVectors(t *testing.T) {
	ran := 0
	for _, c := range vectors.Load(t, "concurrency").Select("nginx_limit_conn") {
		ran++
		t.Run(c.ID, func(t *testing.T) {
			answers := tell(t, open(t, connConf(c), ""), connEvents(c))
			n := 0
			for i, x := range c.Expect {
				if c.Events[i].Op != "take" {
					continue
				}
				got := answers[n]
				n++
				if got.Verdict != x.Verdict {
					t.Errorf("event %d: got %s, want %s", i, got.Verdict, x.Verdict)
				}
				if x.Verdict == "reject" && len(c.Params.Zones) > 0 && x.Zone != "" && (got.Limit == nil || *got.Limit != x.Zone) {
					t.Errorf("event %d: got bound by %v, want %s", i, got.Limit, x.Zone)
				}
				if dry := x.Status != nil && strings.HasSuffix(*x.Status, "DRY_RUN"); dry != (got.DryRun == "reject") {
					t.Errorf("event %d: got dry run %q, want status %s", i, got.DryRun, *x.Status)
				}
			}
		})
	}
	if ran < 18 {
		t.Errorf("only %d cases were told", ran)
	}
}

// connConf writes a case as directives: every place is there in earnest and as a rehearsal.
func connConf(c vectors.Case) string {
	var out strings.Builder
	locations := c.Params.Locations
	if len(locations) == 0 {
		zones := c.Params.Zones
		if len(zones) == 0 {
			zones = []vectors.Limit{{Name: "z", Limit: c.Params.Limit}}
		}
		locations = map[string][]vectors.Limit{"/": zones}
	}
	declared := map[string]bool{}
	for _, limits := range locations {
		for _, l := range limits {
			if name := cmpOr(l.Zone, l.Name); !declared[name] {
				declared[name] = true
				fmt.Fprintf(&out, "limit_conn_zone $http_x_%s zone=%s:1m;\n", name, name)
			}
		}
	}
	out.WriteString("server {\n")
	for path, limits := range locations {
		for _, dry := range []string{"off", "on"} {
			fmt.Fprintf(&out, "location %s%s { limit_conn_dry_run %s;", path, dry, dry)
			for _, l := range limits {
				fmt.Fprintf(&out, " limit_conn %s %d;", cmpOr(l.Zone, l.Name), l.Limit)
			}
			out.WriteString(" }\n")
		}
	}
	return out.String() + "}\n"
}

func connEvents(c vectors.Case) string {
	released := map[vectors.Text]int{}
	for i, e := range c.Events {
		if e.Op == "release" {
			released[e.ID] = i
		}
	}
	var out strings.Builder
	for i, e := range c.Events {
		if e.Op != "take" {
			continue
		}
		stay := len(c.Events) // to the end of the story
		if end := released[e.ID]; end > i {
			stay = end - i
		}
		headers := map[string]string{"X-z": e.KeyText()}
		for name, key := range e.Keys {
			headers["X-"+name] = key
		}
		uri := cmpOr(e.Loc, "/") + "off"
		if e.DryRun != nil && *e.DryRun || c.Params.DryRun && e.DryRun == nil {
			uri = cmpOr(e.Loc, "/") + "on"
		}
		line, _ := json.Marshal(map[string]any{"at_ms": i, "remote_addr": "192.0.2.1", "uri": uri, "host": "h", "headers": headers, "duration_ms": stay})
		out.Write(append(line, '\n'))
	}
	return out.String()
}

package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/vectors"
)

// told is an answer as a reader of JSON sees it.
type told struct {
	ID         any
	AtMS       float64 `json:"at_ms"`
	Status     int
	Verdict    string
	DelayMS    float64 `json:"delay_ms"`
	Limit      *string
	Excess     *string
	Remaining  *int64
	RetryAfter *int64 `json:"retry_after_s"`
	DryRun     string `json:"dry_run"`
	Limits     []toldLimit
}

type toldLimit struct {
	Zone    string
	Verdict string
	DelayMS float64 `json:"delay_ms"`
	Excess  string
}

// open compiles the inside of http.
func open(t testing.TB, http, arithmetic string) *Simulator {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(file, []byte("events {}\nhttp {\n"+http+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{File: file, Arithmetic: arithmetic})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tell runs events through a simulator.
func tell(t testing.TB, s *Simulator, events string) []told {
	t.Helper()
	var out bytes.Buffer
	if err := s.Run(strings.NewReader(events), &out); err != nil {
		t.Fatal(err)
	}
	var list []told
	for line := range strings.Lines(out.String()) {
		var a told
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, a)
	}
	return list
}

// TestVectors tells the stories of limit_req, one zone and several, from events to answers.
func TestVectors(t *testing.T) {
	for _, f := range []struct{ file, model, arithmetic string }{
		{"leaky_exact", "exact_req", "exact"}, {"leaky_nginx", "nginx_limit_req", "nginx"},
		{"articles", "nginx_limit_req", "nginx"},
	} {
		ran := 0
		for _, c := range vectors.Load(t, f.file).Select(f.model) {
			// Not of this world: costs, nginx's forgetting, and the key that nginx skips.
			if slices.Contains([]string{"quirk", "forget", "wrap"}, c.Group) || c.ID == "lk-keys-65535" || others(c) {
				continue
			}
			ran++
			t.Run(c.ID, func(t *testing.T) {
				answers := tell(t, open(t, vectorConf(c), f.arithmetic), vectorEvents(c))
				for i, x := range c.Expect {
					compare(t, c, i, x, answers[i])
				}
			})
		}
		if ran < 20 {
			t.Errorf("%s: only %d cases were told", f.file, ran)
		}
	}
}

func others(c vectors.Case) bool {
	return slices.ContainsFunc(c.Events, func(e vectors.Event) bool { return e.Amount() != 1 || e.Op != "take" })
}

// vectorConf writes a case as directives; every place is there in earnest and as a rehearsal.
func vectorConf(c vectors.Case) string {
	p, locations := c.Params, c.Params.Locations
	var out strings.Builder
	switch {
	case len(p.Zones) > 0:
		for _, z := range p.Zones {
			fmt.Fprintf(&out, "limit_req_zone $http_x_%s zone=%s:1m rate=%s;\n", z.Name, z.Name, z.Rate)
		}
		locations = map[string][]vectors.Limit{"/": p.Zones}
	case len(locations) > 0:
		fmt.Fprintf(&out, "limit_req_zone $http_x_key zone=one:1m rate=%s;\n", p.Rate)
	default:
		fmt.Fprintf(&out, "limit_req_zone $http_x_key zone=one:1m rate=%s;\n", p.Rate)
		locations = map[string][]vectors.Limit{"/": {{Burst: p.Burst, Delay: p.Delay, NoDelay: p.NoDelay}}}
	}
	out.WriteString("server {\n")
	for path, limits := range locations {
		for _, dry := range []string{"off", "on"} {
			fmt.Fprintf(&out, "location %s%s { limit_req_dry_run %s;", path, dry, dry)
			for _, l := range limits {
				out.WriteString(" limit_req zone=" + cmpOr(l.Name, "one"))
				if l.Burst > 0 {
					fmt.Fprintf(&out, " burst=%d", l.Burst)
				}
				switch {
				case l.NoDelay:
					out.WriteString(" nodelay")
				case l.Delay != nil && *l.Delay > 0:
					fmt.Fprintf(&out, " delay=%d", *l.Delay)
				}
				out.WriteString(";")
			}
			out.WriteString(" }\n")
		}
	}
	return out.String() + "}\n"
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func vectorEvents(c vectors.Case) string {
	var out strings.Builder
	for _, e := range c.Events {
		uri, headers := cmpOr(e.Loc, "/"), map[string]string{"X-Key": e.KeyText()}
		for name, key := range e.Keys {
			headers["X-"+name] = key
		}
		if dry := c.Params.DryRun; dry && e.DryRun == nil || e.DryRun != nil && *e.DryRun {
			uri += "on"
		} else {
			uri += "off"
		}
		line, _ := json.Marshal(map[string]any{"at_ms": e.AtMS, "remote_addr": "192.0.2.1", "uri": uri, "host": "h", "headers": headers})
		out.Write(append(line, '\n'))
	}
	return out.String()
}

// compare holds an answer against what the table promises.
func compare(t *testing.T, c vectors.Case, i int, x vectors.Expect, got told) {
	t.Helper()
	// What is less than a millisecond of delay has passed.
	short := x.DelayMS != nil && *x.DelayMS < 1 && x.Verdict == "delay"
	want := x.Verdict
	if short {
		want = "pass"
	}
	if got.Verdict != want || got.Status == 200 != (want != "reject") {
		t.Errorf("event %d: got %s and %d, want %s", i, got.Verdict, got.Status, want)
	}
	if x.DelayMS != nil && !short && math.Abs(got.DelayMS-*x.DelayMS) > c.ToleranceMS+1e-6 {
		t.Errorf("event %d: delay %v, want %v", i, got.DelayMS, *x.DelayMS)
	}
	if x.WouldDelayMS != nil && got.Limits[0].DelayMS != *x.WouldDelayMS {
		t.Errorf("event %d: would wait %v, want %v", i, got.Limits[0].DelayMS, *x.WouldDelayMS)
	}
	if x.Excess != nil && got.Excess != nil {
		var e vectors.Thousandths
		if err := e.UnmarshalJSON([]byte(*got.Excess)); err != nil {
			t.Fatal(err)
		}
		slack := vectors.Thousandths(0)
		if c.ToleranceMS > 0 {
			slack = 1 // the table rounds, the arithmetic floors
		}
		// Where nobody waits nginx names the last limit that was asked; the one with least left is what there is to know.
		if d := *x.Excess - e; (d < 0 || d > slack) && (want != "pass" || len(got.Limits) < 2) {
			t.Errorf("event %d: excess %s, want %v", i, *got.Excess, *x.Excess)
		}
	}
	if x.Remaining != nil && len(got.Limits) == 1 && *got.Remaining != *x.Remaining {
		t.Errorf("event %d: remaining %d, want %d", i, *got.Remaining, *x.Remaining)
	}
	if x.Zone != "" && len(c.Params.Zones) > 0 && want != "pass" && *got.Limit != x.Zone {
		t.Errorf("event %d: bound by %s, want %s", i, *got.Limit, x.Zone)
	}
	if x.RetryAfterMS != nil && want == "reject" {
		if least := int64(max(1, math.Ceil((*x.RetryAfterMS-c.ToleranceMS)/1000))); got.RetryAfter == nil || *got.RetryAfter != least {
			t.Errorf("event %d: retry after %v, want %d", i, got.RetryAfter, least)
		}
	}
}

// TestReqThenConn tells the stories in which a request waits before it needs a place.
func TestReqThenConn(t *testing.T) {
	ran := 0
	for _, c := range vectors.Load(t, "concurrency").Select("nginx_req_then_conn") {
		ran++
		t.Run(c.ID, func(t *testing.T) {
			p := c.Params
			http := fmt.Sprintf("limit_req_zone $http_x_key zone=r:1m rate=%s;\nlimit_conn_zone $http_x_key zone=c:1m;\n", p.Req.Rate)
			mode := ""
			if p.Req.NoDelay {
				mode = " nodelay"
			} else if p.Req.Delay != nil && *p.Req.Delay > 0 {
				mode = fmt.Sprintf(" delay=%d", *p.Req.Delay)
			}
			burst := ""
			if p.Req.Burst > 0 {
				burst = fmt.Sprintf(" burst=%d", p.Req.Burst)
			}
			http += fmt.Sprintf("server { limit_req zone=r%s%s; limit_conn c %d; }\n", burst, mode, p.Conn.Limit)
			var events strings.Builder
			for _, e := range c.Events {
				fmt.Fprintf(&events, "{\"at_ms\":%v,\"remote_addr\":\"192.0.2.1\",\"headers\":{\"X-Key\":%q},\"duration_ms\":%v}\n", e.AtMS, e.Key, e.HoldMS)
			}
			answers := tell(t, open(t, http, "nginx"), events.String())
			for i, x := range c.Expect {
				got := answers[i]
				if got.Verdict != x.Verdict || x.DelayMS != nil && got.DelayMS != *x.DelayMS {
					t.Errorf("event %d: got %s after %v ms, want %s after %v", i, got.Verdict, got.DelayMS, x.Verdict, *x.DelayMS)
				}
			}
		})
	}
	if ran < 4 {
		t.Errorf("only %d cases were told", ran)
	}
}

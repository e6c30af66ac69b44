package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// simulated is an answer of limitgate simulate.
type simulated struct {
	Status  int
	Verdict string
	DelayMS int `json:"delay_ms"`
	Limit   string
	Excess  string
	DryRun  string `json:"dry_run"`
	Limits  []struct{ Zone, Excess string }
}

// simulate asks limitgate what nginx would decide.
func simulate(t *testing.T, s schedule) []simulated {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte("events { }\nhttp {\n"+strings.ReplaceAll(s.http, "SOCKET", dir+"/s")+"\n}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var events, out, said bytes.Buffer
	for _, a := range s.events {
		headers := map[string]string{}
		for _, h := range a.headers {
			headers[h[0]] = h[1]
		}
		line, err := json.Marshal(map[string]any{
			"at_ms": a.at, "duration_ms": a.stay, "remote_addr": "unix:", "method": a.method, "uri": a.uri, "host": "h", "headers": headers,
		})
		if err != nil {
			t.Fatal(err)
		}
		events.Write(append(line, '\n'))
	}
	cmd := exec.Command(gatewaytest.Limitgate(t).Path, "simulate", "-c", conf, "--arithmetic", "nginx")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &events, &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("simulate: %v\n%s\n%s", err, said.String(), s.http)
	}
	var list []simulated
	for d := json.NewDecoder(&out); d.More(); {
		var a simulated
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

// ruling is the answer in the words that nginx's log has for it.
func (a *simulated) ruling(like ruling) ruling {
	r := ruling{Status: a.Status, Verdict: a.Verdict, Dry: a.DryRun, Delay: a.DelayMS}
	if a.Verdict != "pass" || a.DryRun != "" {
		r.Zone, r.Excess = a.Limit, a.Excess
	}
	for _, l := range a.Limits {
		if !isPlaces(l.Zone) {
			r.Asked = append(r.Asked, l.Excess)
		}
	}
	if isPlaces(r.Zone) {
		r.Excess = "" // nginx has none for it
	}
	// nginx stops at the first limit that refuses; simulate tells of those behind it too.
	if n := len(like.Asked); (r.Verdict == "reject" || r.Dry == "reject") && n < len(r.Asked) && n > 0 {
		r.Asked = r.Asked[:n]
	}
	return r
}

// number reads a setting of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestNginxJudges runs random configurations and schedules on the real nginx, its clock set to each request, and through
// simulate with nginx's arithmetic: status, verdict, zone, excess of every limit and delay must be equal. JUDGE_RUNS says
// how many, JUDGE_SEED repeats a run, JUDGE_ONE only one schedule of it.
func TestNginxJudges(t *testing.T) {
	seed := number(t, "JUDGE_SEED", uint64(time.Now().UnixNano()%1_000_000))
	runs, one := number(t, "JUDGE_RUNS", 30), number(t, "JUDGE_ONE", 0)
	fmt.Printf("nginx as judge: JUDGE_SEED=%d JUDGE_RUNS=%d\n", seed, runs)
	var asked, delayed, refused, rehearsed atomic.Int64
	t.Run("schedules", func(t *testing.T) {
		for i := uint64(1); i <= runs; i++ {
			if one > 0 && i != one {
				continue
			}
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				s := makeSchedule(rand.New(rand.NewPCG(seed, i)))
				want, got := judge(t, s), simulate(t, s)
				if len(got) != len(want) {
					t.Fatalf("%d answers, want %d", len(got), len(want))
				}
				for k, w := range want {
					if d := cmp.Diff(w, got[k].ruling(w)); d != "" {
						a := s.events[k]
						t.Fatalf("JUDGE_SEED=%d JUDGE_RUNS=%d JUDGE_ONE=%d: request %d (%s %s at %d): nginx (-) and simulate (+) differ:\n%s",
							seed, runs, i, k, a.method, a.uri, a.at-clockStart, d)
					}
					asked.Add(1)
					delayed.Add(tally(w.Verdict == "delay"))
					refused.Add(tally(w.Verdict == "reject"))
					rehearsed.Add(tally(w.Dry != ""))
				}
			})
		}
	})
	fmt.Printf("nginx as judge: %d requests decided alike, %d of them delayed, %d refused, %d rehearsed\n",
		asked.Load(), delayed.Load(), refused.Load(), rehearsed.Load())
}

func tally(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// judge asks nginx.
func judge(t *testing.T, s schedule) []ruling {
	t.Helper()
	c := startClocked(t, s.http)
	var list []ruling
	latest := int64(0)
	for i, a := range s.events {
		latest = max(latest, a.at)
		list = append(list, c.ask(i, a.at, a.raw()))
	}
	for n, status := range c.finish(latest + 365*24*3_600_000) {
		list[n].Status = status
	}
	return list
}

// Two things that nginx does and limitgate does not, on purpose; docs/differences.md lists them.
func verdicts(list []ruling) (out string) {
	for _, r := range list {
		out += r.Verdict + " "
	}
	return out
}

func simulatedVerdicts(list []simulated) (out string) {
	for _, a := range list {
		out += a.Verdict + " "
	}
	return out
}

// nginx drops a key that was idle for a minute when another one is new, and with it what had not leaked.
func TestForgottenKeys(t *testing.T) {
	t.Parallel()
	ask := func(at int64, key string) asked {
		return asked{at: clockStart + at, method: "GET", uri: "/x", headers: [][2]string{{"X-K0", key}}}
	}
	s := schedule{
		http:   "limit_req_zone $http_x_k0 zone=z0:1m rate=1r/m;\nserver { listen unix:SOCKET; location / { limit_req zone=z0; } location = /free { } }",
		events: []asked{ask(0, "a"), ask(60_000, "b"), ask(60_001, "a"), ask(60_002, "a")},
	}
	if got, want := verdicts(judge(t, s)), "pass pass pass reject "; got != want {
		t.Errorf("nginx: got %s, want %s", got, want)
	}
	// The rate is one in 62.5 seconds for nginx's arithmetic.
	if got, want := simulatedVerdicts(simulate(t, s)), "pass pass reject reject "; got != want {
		t.Errorf("limitgate: got %s, want %s", got, want)
	}
}

// nginx does not count keys of more than 65,535 bytes.
func TestKeysBeyondNginxs(t *testing.T) {
	t.Parallel()
	ask := func(n int) asked {
		return asked{at: clockStart, method: "GET", uri: "/x", headers: [][2]string{{"X-K0", strings.Repeat("k", n)}}}
	}
	s := schedule{
		http: "large_client_header_buffers 8 128k; limit_req_zone $http_x_k0 zone=z0:1m rate=1r/m;\n" +
			"server { listen unix:SOCKET; location / { limit_req zone=z0; } location = /free { } }",
		events: []asked{ask(65_535), ask(65_535), ask(65_536), ask(65_536)},
	}
	if got, want := verdicts(judge(t, s)), "pass reject pass pass "; got != want {
		t.Errorf("nginx: got %s, want %s", got, want)
	}
	if got, want := simulatedVerdicts(simulate(t, s)), "pass reject pass reject "; got != want {
		t.Errorf("limitgate: got %s, want %s", got, want)
	}
}

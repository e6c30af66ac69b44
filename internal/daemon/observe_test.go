package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/racing"
)

// fetch gets the status and the body of a path.
func (g *gate) fetch(path string) (int, string) {
	g.t.Helper()
	r, err := http.Get("http://" + g.addr + path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// want fails where a text has no line like each of some.
func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("no line is like %s in\n%s", line, text)
		}
	}
}

// TestMetrics: what limits decide is counted by outcome, over a reload, also over one that is refused.
func TestMetrics(t *testing.T) {
	const text = `
		limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m;
		limit_req_zone $binary_remote_addr zone=slow:1m rate=50r/s;
		limit_req_zone $binary_remote_addr zone=dry:1m rate=1r/m;
		limit_conn_zone $binary_remote_addr zone=places:1m;
		limit_req_status 429;
		server {
			listen $addr;
			location / { limit_req zone=one burst=1 nodelay; limit_conn places 9; return 200; root nowhere; }
			location /one { limit_req zone=one burst=1 nodelay; limit_conn places 9; root nowhere; }
			location /slow { limit_req zone=slow burst=9; root nowhere; }
			location /dry { limit_req zone=dry; limit_req_dry_run on; root nowhere; }
			location = /metrics { metrics; }
		}`
	g := start(t, text)
	for range 3 {
		g.fetch("/one")
		g.fetch("/slow")
		g.fetch("/dry")
	}
	g.config(strings.ReplaceAll(text, "9;", "8;"))
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	g.config("fault;")
	if g.Reload() == nil {
		t.Fatal("got a faulty configuration taken")
	}
	g.fetch("/one")
	status, all := g.fetch("/metrics")
	if status != 200 {
		t.Fatalf("got status %d", status)
	}
	wantLines(t, all,
		`limitgate_decisions_total\{outcome="passed",zone="one"\} 2`,
		`limitgate_decisions_total\{outcome="refused",zone="one"\} 2`,
		`limitgate_decisions_total\{outcome="passed",zone="slow"\} 1`,
		`limitgate_decisions_total\{outcome="delayed",zone="slow"\} 2`,
		`limitgate_delay_seconds_count\{zone="slow"\} 2`,
		`limitgate_delay_seconds_bucket\{zone="slow",le="0.05"\} 2`,
		`limitgate_decisions_total\{outcome="dry_run_passed",zone="dry"\} 1`,
		`limitgate_decisions_total\{outcome="dry_run_refused",zone="dry"\} 2`,
		`limitgate_decisions_total\{outcome="passed",zone="places"\} 2`,
		`limitgate_zone_keys\{zone="one"\} 1`,
		`limitgate_zone_capacity_keys\{zone="one"\} [1-9][0-9]+`,
		`limitgate_responses_total\{class="4xx"\} 10`,
		`limitgate_reloads_total\{result="good"\} 1`,
		`limitgate_reloads_total\{result="bad"\} 1`,
		`limitgate_last_reload_successful 0`,
		`limitgate_generations 1`,
		`limitgate_build_info\{goversion="go[^"]+",revision="",version="0.0"\} 1`,
	)
	if r, err := http.Post("http://"+g.addr+"/metrics", "", nil); err != nil || r.StatusCode != 405 {
		t.Errorf("POST: got %v, %v, want 405", r, err)
	}
}

// TestSeries: with a million keys there are as many series as with none, and fewer than 200 with five zones (field case 97).
func TestSeries(t *testing.T) {
	racing.Alone(t)
	var zones strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		fmt.Fprintf(&zones, "limit_req_zone $binary_remote_addr zone=%s:10m rate=1r/m;\n", name)
	}
	g := start(t, zones.String()+`server { listen $addr; location / { limit_req zone=a burst=5; limit_req zone=b; limit_req_dry_run on; root nowhere; }
		location = /metrics { metrics; } }`)
	before := series(g)
	now, limit := limitgate.Now(), limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 5}
	earnest := []meter.Outcome{meter.Passed, meter.Delayed, meter.Refused, meter.NoRoom}
	outcomes := [][]meter.Outcome{ // one in earnest, one in dry run, one in a rollout, one in a store, one in earnest and in dry run
		earnest, {meter.DryPassed, meter.DryDelayed, meter.DryRefused}, append(earnest, meter.WatchedPassed, meter.WatchedDelayed, meter.WatchedRefused),
		append(earnest, meter.LocalPassed, meter.LocalDelayed, meter.LocalRefused, meter.Open, meter.Closed), append(earnest, meter.DryPassed, meter.DryDelayed, meter.DryRefused),
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		z, err := g.current.zones.Zone(phase.ZoneSpec{Name: name, Directive: "limit_req_zone", Key: "$binary_remote_addr", Bytes: 10 << 20})
		if err != nil {
			t.Fatal(err)
		}
		l, err := limitgate.NewLimiter(z, limit)
		if err != nil {
			t.Fatal(err)
		}
		m := g.observed.meters.Zone(name)
		for k := range 200_000 {
			key := fmt.Sprint(i, "-", k)
			d, err := l.TakeAt(t.Context(), now.Add(time.Duration(k)*100*time.Microsecond), key, 1)
			if err != nil {
				t.Fatal(err)
			}
			m.Count(now.Add(time.Duration(k)*100*time.Microsecond), uint64(k), outcomes[i][k%len(outcomes[i])], key, d.Delay()+time.Millisecond)
		}
	}
	after := series(g)
	if after >= 200 || after < before {
		t.Errorf("got %d series with a million keys and %d with none, want fewer than 200", after, before)
	}
	t.Logf("%d series, %d before any key came", after, before)
}

func series(g *gate) (n int) {
	_, all := g.fetch("/metrics")
	for s := bufio.NewScanner(strings.NewReader(all)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			n++
		}
	}
	return n
}

// TestHealth: probes are not limited, and hear when no more requests should come.
func TestHealth(t *testing.T) {
	g := start(t, `limit_req_zone $binary_remote_addr zone=one:1m rate=1r/h;
		server {
			listen $addr;
			limit_req zone=one;
			location = /ready { health; }
			location = /live { health live; }
			location = /limited { limit_req zone=one; health; }
		}`)
	for _, path := range []string{"/ready", "/ready", "/live", "/live", "/limited"} {
		if status, body := g.fetch(path); status != 200 || body != `{"status":"ok"}`+"\n" {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	if status, _ := g.fetch("/limited"); status != 503 {
		t.Errorf("limited beside health: got %d, want 503", status)
	}
	g.observed.draining.Store(true) // as QUIT does, which also closes what is listened on
	if status, body := g.fetch("/ready"); status != 503 || body != `{"status":"unready","why":"the process shuts down"}`+"\n" {
		t.Errorf("while it shuts down: got %d %s", status, body)
	}
	if status, _ := g.fetch("/live"); status != 200 {
		t.Errorf("live while it shuts down: got %d", status)
	}
}

// TestUnreadyStore: a store that is away matters where a limit refuses all without it.
func TestUnreadyStore(t *testing.T) {
	const text = `limit_store main redis://127.0.0.1:1 timeout=20ms;
		limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m store=main;
		server {
			listen $addr;
			location /one { limit_req zone=one fail=open; root nowhere; }
			location = /ready { health; }
			location = /metrics { metrics; }
		}`
	g := start(t, text)
	eventually(t, 10*time.Second, "the store is down", func() bool {
		g.fetch("/one")
		_, all := g.fetch("/metrics")
		return strings.Contains(all, `limitgate_store_up{store="main"} 0`)
	})
	if status, body := g.fetch("/ready"); status != 200 {
		t.Errorf("with fail=open: got %d %s", status, body)
	}
	_, all := g.fetch("/metrics")
	wantLines(t, all, `limitgate_decisions_total\{outcome="fail_open",zone="one"\} [1-9][0-9]*`, `limitgate_decisions_total\{outcome="fail_closed",zone="one"\} 0`,
		`limitgate_store_failures_total\{cause="error",store="main"\} [1-9][0-9]*`, `limitgate_store_latency_seconds_count\{store="main"\} [1-9][0-9]*`)
	g.config(strings.ReplaceAll(text, "fail=open", "fail=closed"))
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, body := g.fetch("/ready"); status != 503 || !strings.Contains(body, `store \"main\" is down`) {
		t.Errorf("with fail=closed: got %d %s", status, body)
	}
}

// TestTop: operators see who is limited, by the key as they would write it, or by what stands for it.
func TestTop(t *testing.T) {
	g := start(t, `limit_req_zone $binary_remote_addr zone=one:1m rate=1r/h; limit_req_zone $binary_client_network zone=net:1m rate=1r/h;
		server { listen $addr; location / { limit_req zone=one; root nowhere; } location /net { limit_req zone=net; root nowhere; } }`)
	for range 5 {
		g.fetch("/")
		g.fetch("/net")
	}
	o := operator{g.shared}
	all, err := o.Top(admin.Question{Keys: 5})
	if err != nil || len(all.Zones) != 2 {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, z := range all.Zones {
		if len(z.Top) != 1 || z.Top[0].Key != "127.0.0.1" || z.Top[0].Limited < 1 || z.Decisions["refused"] != 4 || z.Top[0].Asked < z.Top[0].Limited {
			t.Errorf("%s: got %+v", z.Zone, z)
		}
	}
	hidden, err := o.Top(admin.Question{Zone: "one", Keys: 5, Hash: true})
	if err != nil || len(hidden.Zones) != 1 || !regexp.MustCompile(`^#[0-9a-f]{12}$`).MatchString(hidden.Zones[0].Top[0].Key) {
		t.Errorf("hidden: got %+v, %v", hidden, err)
	}
	if none, err := o.Top(admin.Question{Zone: "one"}); err != nil || len(none.Zones[0].Top) != 0 || none.Zones[0].Absent == 0 {
		t.Errorf("no keys: got %+v, %v, want only how often the first was limited", none, err)
	}
}

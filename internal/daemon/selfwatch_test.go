package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admin"
)

// TestSelfWatch: what is wrong with the limiter stands in the error log with the mend, once an hour, in the metrics and in top; that a
// limit is tried for long is known over a reload.
func TestSelfWatch(t *testing.T) {
	const text = `limit_conn_zone $binary_remote_addr zone=places:1m; limit_conn_status 429;
		limit_req_zone $binary_remote_addr zone=tried:1m rate=1r/s;
		limit_req_zone $binary_remote_addr zone=one:1m rate=10000r/s;
		server { listen $addr; location / { limit_conn places 1; root nowhere; } location /tried { limit_req zone=tried; limit_req_dry_run on; }
		location /one { limit_req zone=one burst=9 nodelay; root nowhere; } location = /metrics { metrics; } }`
	g := start(t, text)
	now := limitgate.Now()
	g.lookAtSelf(now)
	g.config(text + "# the same")
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	places := g.observed.meters.Zone("places")
	for range 100 {
		places.Unsaid()
	}
	for range 3 {
		g.lookAtSelf(now.Add(8 * 24 * time.Hour))
	}
	log := g.read("error.log")
	for _, want := range []string{
		`[warn] `, `zone "places": 100 refusals did not say when to come again, so clients come at once; add_header Retry-After 1 always;`,
		`limit_req of zone "tried" at `, ` is in dry run since 8 days:`,
	} {
		if strings.Count(log, want) < 1 || want != `[warn] ` && strings.Count(log, want) != 1 {
			t.Errorf("%q is %d times in the log, want once:\n%s", want, strings.Count(log, want), log)
		}
	}
	if n := g.observed.countFindings(now.Add(8 * 24 * time.Hour)); n["no_retry_after"] != 1 || n["long_dry_run"] != 1 || n["one_address"] != 0 {
		t.Errorf("got %v", n)
	}
	_, all := g.fetch("/metrics")
	wantLines(t, all, `limitgate_findings\{kind="store_fails"\} 0`, `limitgate_findings\{kind="long_dry_run"\} 1`)
	top, err := operator{g.shared}.Top(admin.Question{})
	if err != nil || len(top.Findings) != 2 || top.Findings[0].Kind != "long_dry_run" {
		t.Errorf("top: got %+v, %v", top.Findings, err)
	}
}

// TestSelfWatchesBalancer: all requests from one private address are a balancer's.
func TestSelfWatchesBalancer(t *testing.T) {
	g := start(t, `limit_req_zone $binary_remote_addr zone=one:1m rate=10000r/s;
		server { listen $addr; location /one { limit_req zone=one burst=9 nodelay; root nowhere; } }`)
	z := g.observed.meters.Zone("one")
	for range 64 {
		z.Look(0, true) // as one request in sixteen is looked at
	}
	now := limitgate.Now()
	for i := range 300 {
		z.Count(now.Add(time.Duration(i)*time.Millisecond), 0, 0, "\x0a\x00\x00\x07", 0)
	}
	g.lookAtSelf(now.Add(time.Second))
	if log := g.read("error.log"); !strings.Contains(log, `zone "one": 100 % of the requests of the last minutes came from one address inside your network; if it is a balancer, name it with set_real_ip_from`) {
		t.Errorf("got %s", log)
	}
}

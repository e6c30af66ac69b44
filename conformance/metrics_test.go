package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
	"go.yaml.in/yaml/v3"
)

// metric is one of those that a gateway tells.
type metric struct {
	kind   string
	labels map[string]map[string]bool // to the values seen
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (limitgate_\w+) (\w+)$`)
	sampleLine = regexp.MustCompile(`^(limitgate_\w+?)(_bucket|_sum|_count)?(?:\{(.*)\})? [-+0-9.e]+$`)
	labelPair  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// readMetrics reads the text format, as far as names and labels go.
func readMetrics(t *testing.T, text string) map[string]*metric {
	t.Helper()
	all := map[string]*metric{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			all[m[1]] = &metric{kind: m[2], labels: map[string]map[string]bool{}}
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		known := all[m[1]]
		if known == nil && m[2] != "" {
			known = all[m[1]+m[2]] // _count may be a name's own
		}
		if known == nil {
			t.Fatalf("no type of %s", line)
		}
		for _, l := range labelPair.FindAllStringSubmatch(m[3], -1) {
			if known.labels[l[1]] == nil {
				known.labels[l[1]] = map[string]bool{}
			}
			known.labels[l[1]][l[2]] = true
		}
	}
	return all
}

func (m *metric) labelNames() (names []string) {
	for l := range m.labels {
		if l != "le" {
			names = append(names, l)
		}
	}
	slices.Sort(names)
	return names
}

// everyMetric is what a gateway tells in which everything that is counted happens.
func everyMetric(t *testing.T) map[string]*metric {
	t.Helper()
	store := redistest.Start(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
error_log logs/error.log notice;
http {
    limit_store main %s mode=lease;
    limit_req_zone $binary_remote_addr zone=slow:1m rate=100r/s;
    limit_req_zone $binary_remote_addr zone=tight:1m rate=6r/h;
    limit_req_zone $binary_remote_addr zone=tried:1m rate=6r/h;
    limit_req_zone $binary_remote_addr zone=far:1m rate=100r/s store=main;
    limit_conn_zone $binary_remote_addr zone=places:1m;
    limit_req_zone $binary_remote_addr zone=part:1m rate=6r/h;
    otel_exporter { endpoint 127.0.0.1:1; }
    limit_rollout part { zones part; steps 1%% 100%%; stop rejected_share > 50%%; }
    server {
        listen 127.0.0.1:@8080@;
        root nowhere;
        location /slow { limit_req zone=slow burst=9; limit_conn places 9; }
        location /tight { limit_req zone=tight; }
        location /tried { limit_req zone=tried; limit_req_dry_run on; }
        location /part { limit_req zone=part; }
        location /far { limit_req zone=far burst=99 nodelay; }
        location = /metrics { allow 127.0.0.1; deny all; metrics; }
    }
}
`, store.URL()))
	for _, path := range []string{"/slow", "/tight", "/tried", "/part", "/far"} {
		statuses(t, g, path, 4)
	}
	r, err := (&http.Client{Timeout: 5 * time.Second}).Get(g.URL(8080, "/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("got status %d, %v", r.StatusCode, err)
	}
	return readMetrics(t, string(text))
}

// TestMetricsAreDocumented holds docs/metrics.md, the dashboard and the alert rules against a running gateway.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	all := everyMetric(t)
	documented(t, all)
	for what, list := range map[string][]string{"dashboard": dashboard(t), "alerts": alerts(t)} {
		if len(list) < 10 {
			t.Errorf("%s: got %d expressions, want those of a whole one", what, len(list))
		}
		for _, expr := range list {
			checkExpression(t, what, expr, all)
		}
	}
}

// documented holds the tables of the page against what there is: names, kinds, labels and the values of outcomes.
func documented(t *testing.T, all map[string]*metric) {
	t.Helper()
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(limitgate_\\w+)` \\| (\\w+) \\|([a-z, ]*)\\| ([^|]+) \\| [^|]+ \\|$")
	told := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		labels := strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		told[m[1]] = m[2] + " " + strings.Join(labels, " ")
	}
	is := map[string]string{}
	for name, m := range all {
		is[name] = m.kind + " " + strings.Join(m.labelNames(), " ")
	}
	if diff := cmp.Diff(is, told); diff != "" {
		t.Errorf("the gateway (-) and docs/metrics.md (+) differ:\n%s", diff)
	}
	for outcome := range all["limitgate_decisions_total"].labels["outcome"] {
		if !strings.Contains(string(page), "`"+outcome+"`") {
			t.Errorf("docs/metrics.md does not tell of outcome %s", outcome)
		}
	}
}

// dashboard gives the expressions of the dashboard.
func dashboard(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../examples/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating  struct{ List []struct{ Query string } }
		Annotations struct{ List []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
		for _, e := range p.Targets {
			list = append(list, e.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if strings.Contains(v.Query, "label_values") {
			list = append(list, v.Query)
		}
	}
	for _, a := range d.Annotations.List {
		list = append(list, a.Expr)
	}
	return list
}

// alerts gives the expressions of the alert rules.
func alerts(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile("../examples/monitoring/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Expr == "" || r.Annotations["summary"] == "" {
				t.Errorf("a rule without a name, an expression or a summary: %+v", r)
			}
			list = append(list, r.Expr)
		}
	}
	return list
}

var (
	named    = regexp.MustCompile(`(limitgate_\w+)(?:\{([^}]*)\})?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
	query    = regexp.MustCompile(`label_values\((limitgate_\w+), (\w+)\)`)
)

// checkExpression reads PromQL as far as the names in it go: each metric must be there, with the labels that are matched, and where
// values are written out with one of these; what is grouped by must be a label of some metric of the expression.
func checkExpression(t *testing.T, what, expr string, all map[string]*metric) {
	t.Helper()
	scraped := []string{"instance", "le"} // that who scrapes adds, or the kind
	labels := slices.Clone(scraped)
	found := named.FindAllStringSubmatch(expr, -1)
	if len(found) == 0 {
		t.Errorf("%s: no metric of ours in %s", what, expr)
	}
	for _, m := range found {
		known := all[m[1]]
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(m[1], part); cut && known == nil && all[base] != nil && all[base].kind == "histogram" {
				known = all[base]
			}
		}
		if known == nil {
			t.Errorf("%s: there is no metric %s, in %s", what, m[1], expr)
			continue
		}
		labels = append(labels, known.labelNames()...)
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			checkMatcher(t, what, expr, l, known)
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.Split(g[1], ", ") {
			if !slices.Contains(labels, l) {
				t.Errorf("%s: no metric has the label %q, in %s", what, l, expr)
			}
		}
	}
	for _, q := range query.FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(labels, q[2]) {
			t.Errorf("%s: %s has no label %q", what, q[1], q[2])
		}
	}
}

// checkMatcher looks at one name="value".
func checkMatcher(t *testing.T, what, expr string, l []string, known *metric) {
	t.Helper()
	if l[1] == "instance" {
		return
	}
	values, is := known.labels[l[1]]
	if !is {
		t.Errorf("%s: the metric has no label %q, in %s", what, l[1], expr)
		return
	}
	if strings.HasPrefix(l[3], "$") {
		return
	}
	for _, one := range strings.Split(l[3], "|") {
		like := regexp.MustCompile("^(?:" + one + ")$")
		if !slices.ContainsFunc(slices.Collect(maps.Keys(values)), like.MatchString) && !rare[one] {
			t.Errorf("%s: the gateway has no %s=%q, in %s", what, l[1], one, expr)
		}
	}
}

// rare are values that are there once something went wrong. That they are spelled so the tables of the page say.
var rare = map[string]bool{"no_room": true}

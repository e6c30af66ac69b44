package stats_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/rls/stats"
)

func TestSanitize(t *testing.T) {
	for in, want := range map[string]string{
		"a.b_c": "a.b_c", "d.ip_10.1.1.1": "d.ip_10_1_1_1", "d.a:b|c": "d.a_b_c", "v_1.2": "v_1.2", "x.1.2.3.4567.y": "x.1_2_3_4567.y",
		"1.2.3.": "1.2.3.", "9.1.2.3.4": "9_1_2_3.4",
	} {
		if got := stats.Sanitize(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Names that requests make are bounded: what comes beyond is counted for the rule.
func TestNamesAreBounded(t *testing.T) {
	var r stats.Registry
	other := r.Rule("d.rule")
	for i := range stats.MaxNames + 50 {
		r.Named(fmt.Appendf(nil, "d.rule_%d", i), other).Total.Add(1)
		r.NotFound(fmt.Sprint("domain", i))
	}
	if n := other.Total.Load(); n != 50 {
		t.Errorf("got %d for the rule, want 50", n)
	}
	if n := len(r.Values(false)); n > 2*stats.MaxNames+10 {
		t.Errorf("got %d counters", n)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "ratelimit.service.rate_limit.other.domain_not_found: 50\n") {
		t.Errorf("got %v, and no domain for the others", err)
	}
	r.Values(true)
	if n := len(r.Values(false)); n != 5 {
		t.Errorf("after a reset got %d counters, want the five of the service", n)
	}
}

// What a client sends makes no counters of its own: long names are counted for the rule, and lines stay lines.
func TestNamesOfClients(t *testing.T) {
	var r stats.Registry
	other, long := r.Rule("d.rule"), strings.Repeat("x", stats.MaxName+1)
	r.Named([]byte(long), other).Total.Add(1)
	r.Named([]byte(long[1:]), other).Near.Add(1)
	r.Named([]byte("d.rule_a: 1\nratelimit.service.config_load_error"), other).Within.Add(1)
	r.NotFound(long)
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"rate_limit.d.rule.total_hits: 1\n", "rate_limit." + long[1:] + ".near_limit: 1\n", "rate_limit.other.domain_not_found: 1\n",
		"rate_limit.d.rule_a_ 1_ratelimit.service.config_load_error.within_limit: 1\n",
	} {
		if !strings.Contains(b.String(), "\nratelimit.service."+want) {
			t.Errorf("no line %.100q", want)
		}
	}
	if n := strings.Count(b.String(), "\n"); n != 9 {
		t.Errorf("got %d lines, want nine", n)
	}
}

func TestPrometheus(t *testing.T) {
	var r stats.Registry
	r.Rule(`d.a_"1".b.c`).Near.Add(3)
	r.Rule(`d.a_"1".b.e`).Near.Add(4)
	r.Rule("d.a").Shadow.Add(5)
	r.Named([]byte("d.ip_10.0.0.1"), nil).Within.Add(1)
	r.NotFound("x")
	r.Service.RedisError.Add(6)
	var b strings.Builder
	if err := r.WritePrometheus(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ratelimit_service_rate_limit_near_limit{domain="d",key1="a_\"1\"",key2="b"} 7`, `ratelimit_service_rate_limit_shadow_mode{domain="d",key1="a"} 5`,
		`ratelimit_service_rate_limit_within_limit{domain="d",key1="ip_10_0_0_1"} 1`, `ratelimit_service_rate_limit_domain_not_found{domain="x"} 1`,
		`ratelimit_service_should_rate_limit_error{err_type="redis_error"} 6`, "ratelimit_service_config_load_success 0", "ratelimit_service_global_shadow_mode 0",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no line %s in\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "# TYPE ratelimit_service_rate_limit_near_limit counter\n") != 1 {
		t.Errorf("the type of a counter is not told once:\n%s", b.String())
	}
}

package serve_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

const shop = `
domain: shop
descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 10, algorithm: token, burst: 2, unit_multiplier: 2}
`

// eventually waits for what another goroutine does on the real clock.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// Files that change are read again, counters stay, and a mistake changes nothing but a counter and the log.
func TestRulesFollowTheirFiles(t *testing.T) {
	s := start(t, map[string]string{"shop.yaml": shop}, nil, nil)
	for _, want := range []uint32{1, 0} {
		if got := s.ask(t, "shop", "ip", "a").GetStatuses()[0].GetLimitRemaining(); got != want {
			t.Errorf("got %d remaining, want %d", got, want)
		}
	}
	s.write(t, "shop.yaml", strings.Replace(shop, "requests_per_unit: 2}", "requests_per_unit: 9}", 1))
	eventually(t, "the reload", func() bool { return s.rules.Service.Counters.Service.ConfigLoadSuccess.Load() == 2 })
	if got := s.ask(t, "shop", "ip", "a").GetStatuses()[0].GetLimitRemaining(); got != 6 {
		t.Errorf("after two requests and a limit of 9: got %d remaining, want 6", got)
	}
	s.write(t, "shop.yaml", strings.Replace(shop, "unit: minute", "units: minute", 1))
	eventually(t, "the bad reload", func() bool { return s.rules.Service.Counters.Service.ConfigLoadError.Load() == 1 })
	if got := s.ask(t, "shop", "ip", "a").GetStatuses()[0].GetLimitRemaining(); got != 5 {
		t.Errorf("with a bad file: got %d remaining, want 5", got)
	}
	for _, want := range []string{"shop.yaml:5:18", `unknown key \"units\"`, "did you mean unit?", "the last good ones stay"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, s.log)
		}
	}
	if err := os.Remove(filepath.Join(s.dir, "shop.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a warning that no rules are left", func() bool {
		return strings.Contains(s.log.String(), `level=WARN msg="no rules are in the folder: nothing is limited"`)
	})
}

func TestAnswersSayWhenToComeAgain(t *testing.T) {
	s := start(t, map[string]string{"shop.yaml": shop}, []string{"LIMIT_RESPONSE_HEADERS_ENABLED=true"}, nil)
	s.clock.Store(int64(100 * time.Second))
	var a *pb.RateLimitResponse
	for range 3 {
		a = s.ask(t, "shop", "user", "ann")
	}
	got := ""
	for _, h := range a.GetResponseHeadersToAdd() {
		got += h.GetKey() + ": " + h.GetValue() + "\n"
	}
	// Ten in two hours are one in twelve minutes.
	want := "RateLimit-Limit: 10\nRateLimit-Remaining: 0\nRateLimit-Reset: 720\nRetry-After: 720\n"
	if a.GetOverallCode() != pb.RateLimitResponse_OVER_LIMIT || got != want {
		t.Errorf("got %v with\n%swant OVER_LIMIT with\n%s", a.GetOverallCode(), got, want)
	}
	if m := a.GetStatuses()[0].GetCurrentLimit().GetUnitMultiplier().GetValue(); m != 2 {
		t.Errorf("got a multiplier of %d, want 2", m)
	}
	s.clock.Add(int64(720 * time.Second))
	if a := s.ask(t, "shop", "user", "ann"); a.GetOverallCode() != pb.RateLimitResponse_OK {
		t.Errorf("after Retry-After: got %v, want OK", a.GetOverallCode())
	}
}

// A request of more descriptors than most.
func TestManyDescriptors(t *testing.T) {
	s := start(t, map[string]string{"shop.yaml": shop}, nil, nil)
	r := request("shop", "ip", "a")
	for range 9 {
		r.Descriptors = append(r.Descriptors, r.Descriptors[0])
	}
	a, err := s.client.ShouldRateLimit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	over := 0
	for _, d := range a.GetStatuses() {
		if d.GetCode() == pb.RateLimitResponse_OVER_LIMIT {
			over++
		}
	}
	if len(a.GetStatuses()) != 10 || over != 8 {
		t.Errorf("got %d statuses, %d over the limit; want 10 and 8", len(a.GetStatuses()), over)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	s := start(t, map[string]string{"shop.yaml": shop}, nil, nil)
	noUnit := request("shop", "ip", "a")
	noUnit.Descriptors[0].Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1}
	for what, r := range map[string]*pb.RateLimitRequest{"no domain": request("", "ip", "a"), "no descriptor": {Domain: "shop"}, "no unit": noUnit} {
		if _, err := s.client.ShouldRateLimit(context.Background(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got %v, want an invalid argument", what, err)
		}
	}
	if n := s.rules.Service.Counters.Service.ServiceError.Load(); n != 3 {
		t.Errorf("got %d service errors, want 3", n)
	}
}

// What is on the HTTP address, with the names of envoyproxy/ratelimit.
func TestHTTP(t *testing.T) {
	s := start(t, map[string]string{"shop.yaml": shop}, nil, nil)
	url := "http://" + s.server.Addr("http").String()
	body := `{"domain": "shop", "descriptors": [{"entries": [{"key": "ip", "value": "10.0.0.1"}]}]}`
	for _, want := range []int{200, 200, 429} {
		r, err := http.Post(url+"/json", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want || want == 429 && r.Header.Get("Retry-After") != "60" {
			t.Errorf("got %d with Retry-After %q, want %d", r.StatusCode, r.Header.Get("Retry-After"), want)
		}
	}
	s.ask(t, "elsewhere", "ip", "b")
	for path, want := range map[string][]string{
		"/healthcheck": {"OK"},
		"/stats": {
			"ratelimit.service.rate_limit.shop.ip.total_hits: 3\n", "ratelimit.service.rate_limit.shop.ip.over_limit: 1\n",
			"ratelimit.service.rate_limit.elsewhere.domain_not_found: 1\n", "ratelimit.service.config_load_success: 1\n",
			"ratelimit.service.call.should_rate_limit.redis_error: 0\n",
		},
		"/metrics": {
			"# TYPE ratelimit_service_rate_limit_total_hits counter\nratelimit_service_rate_limit_total_hits{domain=\"shop\",key1=\"ip\"} 3\n",
			"ratelimit_service_should_rate_limit_error{err_type=\"service_error\"} 0\n", "ratelimit_service_config_load_success 1\n",
		},
		"/rlconfig": {"shop.ip: unit=MINUTE requests_per_unit=2, shadow_mode: false\n", "algorithm: token"},
	} {
		code, got := s.get(t, path)
		for _, part := range want {
			if code != 200 || !strings.Contains(got, part) {
				t.Errorf("%s: got %d\n%s\nwant in it\n%s", path, code, got, part)
			}
		}
	}
}

func TestHealth(t *testing.T) {
	s := start(t, nil, []string{"HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED=true"}, nil)
	serving := func() healthpb.HealthCheckResponse_ServingStatus {
		r, err := healthpb.NewHealthClient(s.conn).Check(context.Background(), &healthpb.HealthCheckRequest{Service: "ratelimit"})
		if err != nil {
			t.Fatal(err)
		}
		return r.GetStatus()
	}
	if code, _ := s.get(t, "/healthcheck"); code != 500 || serving() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("without rules: got %d and %v, want 500 and NOT_SERVING", code, serving())
	}
	s.write(t, "shop.yaml", shop)
	eventually(t, "the reload", func() bool { return s.rules.Health.Well() })
	if code, _ := s.get(t, "/healthcheck"); code != 200 || serving() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("with rules: got %d and %v, want 200 and SERVING", code, serving())
	}
}

// A place of a limit of requests at once is held and given back by Envoy's own messages.
func TestPlacesThroughGRPC(t *testing.T) {
	s := start(t, map[string]string{"jobs.yaml": "domain: d\ndescriptors:\n  - key: job\n    rate_limit: {concurrency: 1, hold: 30s}\n"}, nil, nil)
	ask := func(id string, release bool) pb.RateLimitResponse_Code {
		r := request("d", "job", "x")
		r.Descriptors[0].Entries = append(r.Descriptors[0].Entries, &common.RateLimitDescriptor_Entry{Key: "limitgate.place", Value: id})
		r.Descriptors[0].IsNegativeHits = release
		a, err := s.client.ShouldRateLimit(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if l := a.GetStatuses()[0].GetCurrentLimit().GetRequestsPerUnit(); l != 1 {
			t.Errorf("got a limit of %d, want 1", l)
		}
		return a.GetOverallCode()
	}
	if _, got := s.get(t, "/rlconfig"); !strings.Contains(got, "d.job: unit= requests_per_unit=0, shadow_mode: false, concurrency: 1, hold: 30s\n") {
		t.Errorf("rlconfig: got %q, want the places and how long one is held", got)
	}
	const ok, over = pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT
	for i, c := range []struct {
		id      string
		release bool
		want    pb.RateLimitResponse_Code
	}{{"a", false, ok}, {"b", false, over}, {"a", true, ok}, {"b", false, ok}} {
		if got := ask(c.id, c.release); got != c.want {
			t.Errorf("step %d: got %v, want %v", i, got, c.want)
		}
	}
}

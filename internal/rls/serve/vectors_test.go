package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/internal/rls/serve"
	"github.com/limitgate/limitgate/internal/rls/simulate"
	"github.com/limitgate/limitgate/internal/vectors"
)

// Every case that asks, through grpc-go's client and Envoy's own messages.
func TestVectorsThroughGRPC(t *testing.T) {
	asked := 0
	for _, c := range vectors.LoadRLS(t) {
		asks := func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"should_rate_limit"`) }
		if c.Params.Model != "envoy_rls" || !slices.ContainsFunc(c.Events, asks) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			var env []string
			for k, v := range c.Params.Env {
				env = append(env, k+"="+v)
			}
			zones := simulate.NewZones()
			s := start(t, files(c.Params.ConfigYAML), env, zones)
			for i, raw := range c.Events {
				var e event
				if err := json.Unmarshal(raw, &e); err != nil {
					t.Fatal(err)
				}
				if e.Op == "seed_count" {
					if err := zones.Seed(e.CacheKey, e.Value); err != nil {
						t.Fatal(err)
					}
					continue
				}
				s.clock.Store(e.AtMS * 1e6)
				a, err := s.client.ShouldRateLimit(context.Background(), e.request())
				asked++
				want := decode(t, c.Expect[i])
				if want["verdict"] == "error" {
					if status.Code(err) != codes.InvalidArgument {
						t.Errorf("event %d: got %v, want an error that it is an invalid argument", i, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got := told(a)
				for k := range want {
					if !slices.Contains([]string{"overall", "statuses", "headers", "dynamic_metadata"}, k) {
						delete(want, k)
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("event %d, %s: (-want +got)\n%s", i, raw, diff)
				}
			}
		})
	}
	if asked < 130 {
		t.Errorf("only %d requests were asked", asked)
	}
}

// fixed answers what it holds.
type fixed struct{ answer *pb.RateLimitResponse }

func (f fixed) ShouldRateLimit(context.Context, *pb.RateLimitRequest) (*pb.RateLimitResponse, error) {
	return f.answer, nil
}

// What /json answers to the answers of the service behind it.
func TestVectorsOfJSON(t *testing.T) {
	n := 0
	for _, c := range vectors.LoadRLS(t) {
		if c.Params.Model != "envoy_json" {
			continue
		}
		for i, raw := range c.Events {
			var e event
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			behind := fixed{}
			if e.Service != nil && *e.Service != "nil" {
				behind.answer = &pb.RateLimitResponse{OverallCode: pb.RateLimitResponse_Code(pb.RateLimitResponse_Code_value[*e.Service])}
			}
			w := httptest.NewRecorder()
			serve.JSON(behind).ServeHTTP(w, httptest.NewRequest(http.MethodPost, e.Path, strings.NewReader(e.Body)))
			want := decode(t, c.Expect[i])
			if float64(w.Code) != want["http_status"] || w.Header().Get("Content-Type") != want["content_type"] {
				t.Errorf("%s: got %d %s, want %v", c.ID, w.Code, w.Header().Get("Content-Type"), want)
			}
			n++
		}
	}
	if n < 4 {
		t.Errorf("only %d cases", n)
	}
}

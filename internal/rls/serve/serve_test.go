package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/serve"
	"github.com/limitgate/limitgate/internal/rls/settings"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/memzone"
)

// service is one that runs, on a clock of its own, and a client of it.
type service struct {
	dir    string
	rules  *serve.Rules
	server *serve.Server
	client pb.RateLimitServiceClient
	conn   *grpc.ClientConn
	clock  atomic.Int64
	log    *lines
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  chan struct{}
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu <- struct{}{}
	defer func() { <-l.mu }()
	return l.buf.String()
}

// start starts a service with files of rules, by zones that may be nil.
func start(t testing.TB, files map[string]string, env []string, zones decide.Zones) *service {
	t.Helper()
	s := &service{dir: t.TempDir(), log: &lines{mu: make(chan struct{}, 1)}}
	for name, text := range files {
		s.write(t, name, text)
	}
	set, err := settings.Read(env)
	if err != nil {
		t.Fatal(err)
	}
	if zones == nil {
		zones = decide.NewMemory(memzone.Config{Bytes: 1 << 20, Seed: 1})
	}
	s.rules = &serve.Rules{
		Folder:  load.Folder{Dir: s.dir, Merge: set.Merge},
		Options: decide.Options{Shadow: set.Shadow, Quota: set.Quota, StopOver: set.StopWhenOne, NearRatio: set.NearRatio, Prefix: set.KeyPrefix},
		Zones:   zones, Cache: decide.NewCache(set.LocalCache), Health: serve.NewHealth(), NeedConfig: set.NeedConfig,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
		Service: &serve.Service{
			Headers:  serve.Headers{On: set.Headers, Limit: set.LimitHeader, Remaining: set.RemainingHeader, Reset: set.ResetName},
			Metadata: set.Metadata, Counters: new(stats.Registry), Now: func() limitgate.Time { return limitgate.Time(s.clock.Load()) },
		},
	}
	if err := s.rules.Load(); err != nil {
		t.Fatal(err)
	}
	if s.server, err = serve.Open(serve.Listening{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"}, s.rules, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close(time.Second) })
	if s.conn, err = grpc.NewClient(s.server.Addr("grpc").String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.conn.Close() })
	s.client = pb.NewRateLimitServiceClient(s.conn)
	return s
}

// write writes a file of rules, as one step.
func (s *service) write(t testing.TB, name, text string) {
	t.Helper()
	at := filepath.Join(s.dir, name)
	if err := os.WriteFile(at+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(at+".new", at); err != nil {
		t.Fatal(err)
	}
}

// ask asks about one entry.
func (s *service) ask(t testing.TB, domain, key, value string) *pb.RateLimitResponse {
	t.Helper()
	a, err := s.client.ShouldRateLimit(context.Background(), request(domain, key, value))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func request(domain, key, value string) *pb.RateLimitRequest {
	return &pb.RateLimitRequest{Domain: domain, Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: key, Value: value}}}}}
}

// get reads a path of the HTTP address.
func (s *service) get(t testing.TB, path string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + s.server.Addr("http").String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// event is what an event of the vectors asks.
type event struct {
	AtMS        int64   `json:"at_ms"`
	Op          string  `json:"op"`
	Domain      string  `json:"domain"`
	Hits        uint32  `json:"hits_addend"`
	CacheKey    string  `json:"cache_key"`
	Value       uint64  `json:"value"`
	Path        string  `json:"path"`
	Body        string  `json:"body"`
	Service     *string `json:"service"`
	Descriptors []struct {
		Entries [][2]string `json:"entries"`
		Hits    *uint64     `json:"hits_addend"`
		Limit   *struct {
			Requests uint32 `json:"requests_per_unit"`
			Unit     string `json:"unit"`
		} `json:"limit"`
	} `json:"descriptors"`
}

// request makes Envoy's of it.
func (e *event) request() *pb.RateLimitRequest {
	r := &pb.RateLimitRequest{Domain: e.Domain, HitsAddend: e.Hits}
	for _, d := range e.Descriptors {
		to := &common.RateLimitDescriptor{}
		for _, x := range d.Entries {
			to.Entries = append(to.Entries, &common.RateLimitDescriptor_Entry{Key: x[0], Value: x[1]})
		}
		if d.Hits != nil {
			to.HitsAddend = wrapperspb.UInt64(*d.Hits)
		}
		if d.Limit != nil {
			to.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: d.Limit.Requests, Unit: typev3.RateLimitUnit(typev3.RateLimitUnit_value[d.Limit.Unit])}
		}
		r.Descriptors = append(r.Descriptors, to)
	}
	return r
}

// told writes an answer as the vectors have it.
func told(a *pb.RateLimitResponse) map[string]any {
	statuses := []any{}
	for _, s := range a.GetStatuses() {
		m := map[string]any{"code": s.GetCode().String(), "limit_remaining": float64(s.GetLimitRemaining())}
		if l := s.GetCurrentLimit(); l != nil {
			m["requests_per_unit"], m["unit"], m["reset_s"] = float64(l.GetRequestsPerUnit()), l.GetUnit().String(), float64(s.GetDurationUntilReset().GetSeconds())
			if l.GetName() != "" {
				m["name"] = l.GetName()
			}
		}
		statuses = append(statuses, m)
	}
	m := map[string]any{"overall": a.GetOverallCode().String(), "statuses": statuses}
	headers := map[string]any{}
	for _, h := range a.GetResponseHeadersToAdd() {
		if h.GetKey() != "Retry-After" { // ours
			headers[h.GetKey()] = h.GetValue()
		}
	}
	if len(headers) > 0 {
		m["headers"] = headers
	}
	if f := a.GetDynamicMetadata().GetFields()["metadata"]; f != nil {
		m["dynamic_metadata"] = f.GetStructValue().AsMap()
	}
	return m
}

func decode(t *testing.T, raw json.RawMessage) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func files(texts []string) map[string]string {
	m := map[string]string{}
	for i, text := range texts {
		m[fmt.Sprintf("%02d.yaml", i)] = text
	}
	return m
}

package conf

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestExporter: what otel_exporter says, and what holds without it.
func TestExporter(t *testing.T) {
	t.Parallel()
	usual := Exporter{Endpoint: "localhost:4317", Interval: 5 * time.Second, BatchSize: 512, Batches: 4, Resource: [][2]string{{"service.name", "unknown_service:limitgate"}}}
	full := Exporter{Endpoint: "[::1]:4317", TLS: true, Trusted: Word{Text: "ca.pem"}, Headers: [][2]string{{"authorization", "Bearer a"}, {"x", ""}}, Interval: time.Second,
		BatchSize: 7, Batches: 1, Resource: [][2]string{{"service.name", "shop"}, {"a", "b"}}}
	for text, want := range map[string]*Exporter{
		"": nil, "otel_service_name a;": nil,
		"otel_exporter { endpoint localhost:4317; }":        &usual,
		"otel_exporter { endpoint http://localhost:4317; }": &usual,
		`otel_resource_attr service.name late; otel_exporter { endpoint HTTPS://[::1]:4317; trusted_certificate ca.pem; header Authorization "Bearer a"; header x "";
			interval 1s; batch_size 7; batch_count 1; } otel_service_name shop; otel_resource_attr a b;`: &full,
	} {
		path := filepath.Join(t.TempDir(), "nginx.conf")
		if err := os.WriteFile(path, []byte("events {} http {\n"+text+"\n}"), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, errs := Load(Options{Path: path})
		for _, e := range errs.List() {
			t.Fatal(e)
		}
		got, wants := ReadExporter(cfg.HTTP(), errs)
		if wants != (want != nil) {
			t.Errorf("%s: got %v", text, wants)
		} else if wants {
			if diff := cmp.Diff(*want, got, cmpopts.IgnoreTypes(Pos{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		}
	}
}

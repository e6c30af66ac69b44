package pipeline

import (
	"testing"

	"google.golang.org/protobuf/proto"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// spans keeps the last span.
type spans struct {
	n    int
	last []byte
}

func (s *spans) Add(p []byte) { s.n, s.last = s.n+1, append(s.last[:0], p...) }

func (s *spans) AppendKey(dst []byte, key string) []byte { return append(dst, "#0123456789ab"...) }

// tracing are ways to have a location traced, or not.
var tracing = []struct {
	name, directives string
	spans            int
}{
	{"off", "", 0},
	{"not this one", "otel_trace $http_none;", 0},
	{"passed on", "otel_trace_context propagate;", 0},
	{"on", "otel_trace on; otel_trace_context propagate;", 1},
}

// served makes what serves one request after the other, which the limit of its location lets pass.
func served(t testing.TB, directives string) (*gateway, func()) {
	g := start(t, `limit_req_zone $binary_remote_addr zone=r:1m rate=1000r/s; access_log off;
		server { server_name h; location / { limit_req zone=r burst=100 nodelay; `+directives+` } }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = answers{}
	}
	r := g.request("GET /index HTTP/1.1", "Host: h", "User-Agent: Mozilla/5.0 (X11; Linux x86_64)", "Traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	saved := *r
	fields := append([]request.Header(nil), r.Headers...)
	var stream request.Stream = nothing{&g.client}
	now := g.now
	return g, func() {
		r.Reset()
		r.Conn, r.Stream, r.Line = saved.Conn, stream, saved.Line
		r.Headers = append(r.Headers, fields...)
		r.Method, r.Target, r.URI, r.Args, r.Host = saved.Method, saved.Target, saved.URI, saved.Args, saved.Host
		r.Major, r.Minor, r.ClientAddr = 1, 1, saved.ClientAddr
		now = now.Add(1e6)
		r.Now, r.Start = now, now
		g.program.Serve(r)
		if r.Response.Status != 200 {
			t.Fatalf("got %d", r.Response.Status)
		}
	}
}

// TestTracesMakeNoGarbage: neither requests that are traced, but for the sending, nor others.
func TestTracesMakeNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("pools forget under the race detector")
	}
	for _, c := range tracing {
		t.Run(c.name, func(t *testing.T) {
			g, serve := served(t, c.directives)
			for range 10 {
				serve()
			}
			if n := testing.AllocsPerRun(100, serve); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
			if g.spans.n > 0 != (c.spans > 0) {
				t.Errorf("got %d spans", g.spans.n)
			}
		})
	}
}

// BenchmarkTrace is what a request costs on its whole way but for the edge and the upstream, traced and not.
func BenchmarkTrace(b *testing.B) {
	for _, c := range tracing {
		b.Run(c.name, func(b *testing.B) {
			_, serve := served(b, c.directives)
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

// TestCrashesAreTraced: a request that crashes ends its span, as one that failed.
func TestCrashesAreTraced(t *testing.T) {
	g := start(t, `server { server_name h; location / { otel_trace on; } }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = crashes{}
	}
	g.get("/")
	s := new(tracepb.Span)
	if err := proto.Unmarshal(g.spans.last, s); err != nil || g.spans.n != 1 || s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("got %d spans, %v, %v", g.spans.n, s, err)
	}
}

type crashes struct{}

func (crashes) Serve(*request.Request) phase.Next { panic("on purpose") }

// TestTraceVariables: a request has one place in a trace, whoever asks for it, also where nothing is traced.
func TestTraceVariables(t *testing.T) {
	g := start(t, `log_format f "$otel_trace_id $otel_span_id $otel_parent_id $otel_parent_sampled"; access_log a f;
		server { set $first $otel_trace_id; location / { return 200 "$first $otel_trace_id $otel_span_id"; } location /x { otel_trace_context extract; return 200 "$otel_parent_id"; } }
		server { server_name later; otel_trace_context extract; location / { return 200 "$otel_trace_id $otel_parent_id $otel_parent_sampled"; } }`)
	a := g.get("/")
	id := a.body[:32]
	if want := id + " " + id + " " + a.body[66:]; a.body != want || len(a.body) != 82 {
		t.Errorf("got %q", a.body)
	}
	if log := g.files.file("a").Text(); log != id+" "+a.body[66:]+" - 0\n" {
		t.Errorf("logged %q of %q", log, a.body)
	}
	if b := g.get("/"); b.body[:32] == id {
		t.Error("two requests are of one trace")
	}
	const parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	if b := g.ask("GET / HTTP/1.1", "Host: later", parent); b.body != "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 1" {
		t.Errorf("got %q", b.body)
	}
	if g.spans.n != 0 {
		t.Errorf("got %d spans", g.spans.n)
	}
}

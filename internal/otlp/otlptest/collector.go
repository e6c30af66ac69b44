// Package otlptest is a collector of spans for tests: a gRPC server with OTLP's own service, which keeps what it is sent and fails as it
// is told. It needs nothing of the exporter that it judges.
package otlptest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Collector keeps spans. It is safe for concurrent use.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer
	Addr string

	grpc *grpc.Server
	over chan struct{}

	mu       sync.Mutex // guards what follows
	spans    []*tracepb.Span
	calls    int
	resource map[string]any
	scope    string
	meta     metadata.MD
	answer   func(n int) (*collectorpb.ExportTraceServiceResponse, error)
	held     chan struct{}
}

// Start starts a collector on an address of loopback; "" finds one. The test ends it.
func Start(t testing.TB, addr string, options ...grpc.ServerOption) *Collector {
	t.Helper()
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Addr: ln.Addr().String(), grpc: grpc.NewServer(options...), over: make(chan struct{})}
	collectorpb.RegisterTraceServiceServer(c.grpc, c)
	// Owned by the test: ends when the server is stopped.
	go func() {
		defer close(c.over)
		_ = c.grpc.Serve(ln) // ends with Stop
	}()
	t.Cleanup(c.Stop)
	return c
}

// Stop ends the collector; calls under way fail.
func (c *Collector) Stop() {
	c.Hold(false)
	c.grpc.Stop()
	<-c.over
}

// Answer says what calls get from now on, by how many spans they bring; nil: they are taken. Spans of a call that gets an error are
// not kept.
func (c *Collector) Answer(f func(spans int) (*collectorpb.ExportTraceServiceResponse, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

// Hold has calls wait, until it is called again with false.
func (c *Collector) Hold(wait bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case wait && c.held == nil:
		c.held = make(chan struct{})
	case !wait && c.held != nil:
		close(c.held)
		c.held = nil
	}
}

// Export implements OTLP's service.
func (c *Collector) Export(ctx context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	c.calls++
	held, answer := c.held, c.answer
	c.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	n := 0
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			n += len(ss.Spans)
		}
	}
	out := new(collectorpb.ExportTraceServiceResponse)
	if answer != nil {
		var err error
		if out, err = answer(n); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta, _ = metadata.FromIncomingContext(ctx)
	for _, rs := range r.ResourceSpans {
		c.resource = Attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.ScopeSpans {
			c.scope = ss.GetScope().GetName() + " " + ss.GetScope().GetVersion()
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	return out, nil
}

// Seen is what a collector was sent.
type Seen struct {
	Spans    []*tracepb.Span
	Calls    int            // those that failed included
	Resource map[string]any // of the last spans
	Scope    string         // likewise, with its version
	Meta     metadata.MD    // of the last call
}

// Seen tells what came so far.
func (c *Collector) Seen() Seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Seen{append([]*tracepb.Span(nil), c.spans...), c.calls, c.resource, c.scope, c.meta}
}

// Await waits until there are so many spans, and gives them.
func (c *Collector) Await(t testing.TB, spans int) []*tracepb.Span {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s := c.Seen()
		if len(s.Spans) >= spans {
			return s.Spans
		}
		if time.Now().After(end) {
			t.Fatalf("got %d spans, want %d", len(s.Spans), spans)
		}
	}
}

// Attributes are pairs by their names, each as Go has it.
func Attributes(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, a := range list {
		m[a.Key] = plain(a.Value)
	}
	return m
}

func plain(v *commonpb.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return v.IntValue
	case *commonpb.AnyValue_DoubleValue:
		return v.DoubleValue
	case *commonpb.AnyValue_ArrayValue:
		var list []any
		for _, e := range v.ArrayValue.GetValues() {
			list = append(list, plain(e))
		}
		return list
	}
	return nil
}

package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/otlp/otlptest"
	"github.com/limitgate/limitgate/internal/span"
)

// said gathers lines of an error log.
type said struct {
	mu    sync.Mutex
	lines []string
}

func (s *said) say(level errorlog.Level, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprint(level, " ", line))
}

func (s *said) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

// rig is an exporter that is not patient.
type rig struct {
	*Exporter
	stats Stats
	said  said
}

func newRig(t *testing.T, addr string, change func(*Config)) *rig {
	t.Helper()
	g := new(rig)
	c := Config{Endpoint: addr, Version: "1.2.3", Interval: time.Hour, BatchSize: 4, Batches: 2, Stats: &g.stats, Say: g.said.say,
		Resource: [][2]string{{"service.name", "shop"}}, Headers: [][2]string{{"authorization", "Bearer hunter2hunter2"}},
		Patience: Patience{First: 10 * time.Millisecond, Most: 50 * time.Millisecond, Flush: 10 * time.Second}}
	if change != nil {
		change(&c)
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	g.Exporter = e
	t.Cleanup(func() { _ = e.Close() })
	return g
}

// sink is where spans of a test are written: the exporter, which hides no keys.
type sink struct{ *Exporter }

func (sink) AppendKey(dst []byte, key string) []byte { return append(dst, key...) }

// add adds spans with names from 0 on.
func (g *rig) add(n int) {
	var s span.Span
	for i := range n {
		s.Begin(span.Remote{}, nil)
		s.Decide(true, sink{g.Exporter}, limitgate.Now)
		s.End(fmt.Append(nil, i), 1, 2, false)
	}
}

// want waits until so many spans were sent, dropped and failed, and none waits.
func (g *rig) want(t *testing.T, sent, dropped, failed uint64) {
	t.Helper()
	is := func() bool {
		return g.stats.Sent.Load() == sent && g.stats.Dropped.Load() == dropped && g.stats.Failed.Load() == failed && g.stats.Waiting.Load() == 0
	}
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got %d sent, %d dropped, %d failed, %d waiting, want %d, %d, %d, 0", g.stats.Sent.Load(), g.stats.Dropped.Load(), g.stats.Failed.Load(),
				g.stats.Waiting.Load(), sent, dropped, failed)
		}
	}
}

// TestBatches: a full batch goes at once, the rest at the end, and what a collector sees is OTLP.
func TestBatches(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	g := newRig(t, c.Addr, nil)
	g.add(4)
	c.Await(t, 4)
	g.add(3)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	s := c.Seen()
	if len(s.Spans) != 7 || s.Calls != 2 || s.Resource["service.name"] != "shop" || s.Scope != "limitgate 1.2.3" {
		t.Errorf("got %d spans with %d calls of %v by %s", len(s.Spans), s.Calls, s.Resource, s.Scope)
	}
	if got := s.Meta.Get("authorization"); len(got) != 1 || got[0] != "Bearer hunter2hunter2" {
		t.Errorf("got the header %v", got)
	}
	if got := strings.Join(s.Meta.Get("user-agent"), ""); !strings.HasPrefix(got, "limitgate/1.2.3 ") {
		t.Errorf("got the agent %s", got)
	}
	for i, sp := range s.Spans {
		if want := fmt.Sprint(i % 4); sp.Name != want {
			t.Errorf("span %d: got %s, want %s", i, sp.Name, want)
		}
	}
	g.want(t, 7, 0, 0)
	g.add(1) // after the end
	g.want(t, 7, 1, 0)
}

// TestInterval: few spans don't wait for more.
func TestInterval(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	g := newRig(t, c.Addr, func(c *Config) { c.Interval = 20 * time.Millisecond })
	g.add(1)
	c.Await(t, 1)
	g.want(t, 1, 0, 0)
}

// TestLarge: spans that are large are sent in more calls than they would be by number.
func TestLarge(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	g := newRig(t, c.Addr, func(c *Config) { c.BatchSize = 1000 })
	var s span.Span
	for range 700 {
		s.Begin(span.Remote{}, nil)
		s.Decide(true, sink{g.Exporter}, limitgate.Now)
		s.Text("a", strings.Repeat("x", 2000))
		s.End(nil, 1, 2, false)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if s := c.Seen(); len(s.Spans) != 700 || s.Calls != 2 {
		t.Errorf("got %d spans with %d calls", len(s.Spans), s.Calls)
	}
}

// TestAway: while nobody answers spans wait, as many as may, and what is more is dropped and counted; when a collector is back it gets
// what waits. The error log hears of it once.
func TestAway(t *testing.T) {
	t.Parallel()
	gone := otlptest.Start(t, "")
	gone.Stop()
	g := newRig(t, gone.Addr, nil)
	begun := time.Now()
	g.add(100)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("who adds waited %v", took)
	}
	if waiting, dropped := g.stats.Waiting.Load(), g.stats.Dropped.Load(); waiting != 8 || dropped != 92 {
		t.Errorf("got %d waiting and %d dropped, want 8 and 92", waiting, dropped)
	}
	gatewaytest.Eventually(t, 5*time.Second, "a call that failed", func() bool { return g.stats.Faults.Load() > 1 })
	c := otlptest.Start(t, gone.Addr)
	c.Await(t, 8)
	g.want(t, 8, 92, 0)
	lines := g.said.all()
	if len(lines) != 1 || !strings.Contains(lines[0], "otel_exporter: sending spans to "+c.Addr+" failed (Unavailable: ") {
		t.Errorf("got %q", lines)
	}
}

// TestSlow: a collector that does not answer costs what does not fit, and is asked once at a time; a call has its time.
func TestSlow(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	c.Hold(true)
	g := newRig(t, c.Addr, func(c *Config) { c.Patience.Call, c.Patience.Told = 100*time.Millisecond, time.Nanosecond })
	g.add(20)
	gatewaytest.Eventually(t, 5*time.Second, "a call that took too long", func() bool { return g.stats.Faults.Load() > 0 })
	c.Hold(false)
	g.want(t, 8, 12, 0)
	if lines := strings.Join(g.said.all(), "\n"); !strings.Contains(lines, "DeadlineExceeded") || !strings.Contains(lines, "12 were lost so far") {
		t.Errorf("got %s", lines)
	}
}

// TestVerdicts: what a collector says of a call is obeyed, and told without what lets us in.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	info := func(d time.Duration) error {
		s, err := status.New(codes.ResourceExhausted, "later").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(d)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for _, c := range []struct {
		name         string
		errs         []error // of the first calls
		rejected     int64
		sent, failed uint64
		calls        uint64
		told         string
	}{
		{"good", nil, 0, 4, 0, 1, ""},
		{"unavailable, then good", []error{status.Error(codes.Unavailable, "soon"), status.Error(codes.Aborted, "again")}, 0, 4, 0, 3, "Unavailable: soon"},
		{"refused", []error{status.Error(codes.Unauthenticated, "\x1b[1mno \"hunter2hunter2\" here: Bearer hunter2hunter2")}, 0, 0, 4, 1, `Unauthenticated: \x1b[1mno "***" here: ***)`},
		{"asked to wait", []error{info(30 * time.Millisecond)}, 0, 4, 0, 2, "ResourceExhausted: later"},
		{"exhausted for good", []error{status.Error(codes.ResourceExhausted, "no")}, 0, 0, 4, 1, "ResourceExhausted: no"},
		{"some rejected", nil, 3, 1, 3, 1, "some spans were rejected: three"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			to := otlptest.Start(t, "")
			n := 0
			to.Answer(func(int) (*collectorpb.ExportTraceServiceResponse, error) {
				if n++; n <= len(c.errs) {
					return nil, c.errs[n-1]
				}
				r := new(collectorpb.ExportTraceServiceResponse)
				if c.rejected > 0 {
					r.PartialSuccess = &collectorpb.ExportTracePartialSuccess{RejectedSpans: c.rejected, ErrorMessage: "three"}
				}
				return r, nil
			})
			g := newRig(t, to.Addr, nil)
			g.add(4)
			g.want(t, c.sent, 0, c.failed)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if got := g.stats.Calls.Load(); got != c.calls {
				t.Errorf("got %d calls, want %d", got, c.calls)
			}
			lines := strings.Join(g.said.all(), "\n")
			if c.told == "" && lines != "" || !strings.Contains(lines, c.told) || strings.Contains(lines, "hunter2") {
				t.Errorf("got %s, want %s", lines, c.told)
			}
		})
	}
}

// TestAge: a batch that nobody takes for too long makes way.
func TestAge(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	c.Answer(func(int) (*collectorpb.ExportTraceServiceResponse, error) {
		return nil, status.Error(codes.Unavailable, "no")
	})
	g := newRig(t, c.Addr, func(c *Config) { c.Patience.Age = 50 * time.Millisecond })
	g.add(4)
	g.want(t, 0, 0, 4)
}

// TestCloseIsBounded: a collector that hangs does not keep the process.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	c := otlptest.Start(t, "")
	c.Hold(true)
	g := newRig(t, c.Addr, func(c *Config) { c.Patience.Flush = 100 * time.Millisecond })
	g.add(8)
	begun := time.Now()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	g.want(t, 0, 0, 8)
	if err := g.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// TestTLS: the collector is judged by the authority that is named, and by no other.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := gatewaytest.NewAuthority(t, "collectors")
	own := a.Issue("collector", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	c := otlptest.Start(t, "", grpc.Creds(credentials.NewServerTLSFromCert(own)))
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	good := newRig(t, c.Addr, func(c *Config) { c.TLS = &tls.Config{RootCAs: pool} })
	good.add(4)
	good.want(t, 4, 0, 0)
	bad := newRig(t, c.Addr, func(c *Config) { c.TLS, c.Patience.Age = &tls.Config{RootCAs: x509.NewCertPool()}, time.Nanosecond })
	bad.add(4)
	bad.want(t, 0, 0, 4)
	if lines := strings.Join(bad.said.all(), "\n"); !strings.Contains(lines, "certificate") {
		t.Errorf("got %s", lines)
	}
}

func TestPartial(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "0 ", "\x0a\x05\x08\x02\x12\x01x": "2 x", "\x0a\x05\x08": "0 ", "\x12\x01a\x0a\x02\x08\x07": "7 ", "\xff": "0 ", "\x0a\x01\xff": "0 "} {
		n, why := partial([]byte(text))
		if got := fmt.Sprint(n, " ", why); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzPartial: whatever a collector answers is read.
func FuzzPartial(f *testing.F) {
	f.Add([]byte("\x0a\x05\x08\x02\x12\x01x"))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if _, why := partial(p); len(why) > len(p) {
			t.Errorf("got %q of %q", why, p)
		}
	})
}

func TestVerbatim(t *testing.T) {
	t.Parallel()
	in, out := []byte("abc"), []byte(nil)
	p, err := verbatim{}.Marshal(&in)
	if err = errors.Join(err, verbatim{}.Unmarshal(p, &out)); err != nil || string(out) != "abc" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := (verbatim{}).Marshal(3); err == nil {
		t.Error("a number was encoded")
	}
	if err := (verbatim{}).Unmarshal(p, new(int)); err == nil {
		t.Error("a number was decoded")
	}
}

package daemon

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/limitgate/limitgate/internal/otlp/otlptest"
)

const (
	parentTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	parentSpan  = "00f067aa0ba902b7"
	parent      = "00-" + parentTrace + "-" + parentSpan + "-01"
)

// traced is a gateway with a collector, and a backend that tells which trace it was told of.
type traced struct {
	*gate
	to   *otlptest.Collector
	seen int // spans
}

func startTraced(t *testing.T, http string) *traced {
	t.Helper()
	back := httptest.NewServer(echo())
	t.Cleanup(back.Close)
	c := otlptest.Start(t, "")
	text := strings.ReplaceAll(http, "$back", back.Listener.Addr().String())
	return &traced{gate: start(t, strings.ReplaceAll(text, "$collector", c.Addr)), to: c}
}

// echo answers with the trace it was told of; /5xx fails.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/5xx") {
			w.WriteHeader(502)
		}
		_, _ = io.WriteString(w, strings.Join(r.Header["Traceparent"], "+")+" "+strings.Join(r.Header["Tracestate"], "+"))
	})
}

// ask sends a request, with header lines, and returns its status and body.
func (g *traced) ask(path string, lines ...string) (int, string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), "GET", "http://"+g.addr+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, l := range lines {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Add(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// span asks and returns the one span that comes of it.
func (g *traced) span(path string, lines ...string) *tracepb.Span {
	g.t.Helper()
	g.ask(path, lines...)
	g.seen++
	list := g.to.Await(g.t, g.seen)
	if len(list) != g.seen {
		g.t.Fatalf("%s: got %d spans more", path, len(list)-g.seen+1)
	}
	return list[g.seen-1]
}

// events are those of a span, in one line each.
func events(s *tracepb.Span) (list []string) {
	for _, e := range s.Events {
		a := otlptest.Attributes(e.Attributes)
		list = append(list, fmt.Sprint(e.Name, " ", a["limitgate.limit"], " ", a["limitgate.zone"], " ", a["limitgate.outcome"]))
	}
	return list
}

const sendTraces = `otel_exporter { endpoint $collector; interval 5ms; header authorization hunter2hunter2; }
	otel_service_name shop; otel_resource_attr deployment test; otel_trace on; otel_trace_context propagate;
	`

// TestSpans: what is told of requests is what nginx's module tells, and a child of the client's span whose child is the backend's.
func TestSpans(t *testing.T) {
	g := startTraced(t, sendTraces+`
		server { listen $addr; server_name shop.example;
			location / { proxy_pass http://$back; add_header X-Trace "$otel_trace_id $otel_span_id $otel_parent_id $otel_parent_sampled"; }
			location = /exact { otel_span_name "exact $arg_a"; otel_span_attr tenant $arg_t; otel_span_attr http.request.header.x $http_x; proxy_pass http://$back; }
			location /page { error_page 404 = /other; root nowhere; } location /other { otel_trace off; proxy_pass http://$back; }
			location /old { rewrite ^ /new last; } location /new { proxy_pass http://$back; }
		}`)
	now := time.Now()
	s := g.span("/a?b=1", "traceparent: "+parent, "tracestate: a=b", "tracestate: c=d", "User-Agent: test")
	if hex.EncodeToString(s.TraceId) != parentTrace || hex.EncodeToString(s.ParentSpanId) != parentSpan || s.TraceState != "a=b,c=d" || s.Name != "/" ||
		s.Kind != tracepb.Span_SPAN_KIND_SERVER || s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("got %v", s)
	}
	if begun, ended := time.Unix(0, int64(s.StartTimeUnixNano)), time.Unix(0, int64(s.EndTimeUnixNano)); begun.Before(now.Add(-time.Second)) || ended.Before(begun) || ended.After(time.Now().Add(time.Second)) {
		t.Errorf("got from %v to %v, want about %v", begun, ended, now)
	}
	attrs := otlptest.Attributes(s.Attributes)
	port := attrs["net.sock.peer.port"]
	_, own, _ := net.SplitHostPort(g.addr)
	if diff := cmp.Diff(map[string]any{
		"http.method": "GET", "http.target": "/a?b=1", "http.route": "/", "http.scheme": "http", "http.flavor": "1.1", "http.user_agent": "test",
		"http.request_content_length": int64(0), "http.response_content_length": int64(len(parent) + 1 + len("a=b,c=d")), "http.status_code": int64(200),
		"net.host.name": "shop.example", "net.sock.peer.addr": "127.0.0.1", "net.sock.peer.port": port, "net.host.port": attrs["net.host.port"],
	}, attrs); diff != "" || fmt.Sprint(attrs["net.host.port"]) != own || port == int64(0) {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if seen := g.to.Seen(); seen.Resource["service.name"] != "shop" || seen.Resource["deployment"] != "test" || seen.Meta.Get("authorization")[0] != "hunter2hunter2" {
		t.Errorf("got the resource %v and headers %v", seen.Resource, seen.Meta)
	}
	_, told := g.ask("/", "traceparent: "+parent, "tracestate: a=b")
	g.seen++
	child := g.to.Await(t, g.seen)[g.seen-1]
	if want := "00-" + parentTrace + "-" + hex.EncodeToString(child.SpanId) + "-01 a=b"; told != want {
		t.Errorf("the backend was told %s, want %s", told, want)
	}
	root := g.span("/", "traceparent: 00-bad", "tracestate: a=b")
	if len(root.ParentSpanId) != 0 || len(root.TraceId) != 16 || root.TraceState != "" {
		t.Errorf("got %v", root)
	}
	if twice := g.span("/", "traceparent: "+parent, "traceparent: "+parent); len(twice.ParentSpanId) != 0 {
		t.Errorf("two parents: got %v", twice)
	}
	exact := g.span("/exact?a=1&t=x", "X: y")
	if a := otlptest.Attributes(exact.Attributes); exact.Name != "exact 1" || a["tenant"] != "x" || fmt.Sprint(a["http.request.header.x"]) != "[y]" || a["http.route"] != "/exact" {
		t.Errorf("got %s with %v", exact.Name, a)
	}
	if failed := g.span("/5xx"); failed.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("got %v", failed.Status)
	}
	for path, route := range map[string]string{"/page": "/other", "/old": "/new"} { // once, wherever it ends
		if s := g.span(path); s.Name != route || otlptest.Attributes(s.Attributes)["http.target"] != path {
			t.Errorf("%s: got %v", path, s)
		}
	}
}

// TestEvents: each decision of a limit is an event, with its outcome, what it cost, and nobody's key.
func TestEvents(t *testing.T) {
	g := startTraced(t, sendTraces+`
		limit_req_zone $arg_k zone=req:1m rate=1r/m; limit_req_zone $arg_k zone=slow:1m rate=20r/s; limit_req_zone $arg_k zone=dry:1m rate=1r/m;
		limit_req_zone $arg_k zone=part:1m rate=1r/m; limit_conn_zone $arg_k zone=conn:1m; limit_count_zone $arg_k zone=count:1m limit=1 window=1h;
		limit_token_zone $arg_k zone=token:1m rate=1r/m capacity=9;
		limit_store gone redis://127.0.0.1:1 timeout=20ms;
		limit_req_zone $arg_k zone=open:1m rate=1r/m store=gone; limit_req_zone $arg_k zone=closed:1m rate=1r/m store=gone; limit_req_zone $arg_k zone=local:1m rate=1r/m store=gone;
		limit_req_status 429; root nowhere;
		server { listen $addr;
			location /req { limit_req zone=req; }
			location /slow { limit_req zone=slow burst=9; }
			location /dry { limit_req zone=dry; limit_req_dry_run on; }
			location /part { limit_req zone=part canary=0%; }
			location /all { limit_conn conn 9; limit_count zone=count; limit_token zone=token cost=2; limit_req zone=slow burst=9 nodelay; }
			location /open { limit_req zone=open fail=open; } location /closed { limit_req zone=closed fail=closed; } location /local { limit_req zone=local fail=local; }
			location /none { return 200 "no limit"; }
		}`)
	for _, c := range []struct {
		path  string
		times int // the last is looked at
		want  string
	}{
		{"/req", 1, "limit limit_req req passed"},
		{"/req", 1, "limit limit_req req refused"},
		{"/slow", 2, "limit limit_req slow delayed"},
		{"/dry", 1, "limit limit_req dry dry_run_passed"},
		{"/dry", 1, "limit limit_req dry dry_run_refused"},
		{"/part", 1, "limit limit_req part watched_passed"},
		{"/part", 1, "limit limit_req part watched_refused"},
		{"/all", 1, "limit limit_req slow passed, limit limit_count count passed, limit limit_token token passed, limit limit_conn conn passed"},
		{"/all", 1, "limit limit_count count refused"},
		{"/open", 1, "limit limit_req open fail_open"},
		{"/closed", 1, "limit limit_req closed fail_closed"},
		{"/local", 1, "limit limit_req local local_passed"},
		{"/none", 1, ""},
	} {
		var s *tracepb.Span
		for range c.times {
			s = g.span(c.path + "?k=" + c.path[1:] + "person")
		}
		if got := strings.Join(events(s), ", "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
		for _, e := range s.Events {
			key := otlptest.Attributes(e.Attributes)["limitgate.key_hash"]
			if want := g.observed.hashed(c.path[1:] + "person"); key != want {
				t.Errorf("%s: got the key %v, want %s", c.path, key, want)
			}
			if at := e.TimeUnixNano; at < s.StartTimeUnixNano || at > s.EndTimeUnixNano {
				t.Errorf("%s: at %d, want between %d and %d", c.path, at, s.StartTimeUnixNano, s.EndTimeUnixNano)
			}
		}
	}
	delayed := otlptest.Attributes(g.span("/slow?k=other").Events[0].Attributes)
	if delayed["limitgate.delay"] != 0.0 || delayed["limitgate.excess"] != 0.0 {
		t.Errorf("got %v of a first request", delayed)
	}
	delayed = otlptest.Attributes(g.span("/slow?k=other").Events[0].Attributes)
	if d, excess := delayed["limitgate.delay"].(float64), delayed["limitgate.excess"].(float64); d < 0.001 || d > 0.05 || excess <= 0 || excess > 1 {
		t.Errorf("got %v of a second request", delayed)
	}
}

// TestWhatIsTraced: by the client's own decision, by a part, and not at all.
func TestWhatIsTraced(t *testing.T) {
	g := startTraced(t, `otel_exporter { endpoint $collector; interval 5ms; }
		map $otel_trace_id $none { default off; } split_clients $otel_trace_id $every { 100% on; * off; }
		server { listen $addr;
			location /off { otel_trace off; proxy_pass http://$back; } location /default { proxy_pass http://$back; }
			location /parent { otel_trace $otel_parent_sampled; otel_trace_context propagate; proxy_pass http://$back; }
			location /none { otel_trace $none; proxy_pass http://$back; } location /every { otel_trace $every; proxy_pass http://$back; }
			location /ignore { otel_trace on; proxy_pass http://$back; } location /inject { otel_trace_context inject; proxy_pass http://$back; }
		}`)
	no := strings.TrimSuffix(parent, "1") + "0"
	for _, c := range []struct{ path, sent, told string }{
		{"/off", parent, parent},
		{"/default", parent, parent}, // passed on as it is
		{"/parent", no, "00-" + parentTrace + "-*-00"},
		{"/none", parent, parent},
		{"/inject", parent, "00-*-*-00"},
	} {
		_, told := g.ask(c.path, "traceparent: "+c.sent)
		if !like(c.told, strings.TrimSpace(told)) {
			t.Errorf("%s: the backend was told %s, want %s", c.path, told, c.told)
		}
	}
	for _, path := range []string{"/parent", "/every", "/ignore"} { // the first that come to the collector
		s := g.span(path, "traceparent: "+parent)
		if under := len(s.ParentSpanId) > 0; s.Name != path || under != (path == "/parent") {
			t.Errorf("%s: got %v", path, s)
		}
	}
}

// like tells whether a text is a pattern whose stars are any words without a dash.
func like(pattern, text string) bool {
	want, got := strings.Split(pattern, "-"), strings.Split(text, "-")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

// TestSubrequestsHaveNoSpans: what auth_request asks is part of the request; a mirror is told of the trace, and is none.
func TestSubrequestsHaveNoSpans(t *testing.T) {
	mirrored := make(chan string, 1)
	back := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { mirrored <- r.Header.Get("Traceparent") }))
	defer back.Close()
	g := startTraced(t, sendTraces+`limit_req_zone $remote_addr zone=asked:1m rate=9r/s;
		server { listen $addr;
			location /a { auth_request /ask; mirror /copy; proxy_pass http://$back; }
			location /ask { internal; limit_req zone=asked burst=9 nodelay; proxy_pass http://$back; }
			location /copy { internal; proxy_pass http://`+back.Listener.Addr().String()+`; }
		}`)
	s := g.span("/a?k=1")
	if got := fmt.Sprint(events(s)); s.Name != "/a" || got != "[limit limit_req asked passed]" {
		t.Errorf("got %s of %v", got, s)
	}
	if got, want := <-mirrored, "00-"+hex.EncodeToString(s.TraceId)+"-"+hex.EncodeToString(s.SpanId)+"-01"; got != want {
		t.Errorf("the mirror was told %s, want %s", got, want)
	}
	time.Sleep(30 * time.Millisecond) // in which another span would come
	if n := len(g.to.Seen().Spans); n != 1 {
		t.Errorf("got %d spans", n)
	}
}

// TestTracesOfHTTP2: streams are traced as requests are.
func TestTracesOfHTTP2(t *testing.T) {
	g := startTraced(t, sendTraces+`server { listen $addr; http2 on; location / { proxy_pass http://$back; } }`)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(context.Background(), "GET", "http://"+g.addr+"/two", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", parent)
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	told, _ := io.ReadAll(a.Body)
	_ = a.Body.Close()
	s := g.to.Await(t, 1)[0]
	attrs := otlptest.Attributes(s.Attributes)
	if attrs["http.flavor"] != "2.0" || attrs["http.target"] != "/two" || hex.EncodeToString(s.ParentSpanId) != parentSpan || attrs["http.status_code"] != int64(200) {
		t.Errorf("got %v with %v", s, attrs)
	}
	if want := "00-" + parentTrace + "-" + hex.EncodeToString(s.SpanId) + "-01 "; string(told) != want {
		t.Errorf("the backend was told %s, want %s", told, want)
	}
}

// TestTracesOutliveReloads: what waits is kept over a reload, whatever it changes, and sent at the end.
func TestTracesOutliveReloads(t *testing.T) {
	const server = ` otel_trace on; server { listen $addr; location / { root nowhere; } location = /metrics { otel_trace off; metrics; } }`
	g := startTraced(t, `otel_exporter { endpoint $collector; interval 1h; }`+server)
	exporter := g.current.spans.exporter
	g.ask("/1")
	reload := func(block string) {
		t.Helper()
		g.config(strings.ReplaceAll(block, "$collector", g.to.Addr) + server)
		if err := g.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	reload(`otel_exporter { endpoint $collector; interval 1h; }`)
	if g.current.spans.exporter != exporter {
		t.Error("a reload that changes nothing made another exporter")
	}
	g.ask("/2")
	if n := len(g.to.Seen().Spans); n != 0 {
		t.Errorf("got %d spans before their time", n)
	}
	_, text := g.fetch("/metrics")
	wantLines(t, text, `limitgate_trace_spans_waiting 2`, `limitgate_trace_spans_total\{result="sent"\} 0`)
	reload(`otel_exporter { endpoint $collector; interval 2h; }`)
	g.to.Await(t, 2) // of the exporter that ended
	g.ask("/3")
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(g.to.Seen().Spans); n != 3 {
		t.Errorf("got %d spans at the end, want 3", n)
	}
	if s := g.exports.state(); s.Sent != 3 || s.Waiting != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestCollectorAway: requests are served as ever while nobody takes their spans, and no log tells what is sent to the collector.
func TestCollectorAway(t *testing.T) {
	gone := freeAddr(t)
	g := start(t, `otel_exporter { endpoint `+gone+`; interval 1ms; batch_size 1; batch_count 2; header authorization hunter2hunter2; }
		otel_trace on; server { listen $addr; location / { root nowhere; } location = /metrics { otel_trace off; metrics; } }`)
	begun := time.Now()
	for range 50 {
		if status, _ := g.fetch("/a"); status != 404 {
			t.Fatalf("got status %d", status)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("50 requests took %v", took)
	}
	for end := time.Now().Add(5 * time.Second); g.exports.state().Faults == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	_, text := g.fetch("/metrics")
	wantLines(t, text, `limitgate_trace_spans_waiting 2`, `limitgate_trace_spans_total\{result="dropped"\} 48`, `limitgate_trace_exports_total\{result="bad"\} [1-9][0-9]*`)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if log := g.read("error.log"); !strings.Contains(log, "otel_exporter: sending spans to "+gone+" failed (Unavailable: ") || strings.Contains(log, "hunter2") {
		t.Errorf("got the log\n%s", log)
	}
}

// TestHashed: what is written out is HMAC-SHA256.
func TestHashed(t *testing.T) {
	var o observed
	for i := range o.secret {
		o.secret[i] = byte(i)
	}
	for _, n := range []int{0, 1, 64, 191, 192, 193, 5000} {
		key := strings.Repeat("k", n)
		if got, want := o.hashed(key), hashedSlowly(&o, key); got != want {
			t.Errorf("%d bytes: got %s, want %s", n, got, want)
		}
	}
}

package span

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

// kept is a sink that keeps the last span.
type kept struct{ b []byte }

func (k *kept) Add(b []byte)                          { k.b = append(k.b[:0], b...) }
func (k *kept) AppendKey(dst []byte, _ string) []byte { return append(dst, "#hidden"...) }

func clock() limitgate.Time { return 1_700_000_000_000_000_005 }

// decoded is the last span, as OTLP's own code reads it.
func (k *kept) decoded(t *testing.T) *tracepb.Span {
	t.Helper()
	s := new(tracepb.Span)
	if err := proto.Unmarshal(k.b, s); err != nil {
		t.Fatal(err)
	}
	if n := len(s.ProtoReflect().GetUnknown()); n > 0 {
		t.Errorf("%d bytes are of no field", n)
	}
	return s
}

func begun(sink Sink) *Span {
	s := new(Span)
	r, _ := ParseParent([]byte(known))
	s.Begin(r, []byte("a=b"))
	s.Decide(true, sink, clock)
	return s
}

func TestSpan(t *testing.T) {
	t.Parallel()
	k := new(kept)
	s := begun(k)
	s.Text("text", "é")
	s.Bytes("long", []byte(strings.Repeat("x", 200)))
	s.Int("number", -5)
	s.List("list", []byte("one"))
	s.Limit(&Limit{Zone: "login", Kind: "limit_req", Outcome: "delayed", Key: "SECRET", Delay: 1500 * time.Millisecond, Excess: 2500})
	s.End([]byte("/a"), 7, 9, true)
	got := k.decoded(t)
	if string(got.TraceId) != string(s.Trace[:]) || string(got.SpanId) != string(s.Context.Span[:]) || string(got.ParentSpanId) != string(s.Parent[:]) ||
		got.TraceState != "a=b" || got.Name != "/a" || got.Kind != tracepb.Span_SPAN_KIND_SERVER || got.StartTimeUnixNano != 7 || got.EndTimeUnixNano != 9 ||
		got.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || got.Flags != 0x301 {
		t.Errorf("got %v", got)
	}
	attrs := map[string]string{}
	for _, a := range got.Attributes {
		attrs[a.Key] = a.Value.String()
	}
	if got.Attributes[0].Value.GetStringValue() != "é" || got.Attributes[1].Value.GetStringValue() != strings.Repeat("x", 200) || got.Attributes[2].Value.GetIntValue() != -5 ||
		got.Attributes[3].Value.GetArrayValue().GetValues()[0].GetStringValue() != "one" || len(attrs) != 4 {
		t.Errorf("got the attributes %v", attrs)
	}
	if len(got.Events) != 1 {
		t.Fatalf("got %d events", len(got.Events))
	}
	e := got.Events[0]
	if e.Name != Decision || e.TimeUnixNano != uint64(clock()) {
		t.Errorf("got the event %v", e)
	}
	told := map[string]any{}
	for _, a := range e.Attributes {
		if f := a.Value.GetDoubleValue(); f != 0 {
			told[a.Key] = f
		} else {
			told[a.Key] = a.Value.GetStringValue()
		}
	}
	if diff := cmp.Diff(map[string]any{"limitgate.zone": "login", "limitgate.limit": "limit_req", "limitgate.outcome": "delayed", "limitgate.delay": 1.5,
		"limitgate.excess": 2.5, "limitgate.key_hash": "#hidden"}, told); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(string(k.b), "SECRET") {
		t.Error("the key is told")
	}
}

// TestText: whatever a client sends, who reads the span can read all of it.
func TestText(t *testing.T) {
	t.Parallel()
	k := new(kept)
	for _, text := range []string{"", "\xff", "a\xc3", "\xed\xa0\x80", strings.Repeat("é", maxText), strings.Repeat("x", maxText-1) + "日", strings.Repeat("\xff", maxText+9), strings.Repeat("\x80", maxText+9)} {
		s := begun(k)
		s.Bytes("b", []byte(text))
		s.Text("t", text)
		s.End([]byte(text), 1, 1, false)
		got := k.decoded(t)
		a, b := got.Attributes[0].Value.GetStringValue(), got.Attributes[1].Value.GetStringValue()
		if a != b || a != got.Name || !utf8.ValidString(a) || len(a) > 3*maxText {
			t.Errorf("%.20q: got %.20q, %.20q and %.20q", text, a, b, got.Name)
		}
		if utf8.ValidString(text) && !strings.HasPrefix(text, a) {
			t.Errorf("%.20q: got %.20q", text, a)
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	k := new(kept)
	s := begun(k)
	for range maxEvents + 3 {
		s.Limit(&Limit{Zone: "a"})
	}
	s.End(nil, 1, 1, false)
	if got := k.decoded(t); len(got.Events) != maxEvents || got.DroppedEventsCount != 3 {
		t.Errorf("got %d events, and %d that were dropped", len(got.Events), got.DroppedEventsCount)
	}
}

// TestUnrecorded: a span that nobody wants keeps nothing.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	s := new(Span)
	s.Begin(Remote{}, nil)
	s.Decide(false, new(kept), clock)
	s.Limit(&Limit{Zone: "a"})
	if s.Recorded() || len(s.b) > 0 {
		t.Errorf("got %d bytes", len(s.b))
	}
}

func TestNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	k, s := new(kept), new(Span)
	r, _ := ParseParent([]byte(known))
	once := func() {
		s.Begin(r, nil)
		s.Decide(true, k, clock)
		s.Limit(&Limit{Zone: "login", Kind: "limit_req", Outcome: "passed", Key: "192.0.2.1"})
		s.Text("http.user_agent", "curl")
		s.Bytes("http.target", []byte("/é"))
		s.Int("http.status_code", 200)
		s.End([]byte("/"), 1, 2, false)
	}
	once()
	if n := testing.AllocsPerRun(100, once); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkSpan(b *testing.B) {
	k, s := new(kept), new(Span)
	for b.Loop() {
		s.Begin(Remote{}, nil)
		s.Decide(true, k, clock)
		s.Limit(&Limit{Zone: "login", Kind: "limit_req", Outcome: "passed", Key: "192.0.2.1"})
		for range 12 {
			s.Text("http.user_agent", "Mozilla/5.0 (X11; Linux x86_64)")
		}
		s.End([]byte("/"), 1, 2, false)
	}
}

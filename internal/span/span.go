package span

import (
	"math"
	"time"

	"github.com/limitgate/limitgate"
)

// Sink takes spans. It is safe for concurrent use, and makes nobody wait.
type Sink interface {
	// Add takes an encoded span, of which it keeps a copy or nothing.
	Add(span []byte)
	// AppendKey appends what stands for the key of a limit where keys are not to be shown.
	AppendKey(dst []byte, key string) []byte
}

const (
	// maxEvents is how many events a span keeps; others are counted.
	maxEvents = 128
	// maxSpare is how much memory a span keeps for the next request.
	maxSpare = 16 << 10
)

// Span is a request in a trace. It belongs to the goroutine that serves the request. The zero value is ready for Begin.
type Span struct {
	Context
	Decided bool // whether it is Sampled is known

	sink   Sink // nil: nothing is recorded
	now    func() limitgate.Time
	b      []byte // the span so far; fields may stand in any order
	key    []byte // what stands for the last key
	events int
	lost   int
}

// Begin makes it a new span: below a parent, or with the zero one the root of a trace. State is that of the parent, and stays as it
// is as long as the span.
func (s *Span) Begin(parent Remote, state []byte) {
	b := s.b[:0]
	if cap(b) > maxSpare {
		b = nil
	}
	*s = Span{Context: child(parent, state), b: b, key: s.key}
}

// Decide says, once, whether the span is recorded: now tells the time of its events, and to takes it at its end; nil: nobody does.
func (s *Span) Decide(sampled bool, to Sink, now func() limitgate.Time) {
	s.Decided, s.Sampled = true, sampled
	if sampled && to != nil {
		s.sink, s.now = to, now
	}
}

// Recorded tells whether anything that is said of the span is kept.
func (s *Span) Recorded() bool { return s.sink != nil }

// Limit is what a limit decided about the request.
type Limit struct {
	Zone    string
	Kind    string // the directive
	Outcome string
	Key     string // never told
	Delay   time.Duration
	Excess  limitgate.Excess // thousandths of a request
}

// Decision is the name of the event that tells what a limit decided.
const Decision = "limit"

// Limit adds an event.
func (s *Span) Limit(d *Limit) {
	if s.sink == nil {
		return
	}
	if s.events == maxEvents {
		s.lost++
		return
	}
	s.events++
	b, at := open(s.b, spanEvent)
	b = appendFixed(b, eventTime, uint64(s.now()))
	b = appendText(b, eventName, Decision)
	b = appendPair(b, eventAttribute, "limitgate.zone", d.Zone)
	b = appendPair(b, eventAttribute, "limitgate.limit", d.Kind)
	b = appendPair(b, eventAttribute, "limitgate.outcome", d.Outcome)
	b = appendFloat(b, eventAttribute, "limitgate.delay", d.Delay.Seconds())
	b = appendFloat(b, eventAttribute, "limitgate.excess", float64(d.Excess)/1000)
	s.key = s.sink.AppendKey(s.key[:0], d.Key)
	b = appendPair(b, eventAttribute, "limitgate.key_hash", s.key)
	s.b = shut(b, at)
}

// appendFloat appends an attribute that is a number.
func appendFloat(b []byte, field int, key string, value float64) []byte {
	b, at := open(b, field)
	b = appendText(b, pairKey, key)
	b, in := open(b, pairValue)
	b = appendFixed(b, valueFloat, math.Float64bits(value))
	return shut(shut(b, in), at)
}

// Text adds an attribute.
func (s *Span) Text(key, value string) { s.b = appendPair(s.b, spanAttribute, key, value) }

// Bytes adds an attribute that is a text.
func (s *Span) Bytes(key string, value []byte) { s.b = appendPair(s.b, spanAttribute, key, value) }

// Int adds an attribute that is a number.
func (s *Span) Int(key string, value int64) { s.b = appendInt(s.b, spanAttribute, key, value) }

// List adds an attribute that is a list of one text.
func (s *Span) List(key string, value []byte) {
	b, at := open(s.b, spanAttribute)
	b = appendText(b, pairKey, key)
	b, in := open(b, pairValue)
	b, list := open(b, valueArray)
	b, one := open(b, arrayValue)
	b = appendText(b, valueText, value)
	s.b = shut(shut(shut(shut(b, one), list), in), at)
}

// What OTLP calls a span that serves a request, and one that failed.
const (
	kindServer  = 2
	codeError   = 2
	flagHasKind = 0x100 // it is known whether the parent is elsewhere
	flagRemote  = 0x200
)

// End gives the span away. It may be begun anew then.
func (s *Span) End(name []byte, begun, ended limitgate.Time, failed bool) {
	b := appendBytes(s.b, spanTrace, s.Trace[:])
	b = appendBytes(b, spanID, s.Span[:])
	flags := uint32(sampledFlag | flagHasKind)
	if s.Parent.Valid() {
		b = appendBytes(b, spanParent, s.Parent[:])
		flags |= flagRemote
	}
	if len(s.State) > 0 {
		b = appendText(b, spanState, s.State)
	}
	b = appendText(b, spanName, name)
	b = appendNumber(b, spanKind, kindServer)
	b = appendFixed(b, spanStart, uint64(begun))
	b = appendFixed(b, spanEnd, uint64(max(begun, ended)))
	if s.lost > 0 {
		b = appendNumber(b, spanLost, uint64(s.lost))
	}
	if failed {
		var at int
		b, at = open(b, spanStatus)
		b = shut(appendNumber(b, statusCode, codeError), at)
	}
	b = appendTag(b, spanFlags, fixed32)
	b = append(b, byte(flags), byte(flags>>8), byte(flags>>16), byte(flags>>24))
	s.b = b
	s.sink.Add(b)
	s.sink = nil
}

// AppendResource appends what OTLP says of the sender as a whole, a Resource in a field: pairs of names and values.
func AppendResource(b []byte, field int, pairs [][2]string) []byte {
	b, at := open(b, field)
	for _, p := range pairs {
		b = appendPair(b, 1, p[0], p[1])
	}
	return shut(b, at)
}

// AppendScope appends who made the spans, an InstrumentationScope in a field.
func AppendScope(b []byte, field int, name, version string) []byte {
	b, at := open(b, field)
	b = appendText(b, 1, name)
	b = appendText(b, 2, version)
	return shut(b, at)
}

// Copy makes it a place in a trace that is known, of which nothing is recorded.
func (s *Span) Copy(c Context) { *s = Span{Context: c, Decided: true, b: s.b[:0], key: s.key} }

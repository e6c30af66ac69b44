package span

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
)

// TraceID names a trace; all zero names none.
type TraceID [16]byte

// ID names a span; all zero names none.
type ID [8]byte

// Valid tells whether there is one.
func (t TraceID) Valid() bool { return t != TraceID{} }

// Valid tells whether there is one.
func (s ID) Valid() bool { return s != ID{} }

// Append appends the name in hexadecimal digits.
func (t TraceID) Append(dst []byte) []byte { return hex.AppendEncode(dst, t[:]) }

// Append appends the name in hexadecimal digits.
func (s ID) Append(dst []byte) []byte { return hex.AppendEncode(dst, s[:]) }

// Context is where a request stands in a trace. State is the tracestate that came with Parent, in memory of whoever set it.
type Context struct {
	Trace         TraceID
	Span          ID
	Parent        ID // of none: it is the root
	ParentSampled bool
	Sampled       bool
	State         []byte
}

// Remote is what a traceparent says.
type Remote struct {
	Trace   TraceID
	Span    ID
	Sampled bool
}

// child makes the context of a new span: below a parent if there is one, else the root of a new trace. The names tell spans apart
// and are no secret.
func child(of Remote, state []byte) (c Context) {
	if of.Trace.Valid() {
		c = Context{Trace: of.Trace, Parent: of.Span, ParentSampled: of.Sampled, State: state}
	}
	for !c.Trace.Valid() {
		put(c.Trace[:8], rand.Uint64())
		put(c.Trace[8:], rand.Uint64())
	}
	for !c.Span.Valid() {
		put(c.Span[:], rand.Uint64())
	}
	return c
}

func put(p []byte, v uint64) {
	for i := range p {
		p[i] = byte(v >> (8 * i))
	}
}

// The form of a traceparent: version-trace-span-flags.
const (
	atTrace = 3
	atSpan  = atTrace + 2*len(TraceID{}) + 1
	atFlags = atSpan + 2*len(ID{}) + 1
	// ParentLen is how long a traceparent is.
	ParentLen = atFlags + 2
)

// sampledFlag is the flag of a trace that is recorded.
const sampledFlag = 1

// ParseParent reads a traceparent as the W3C's Trace Context says: lower case digits, no zero names, and of a version that is not known
// what the known one says. It reports false for anything else, and then there is no parent.
func ParseParent(p []byte) (r Remote, ok bool) {
	if len(p) < ParentLen || p[atTrace-1] != '-' || p[atSpan-1] != '-' || p[atFlags-1] != '-' {
		return Remote{}, false
	}
	var version, flags [1]byte
	if !digits(version[:], p[:2]) || version[0] == 0xff || len(p) > ParentLen && (version[0] == 0 || p[ParentLen] != '-') {
		return Remote{}, false
	}
	if !digits(r.Trace[:], p[atTrace:]) || !digits(r.Span[:], p[atSpan:]) || !digits(flags[:], p[atFlags:]) || !r.Trace.Valid() || !r.Span.Valid() {
		return Remote{}, false
	}
	r.Sampled = flags[0]&sampledFlag != 0
	return r, true
}

// digits reads lower case hexadecimal digits, as many as to has room for.
func digits(to, p []byte) bool {
	for i := range to {
		high, low := digit(p[2*i]), digit(p[2*i+1])
		if high|low > 15 {
			return false
		}
		to[i] = high<<4 | low
	}
	return true
}

func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

// AppendParent appends the traceparent that tells others of the span.
func (c *Context) AppendParent(dst []byte) []byte {
	dst = append(dst, "00-"...)
	dst = append(c.Trace.Append(dst), '-')
	dst = append(c.Span.Append(dst), '-', '0')
	if c.Sampled {
		return append(dst, '1')
	}
	return append(dst, '0')
}

// maxState is how long a tracestate may be that is passed on: the most that all must pass on.
const maxState = 512

// GoodState tells whether a tracestate may be passed on: what clients write there goes into heads and spans.
func GoodState(p []byte) bool {
	return len(p) <= maxState && !bytes.ContainsFunc(p, func(c rune) bool { return c < ' ' && c != '\t' || c > '~' })
}

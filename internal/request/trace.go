package request

import (
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/span"
)

// The fields that carry a trace (W3C Trace Context).
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// Tracing gives the request's place in a trace, a new one where nobody has asked before: below that of the client, where its
// traceparent counts.
func (r *Request) Tracing() *span.Span {
	if r.Span != nil {
		return r.Span
	}
	if r.ownSpan == nil {
		r.ownSpan = new(span.Span)
	}
	r.Span = r.ownSpan
	var parent span.Remote
	var state []byte
	if r.Settings != nil && r.Settings.TraceExtract {
		if parent = r.remoteParent(); parent.Trace.Valid() {
			state = r.remoteState()
		}
	}
	r.Span.Begin(parent, state)
	return r.Span
}

// remoteParent is the span that the client names. Who names two names none.
func (r *Request) remoteParent() (p span.Remote) {
	seen := false
	for i := range r.Headers {
		if h := &r.Headers[i]; header.EqualFold(h.Name, traceParent) {
			if seen {
				return span.Remote{}
			}
			seen = true
			p, _ = span.ParseParent(h.Value)
		}
	}
	return p
}

// remoteState is what came beside it, in one line.
func (r *Request) remoteState() (state []byte) {
	for i := range r.Headers {
		h := &r.Headers[i]
		switch {
		case !header.EqualFold(h.Name, traceState):
		case state == nil:
			state = h.Value
		default:
			joined := append(append(append(make([]byte, 0, len(state)+1+len(h.Value)), state...), ','), h.Value...)
			state = joined
		}
	}
	if !span.GoodState(state) {
		return nil
	}
	return state
}

// InjectTrace makes what goes to upstreams name the request's span, in the place of what the client named.
func (r *Request) InjectTrace() {
	var room [span.ParentLen]byte
	r.replaceHeader(traceParent, r.Keep(r.Tracing().AppendParent(room[:0])))
	r.replaceHeader(traceState, r.Span.State)
}

// replaceHeader makes a field of the client the only one of its name; an empty value takes it away.
func (r *Request) replaceHeader(name string, value []byte) {
	kept := r.Headers[:0]
	for _, h := range r.Headers {
		if !header.EqualFold(h.Name, name) {
			kept = append(kept, h)
		}
	}
	if r.Headers = kept; len(value) > 0 {
		r.Headers = append(r.Headers, Header{Name: fieldNames[name], Value: value})
	}
}

var fieldNames = map[string][]byte{traceParent: []byte(traceParent), traceState: []byte(traceState)}

// joinTrace takes over the place in a trace that a subrequest asked for first.
func (r *Request) joinTrace(sub *Request) {
	if r.Span == nil && sub.Span != nil {
		r.Span, r.ownSpan, sub.ownSpan = sub.Span, sub.ownSpan, r.ownSpan
	}
	sub.Span = nil
}

// followTrace tells a copy of the request where it stands in a trace. It records nothing: it may outlive the request's span.
func (r *Request) followTrace(sub *Request) {
	if r.Span == nil {
		return
	}
	c := r.Span.Context
	c.State = sub.copied(c.State)
	if sub.ownSpan == nil {
		sub.ownSpan = new(span.Span)
	}
	sub.Span = sub.ownSpan
	sub.Span.Copy(c)
}

package vars

import "github.com/limitgate/limitgate/internal/request"

// traceVars tell where the request stands in a trace. Who asks first makes it begin.
var traceVars = map[string]Variable{
	"otel_trace_id": func(r *request.Request, dst []byte) ([]byte, bool) { return r.Tracing().Trace.Append(dst), true },
	"otel_span_id":  func(r *request.Request, dst []byte) ([]byte, bool) { return r.Tracing().Span.Append(dst), true },
	"otel_parent_id": func(r *request.Request, dst []byte) ([]byte, bool) {
		if s := r.Tracing(); s.Parent.Valid() {
			return s.Parent.Append(dst), true
		}
		return dst, false
	},
	"otel_parent_sampled": func(r *request.Request, dst []byte) ([]byte, bool) {
		if r.Tracing().ParentSampled {
			return append(dst, '1'), true
		}
		return append(dst, '0'), true
	},
}

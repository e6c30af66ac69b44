package pipeline

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// settle ends what a request holds, whatever ended the request: it is deferred, and takes a panic of a handler as one more
// way to end.
func (p *Program) settle(r *request.Request) {
	if cause := recover(); cause != nil {
		crashed(r, "serving a request", cause)
		status := r.Response.Status
		if !r.Response.Sent {
			status = 500
		}
		r.Leave(status)
	}
	if err := r.Release(); err != nil {
		r.Logf(errorlog.Error, "giving back places of limit_conn: %s", err)
	}
}

// record writes the access log. It is deferred too: a request that crashed is logged as well.
func (p *Program) record(r *request.Request) {
	defer func() {
		if cause := recover(); cause != nil {
			crashed(r, "logging a request", cause)
		}
	}()
	if h := p.scopes[r.Location].handlers[phase.Record]; h != nil {
		h.Serve(r)
	}
}

// endTrace ends the request's span, when all is told of it.
func (p *Program) endTrace(r *request.Request) {
	if r.Span == nil || !r.Span.Recorded() {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			crashed(r, "telling of a request", cause)
		}
	}()
	p.scopes[r.Location].trace.End(r)
}

// crashed logs a panic in one line, with the places in the code that led to it.
func crashed(r *request.Request, doing string, cause any) {
	var callers [16]uintptr
	// Above here are runtime.Callers, this function, the deferred one, and the panic itself.
	frames := runtime.CallersFrames(callers[:runtime.Callers(4, callers[:])])
	var trace strings.Builder
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			trace.WriteString(" < " + filepath.Base(f.Function) + ":" + strconv.Itoa(f.Line))
		}
		if !more {
			break
		}
	}
	r.Logf(errorlog.Alert, "panic while %s: %v%s", doing, cause, trace.String())
}

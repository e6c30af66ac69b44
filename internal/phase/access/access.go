package access

import (
	"slices"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// check is one way to decide whether a request may go on.
type check interface {
	// ask returns passes, silent, or the status to refuse the request with. any tells that another check may let in who this
	// one refuses.
	ask(r *request.Request, any bool) int
}

// What a check returns besides a status.
const (
	silent = 0 // it has nothing to say of the request
	passes = 1
	left   = 2 // there is nobody to answer any more
)

// handler is the checks of one scope, in nginx's order, and what they do together: satisfy.
type handler struct {
	checks []check
	any    bool          // one that passes is enough
	delay  time.Duration // of a 401: auth_delay
}

var _ phase.Handler = (*handler)(nil)

// Serve asks the checks (ngx_http_core_access_phase). What a check itself asks for is not checked.
func (h *handler) Serve(r *request.Request) phase.Next {
	if r.IsSub() {
		return phase.Continue
	}
	status := 0
	for _, c := range h.checks {
		verdict := c.ask(r, h.any)
		switch {
		case verdict == silent:
		case verdict == passes && h.any:
			if status == 401 {
				unask(r)
			}
			return phase.Continue
		case verdict == passes:
		case verdict == left:
			return phase.Done
		case h.any && (verdict == 403 || verdict == 401):
			if status != 401 {
				status = verdict
			}
		default:
			return h.refuse(r, verdict)
		}
	}
	if status == 0 {
		return phase.Continue
	}
	if status == 403 {
		logForbidden(r)
	}
	return h.refuse(r, status)
}

// unask takes back what a check that did not matter in the end had asked the client for.
func unask(r *request.Request) {
	r.Response.Headers = slices.DeleteFunc(r.Response.Headers, func(h request.Header) bool { return h.ID == header.WWWAuthenticate })
}

// refuse answers with a status; a 401 may have to wait (ngx_http_core_auth_delay).
func (h *handler) refuse(r *request.Request, status int) phase.Next {
	if status == 401 && h.delay > 0 {
		r.Logf(errorlog.Info, "delaying unauthorized request")
		if !r.Stream.Sleep(h.delay) {
			r.Logf(errorlog.Info, "client prematurely closed connection")
			r.Leave(499)
			return phase.Done
		}
	}
	r.Fail(status)
	return phase.Fail
}

package rewrite

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// answer is what a return makes of a request.
type answer interface {
	serve(r *request.Request) phase.Next
}

// failure is a return of an error code without a text: the program finds the page.
type failure struct{ status int }

func (f failure) serve(r *request.Request) phase.Next {
	r.Fail(f.status)
	return phase.Fail
}

// redirect is a return of a redirecting code.
type redirect struct {
	status int
	target *vars.Template
}

func (d redirect) serve(r *request.Request) phase.Next {
	target := evaluate(r, d.target, state{plain: true})
	r.SkipsBody = true
	r.Fail(d.status)
	r.Response.Location = target
	return phase.Fail
}

// text is a return with a body of its own, or without one below 400.
type text struct {
	status int
	body   *vars.Template
}

func (t text) serve(r *request.Request) phase.Next {
	body := evaluate(r, t.body, state{plain: true})
	if t.status < 100 {
		// No client understands such a status: nginx sends nothing, and logs it.
		r.Leave(t.status)
		return phase.Done
	}
	r.SkipsBody = true
	if r.Answer(t.status, r.ContentType(), body) == request.ErrRefused {
		return phase.Fail
	}
	return phase.Done // also where it failed: the client is gone then, and the edge knows
}

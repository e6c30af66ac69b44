package rewrite

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// handler is the directives of one scope in their order. A return or break is the last one.
type handler struct {
	sets   []set
	answer answer // nil: goes on
}

var _ phase.Handler = (*handler)(nil)

// answer is what a return makes of a request.
type answer interface {
	serve(r *request.Request) phase.Next
}

// Serve sets the variables and answers, if the scope has an answer.
func (h *handler) Serve(r *request.Request) phase.Next {
	for i := range h.sets {
		h.sets[i].run(r)
	}
	if h.answer == nil {
		return phase.Continue
	}
	return h.answer.serve(r)
}

// set gives a variable its value.
type set struct {
	variable vars.Setter
	value    *vars.Template
}

func (s *set) run(r *request.Request) {
	s.variable(r, evaluate(r, s.value))
}

// evaluate returns a template's value in memory that lives as long as the request.
func evaluate(r *request.Request, t *vars.Template) []byte {
	if value, constant := t.Constant(); constant {
		return value
	}
	return r.Claim(t.Append(r, r.Scratch()))
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
	target := evaluate(r, d.target)
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
	body := evaluate(r, t.body)
	if t.status < 100 {
		// No client understands such a status: nginx sends nothing, and logs it.
		r.Leave(t.status)
		return phase.Done
	}
	r.SkipsBody = true
	if r.Answer(t.status, r.Settings.TypeOf(r.URI), body) == request.ErrRefused {
		return phase.Fail
	}
	return phase.Done // also where it failed: the client is gone then, and the edge knows
}

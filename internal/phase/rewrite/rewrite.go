package rewrite

import (
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Scopes puts a request into another scope of the program: its settings, and the handlers of the phases to come.
type Scopes interface {
	Enter(r *request.Request, scope int)
}

// handler is the directives of one server or location in their order, with those of the if blocks in it among them.
type handler struct {
	steps  []step
	scopes Scopes
	log    bool // rewrite_log
	server bool // it stands before the match phase, which follows anyway
}

var _ phase.Handler = (*handler)(nil)

// kind is what a step does.
type kind uint8

const (
	sets     kind = iota
	branches      // goes on behind the block unless the condition holds
	rewrites
	answers
	breaks // ends the directives, and keeps the request in its location
	ends   // ends the directives: behind a rewrite with a flag
)

// step is one directive. Steps are values, and what they do is told by their kind, so that a request that runs them makes no
// garbage.
type step struct {
	kind   kind
	set    set
	cond   condition
	rule   *rule
	answer answer
	scope  int // of the block, where the condition of an if in a location holds; else -1
	past   int // the step behind the block, or behind the ends of a rewrite, for a request that does not fit
}

// state is what the directives of one scope have made of a request so far.
type state struct {
	changed bool // its path: it has to look for its location anew
	plain   bool // captures are taken as they are: a path was replaced (e->quote of nginx is 0)
}

// Serve runs the directives (ngx_http_rewrite_handler).
func (h *handler) Serve(r *request.Request) phase.Next {
	var now state
	for at := 0; at < len(h.steps); {
		s := &h.steps[at]
		at++
		switch s.kind {
		case sets:
			s.set.run(r, now)
		case branches:
			if !s.cond.holds(r, now, h.log) {
				at = s.past
			} else if s.scope >= 0 {
				h.scopes.Enter(r, s.scope)
			}
		case rewrites:
			if !s.rule.fits(r, h.log) {
				at = s.past
				continue
			}
			if next := s.rule.run(r, &now, h.log); next != phase.Continue {
				return next
			}
		case answers:
			return s.answer.serve(r)
		case breaks:
			if now.changed {
				r.Detached, now.changed = true, false
			}
			at = len(h.steps)
		case ends:
			at = len(h.steps)
		}
	}
	if now.changed && !h.server {
		return phase.Redirect
	}
	return phase.Continue
}

// set gives a variable its value.
type set struct {
	variable vars.Setter
	value    *vars.Template
}

func (s *set) run(r *request.Request, now state) {
	s.variable(r, evaluate(r, s.value, now))
}

// evaluate returns a template's value in memory that lives as long as the request. As in nginx captures are escaped in it
// until a rewrite has replaced the path.
func evaluate(r *request.Request, t *vars.Template, now state) []byte {
	if value, constant := t.Constant(); constant {
		return value
	}
	if now.plain {
		return r.Claim(t.Append(r, r.Scratch()))
	}
	return r.Claim(t.AppendArgument(r, r.Scratch()))
}

package decision

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/trust"
)

// Place is limit_decision as one scope has it. It is immutable and serves many goroutines.
type Place struct {
	trusted     *trust.Nets // nil: nobody
	from        conf.DecisionSource
	header      bool
	keepSlashes bool
	derived     []int // slots that hold what was worked out from the question
}

// Compile returns the place of a scope, or nil where its requests are no questions.
func Compile(env *phase.Env, s *conf.Scope) *Place {
	d, found := s.Get("limit_decision")
	if !found {
		return nil
	}
	c, _ := conf.ReadDecision(d, env.Errors)
	p := &Place{trusted: env.Trusted(s), from: c.From, header: c.Header, derived: env.Vars.Derived()}
	if d, found := s.Get("merge_slashes"); found {
		merge, _ := d.Flag(env.Errors)
		p.keepSlashes = !merge
	}
	return p
}

// Content is the handler of the place's content: it says yes. rest is what the place would answer with otherwise, which
// still has the pages of errors; it may be nil.
func (p *Place) Content(rest phase.Handler) phase.Handler { return &content{p, rest} }

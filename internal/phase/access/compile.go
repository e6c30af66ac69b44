package access

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// Compile builds the checks in force at a scope. asker makes the subrequests of auth_request.
func Compile(env *phase.Env, s *conf.Scope, asker Asker) phase.Handler {
	h := &handler{}
	if d, found := s.Get("satisfy"); found {
		h.any = strings.EqualFold(d.Arg(0), "any")
	}
	if d, found := s.Get("auth_delay"); found {
		h.delay, _ = d.Duration(env.Errors, 0)
	}
	if l := compileRules(env, s); l != nil {
		h.checks = append(h.checks, l)
	}
	if b := compileBasic(env, s); b != nil {
		h.checks = append(h.checks, b)
	}
	if a := compileAsking(env, s, asker); a != nil {
		h.checks = append(h.checks, a)
	}
	if len(h.checks) == 0 {
		return nil
	}
	return h
}

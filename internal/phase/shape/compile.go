package shape

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Compile returns the shaper of a scope. There always is one: also where no limit_rate is in force, an answer of an upstream
// or a set may name a rate for one request.
func Compile(env *phase.Env, s *conf.Scope) request.Shaper {
	h := &Handler{now: env.Now}
	for _, d := range s.All("add_header") {
		add, ok := conf.ReadAddHeader(d, env.Errors)
		if !ok {
			continue
		}
		text := env.Vars.CompileWord(d.Args[1], env.Errors)
		if text == nil {
			continue
		}
		f := field{name: []byte(add.Name), always: add.Always}
		f.replace = strings.EqualFold(add.Name, "Last-Modified") || strings.EqualFold(add.Name, "ETag")
		if fixed, ok := text.Constant(); ok {
			f.fixed = fixed
		} else {
			f.text = text
		}
		h.fields = append(h.fields, f)
	}
	h.rate = compileAmount(env, s, "limit_rate")
	h.after = compileAmount(env, s, "limit_rate_after")
	return h
}

func compileAmount(env *phase.Env, s *conf.Scope, name string) amount {
	d, ok := s.Get(name)
	if !ok {
		return amount{}
	}
	text := env.Vars.CompileWord(d.Args[0], env.Errors)
	if text == nil {
		return amount{}
	}
	if _, ok := text.Constant(); !ok {
		return amount{text: text}
	}
	n, _ := d.Size(env.Errors, 0) // what is no size is a fault that is reported
	return amount{fixed: n}
}

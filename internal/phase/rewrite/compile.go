package rewrite

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/vars"
)

// Compile builds what a scope itself says; nothing of it is inherited. Directives behind a return or a break are checked
// and left out.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	h := &handler{}
	ended := false
	for _, d := range s.Own("set", "return", "break") {
		switch d.Name {
		case "set":
			if one, good := compileSet(env, d); good && !ended {
				h.sets = append(h.sets, one)
			}
		case "return":
			if a := compileReturn(env, d); a != nil && !ended {
				h.answer, ended = a, true
			}
		case "break":
			ended = true
		}
	}
	if len(h.sets) == 0 && h.answer == nil {
		return nil
	}
	return h
}

func compileSet(env *phase.Env, d *conf.Directive) (set, bool) {
	name, dollar := strings.CutPrefix(d.Arg(0), "$")
	if !dollar {
		return set{}, false // reported when it was read
	}
	variable, err := env.Vars.Setter(name)
	if err != nil {
		vars.Report(env.Errors, d.At(0), err)
		return set{}, false
	}
	value := env.Vars.CompileWord(d.Args[1], env.Errors)
	return set{variable, value}, value != nil
}

// compileReturn follows ngx_http_script_return_code and ngx_http_send_response. It returns nil after an error.
func compileReturn(env *phase.Env, d *conf.Directive) answer {
	ret, good := conf.ReadReturn(d, env.Errors)
	if !good {
		return nil
	}
	body := env.Vars.CompileWord(conf.Word{Text: ret.Text, Pos: d.At(len(d.Args) - 1)}, env.Errors)
	switch {
	case body == nil:
		return nil
	case isRedirect(ret.Code):
		return redirect{ret.Code, body}
	case ret.Code >= 400 && ret.Text == "":
		return failure{ret.Code}
	}
	return text{ret.Code, body}
}

// isRedirect reports whether a code sends its text as Location.
func isRedirect(code int) bool {
	switch code {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

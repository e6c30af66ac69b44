package pipeline

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// errorPage is one code of an error_page directive.
type errorPage struct {
	status int
	answer int // the status to answer with; 0: what the page says
	target *vars.Template
}

// compileErrorPages reads the error_page directives in force at a scope.
func compileErrorPages(env *phase.Env, s *conf.Scope) []errorPage {
	var pages []errorPage
	for _, d := range s.All("error_page") {
		e, good := conf.ReadErrorPage(d, env.Errors)
		if !good {
			continue
		}
		target := env.Vars.CompileWord(d.Args[len(d.Args)-1], env.Errors)
		if target == nil {
			continue
		}
		for _, code := range e.Codes {
			p := errorPage{status: code, answer: e.Response, target: target}
			if !e.Change {
				p.answer = answerStatus(code)
			}
			pages = append(pages, p)
		}
	}
	return pages
}

// find returns the page of a status, the first that was given one.
func (s *scope) errorPage(status int) *errorPage {
	for i := range s.errorPages {
		if s.errorPages[i].status == status {
			return &s.errorPages[i]
		}
	}
	return nil
}

// send goes where an error_page points (ngx_http_send_error_page) and returns where the walk goes on.
func (j *journey) send(page *errorPage) int {
	r := j.r
	r.ErrStatus = page.answer
	target := valueOf(r, page.target)
	switch {
	case len(target) > 0 && target[0] == '/':
		if string(r.Method) != "HEAD" {
			r.Method = methodGet
		}
		path, args, _ := bytes.Cut(target, []byte{'?'})
		r.Detour = request.Detour{Path: path, Args: args}
		return j.detour()
	case len(target) > 0 && target[0] == '@':
		r.Detour = request.Detour{Path: target}
		return j.detour()
	}
	if !isRedirect(page.answer) {
		r.ErrStatus = 302
	}
	r.Response.Location = target
	place(r)
	return j.page(r.ErrStatus)
}

var methodGet = []byte("GET")

// valueOf returns a template's value in memory that lives as long as the request.
func valueOf(r *request.Request, t *vars.Template) []byte {
	if value, constant := t.Constant(); constant {
		return value
	}
	return r.Claim(t.Append(r, r.Scratch()))
}

package pipeline

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
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
		return j.inside(target)
	case len(target) > 0 && target[0] == '@':
		return j.named(target)
	}
	if !isRedirect(page.answer) {
		r.ErrStatus = 302
	}
	r.Response.Location = target
	place(r)
	return j.page(r.ErrStatus)
}

// inside sends the request to another path, as if it had been asked for.
func (j *journey) inside(target []byte) int {
	r := j.r
	if string(r.Method) != "HEAD" {
		r.Method = methodGet
	}
	path, args, _ := bytes.Cut(target, []byte{'?'})
	if !j.mayRedirect(`internally redirecting to "%s"`, path) {
		return j.fail()
	}
	r.URI, r.Args = path, args
	r.Internal, r.Rewritten = true, true
	j.enter(j.p.servers[r.Server].scope)
	return atServer
}

// named sends the request to a location that has a name and no path. Its own path stays.
func (j *journey) named(name []byte) int {
	r := j.r
	if !j.mayRedirect(`redirect to named location "%s"`, name) {
		return j.fail()
	}
	location, found := j.p.servers[r.Server].locations.Named(name)
	if !found {
		r.Logf(errorlog.Error, `could not find named location "%s"`, name)
		r.Fail(500)
		return j.fail()
	}
	r.Internal = true
	j.enter(location)
	return atLocation
}

var methodGet = []byte("GET")

// valueOf returns a template's value in memory that lives as long as the request.
func valueOf(r *request.Request, t *vars.Template) []byte {
	if value, constant := t.Constant(); constant {
		return value
	}
	return r.Claim(t.Append(r, r.Scratch()))
}

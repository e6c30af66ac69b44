package access

import (
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Asker makes subrequests.
type Asker interface {
	// Ask serves a subrequest of r for a path, up to the head of its answer. It and what it set in its variables are there
	// until Part, which must follow; r does nothing meanwhile.
	Ask(r *request.Request, path []byte) *request.Request
	Part(r, sub *request.Request)
}

// asking is auth_request of one scope: another location, and mostly the service behind it, says whether a request may go on.
type asking struct {
	asker Asker
	path  []byte
	sets  []setting
}

// setting is auth_request_set: what a variable becomes, with the variables of the subrequest.
type setting struct {
	set   vars.Setter
	value *vars.Template
}

// compileAsking returns nil where nobody is asked.
func compileAsking(env *phase.Env, s *conf.Scope, asker Asker) *asking {
	a := &asking{asker: asker}
	for _, d := range s.All("auth_request_set") {
		name, dollar := strings.CutPrefix(d.Arg(0), "$")
		if !dollar {
			continue // reported when it was read
		}
		set, err := env.Vars.Setter(name)
		if err != nil {
			vars.Report(env.Errors, d.At(0), err)
			continue
		}
		if value := env.Vars.CompileWord(d.Args[1], env.Errors); value != nil {
			a.sets = append(a.sets, setting{set, value})
		}
	}
	d, found := s.Get("auth_request")
	if !found || d.Arg(0) == "off" || d.Arg(0) == "" {
		return nil
	}
	a.path = []byte(d.Arg(0))
	return a
}

// ask implements check (ngx_http_auth_request_handler). Who only wants to know what the limits say has nobody to ask.
func (a *asking) ask(r *request.Request, _ bool) int {
	if r.Report != nil {
		return passes
	}
	sub := a.asker.Ask(r, a.path)
	defer a.asker.Part(r, sub)
	if sub.Response.Silent {
		r.Leave(sub.Response.Status)
		return left
	}
	for _, s := range a.sets {
		s.set(r, sub.Claim(s.value.Append(sub, sub.Scratch())))
	}
	switch status := sub.Response.Status; {
	case status >= 200 && status < 300:
		return passes
	case status == 403:
		return 403
	case status == 401:
		pass(r, sub.Response.Headers, isChallenge)
		if !slices.ContainsFunc(r.Response.Headers, isChallenge) { // it may be hidden there
			pass(r, sub.Upstream, isChallenge)
		}
		return 401
	case status == 429:
		pass(r, sub.Response.Headers, isLimit)
		return 429
	default:
		doing := ""
		if sub.ProxyHost != nil { // what nginx's log thinks the connection is still at
			doing = " while sending to client"
		}
		r.Logf(errorlog.Error, "auth request unexpected status: %d%s", status, doing)
		return 500
	}
}

// pass adds fields of the subrequest's answer to the request's.
func pass(r *request.Request, from []request.Header, which func(request.Header) bool) {
	for _, h := range from {
		if which(h) {
			r.Response.Headers = append(r.Response.Headers, h)
		}
	}
}

func isChallenge(h request.Header) bool { return h.ID == header.WWWAuthenticate }

// isLimit picks what tells a client of its limits.
func isLimit(h request.Header) bool {
	return h.ID == header.RetryAfter || begins(h.Name, "ratelimit") || begins(h.Name, "x-ratelimit-")
}

// begins reports whether a name begins with low, which is in lower case.
func begins(name []byte, low string) bool {
	return len(name) >= len(low) && header.EqualFold(name[:len(low)], low)
}

package status

import (
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// handler answers with numbers.
type handler struct{ count func() vars.Connections }

// Compile returns the handler of a scope, or nil where another one answers. As in nginx, of stub_status and what passes requests
// on in one place the later one does, and so it is with metrics and health; that may also stand in a block inside.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	var last *conf.Directive
	for _, name := range []string{"stub_status", "metrics", "health", "proxy_pass", "grpc_pass"} {
		d, found := s.Get(name)
		switch {
		case !found || last != nil && last.Scope == d.Scope && last.Pos.Order > d.Pos.Order:
		case last == nil || last.Scope == d.Scope || strings.HasSuffix(name, "_pass"):
			last = d
		}
	}
	if last == nil {
		return nil
	}
	switch last.Name {
	case "stub_status":
		return &handler{env.Vars.Connections}
	case "metrics":
		return &metrics{env.Watch}
	case "health":
		return &health{watch: env.Watch, lives: strings.EqualFold(last.Arg(0), "live")}
	}
	return nil
}

// asks reports whether a request is one that may ask; others are refused.
func asks(r *request.Request) bool {
	if method := string(r.Method); method != "GET" && method != "HEAD" {
		r.Fail(405)
		return false
	}
	r.SkipsBody = true
	return true
}

// answer sends an answer.
func answer(r *request.Request, status int, kind, body []byte) phase.Next {
	if r.Answer(status, kind, body) == request.ErrRefused {
		return phase.Fail
	}
	return phase.Done // also where it failed: the client is gone then, and the edge knows
}

// Serve answers.
func (h *handler) Serve(r *request.Request) phase.Next {
	if !asks(r) {
		return phase.Fail
	}
	c := h.count()
	p := append(r.Scratch(), "Active connections: "...)
	p = strconv.AppendInt(p, c.Active, 10)
	p = append(p, " \nserver accepts handled requests\n"...)
	// What is accepted is handled: connections beyond worker_connections wait in the system's queue.
	for _, n := range [...]int64{c.Accepted, c.Accepted, c.Requests} {
		p = strconv.AppendInt(append(p, ' '), n, 10)
	}
	p = append(p, " \nReading: "...)
	p = strconv.AppendInt(p, c.Reading, 10)
	p = append(p, " Writing: "...)
	p = strconv.AppendInt(p, c.Writing, 10)
	p = append(p, " Waiting: "...)
	p = strconv.AppendInt(p, c.Waiting, 10)
	p = r.Claim(append(p, " \n"...))
	return answer(r, 200, textPlain, p)
}

var textPlain = []byte("text/plain")

package status

import (
	"strconv"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// handler answers with numbers.
type handler struct{ count func() vars.Connections }

// Compile returns the handler of a scope, or nil where another one answers. As in nginx, of stub_status and what passes requests
// on in one place the later one does; that may also stand in a block inside.
func Compile(env *phase.Env, s *conf.Scope) phase.Handler {
	d, found := s.Get("stub_status")
	if !found {
		return nil
	}
	for _, name := range [...]string{"proxy_pass", "grpc_pass"} {
		if other, found := s.Get(name); found && (other.Scope != d.Scope || other.Pos.Order > d.Pos.Order) {
			return nil
		}
	}
	return &handler{env.Vars.Connections}
}

// Serve answers.
func (h *handler) Serve(r *request.Request) phase.Next {
	if method := string(r.Method); method != "GET" && method != "HEAD" {
		r.Fail(405)
		return phase.Fail
	}
	r.SkipsBody = true
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
	if r.Answer(200, textPlain, p) == request.ErrRefused {
		return phase.Fail
	}
	return phase.Done // also where it failed: the client is gone then, and the edge knows
}

var textPlain = []byte("text/plain")

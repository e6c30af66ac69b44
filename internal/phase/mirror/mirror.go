package mirror

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Sender serves copies of requests.
type Sender interface {
	// Mirror serves a copy of r for each of the paths, whatever becomes of r. It does not wait for them: they begin in this
	// order, each once the one before it has to wait.
	Mirror(r *request.Request, paths [][]byte)
}

// handler is the mirrors of one scope.
type handler struct {
	sender Sender
	paths  [][]byte
	body   bool // mirror_request_body
}

var _ phase.Handler = (*handler)(nil)

// Compile returns the handler of a scope, or nil where nothing is mirrored.
func Compile(env *phase.Env, s *conf.Scope, sender Sender) phase.Handler {
	h := &handler{sender: sender, body: true}
	if d, found := s.Get("mirror_request_body"); found {
		h.body, _ = d.Flag(env.Errors)
	}
	for _, d := range s.All("mirror") {
		if d.Arg(0) == "off" {
			return nil
		}
		h.paths = append(h.paths, []byte(d.Arg(0)))
	}
	if len(h.paths) == 0 {
		return nil
	}
	return h
}

// Serve sends the copies (ngx_http_mirror_handler). A copy is not copied.
func (h *handler) Serve(r *request.Request) phase.Next {
	if r.IsSub() {
		return phase.Continue
	}
	if h.body {
		if err := r.KeepBody(); err != nil {
			return phase.BodyFault(r, err)
		}
	}
	h.sender.Mirror(r, h.paths)
	return phase.Continue
}

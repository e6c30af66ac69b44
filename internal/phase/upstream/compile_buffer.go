package upstream

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// compileBuffers reads what is said about buffers and pace.
func (h *Handler) compileBuffers(env *phase.Env, scope *conf.Scope) {
	b := conf.ReadProxyBuffers(scope)
	if h.headRoom = int(b.Head); h.headRoom == 0 {
		h.headRoom = 1 // nginx gives such a header no room either
	}
	h.streaming = !flag(env, scope, "proxy_request_buffering", true)
}

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
	h.buffers = buffers{
		memory: int(b.Number * b.Size), busy: int(b.Busy), fileMax: b.FileMax, fileWrite: int(b.FileWrite),
		folder: env.TempFolder(scope, "proxy_temp_path", "proxy_temp", 1, 2),
	}
	h.buffering = flag(env, scope, "proxy_buffering", true)
	h.stays = flag(env, scope, "proxy_ignore_client_abort", false)
	h.compileRate(env, scope)
	h.streaming = !flag(env, scope, "proxy_request_buffering", true)
}

// compileRate reads proxy_limit_rate.
func (h *Handler) compileRate(env *phase.Env, scope *conf.Scope) {
	d, ok := scope.Get("proxy_limit_rate")
	if !ok {
		return
	}
	t := env.Vars.CompileWord(d.Args[0], env.Errors)
	if t == nil {
		return
	}
	if _, fixed := t.Constant(); !fixed {
		h.rate = t
		return
	}
	n, _ := d.Size(env.Errors, 0)
	h.pull = newPull(n)
}

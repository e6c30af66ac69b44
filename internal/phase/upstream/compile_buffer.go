package upstream

import (
	"github.com/limitgate/limitgate/internal/conf"
)

// compileBuffers reads what is said about buffers and pace.
func (h *Handler) compileBuffers(scope *conf.Scope) {
	b := conf.ReadProxyBuffers(scope)
	if h.headRoom = int(b.Head); h.headRoom == 0 {
		h.headRoom = 1 // nginx gives such a header no room either
	}
	h.streaming = flagOff(scope, "proxy_request_buffering")
}

// flagOff reports whether a flag is off; what is neither is a fault that the table has found.
func flagOff(scope *conf.Scope, name string) bool {
	d, found := scope.Get(name)
	return found && (d.Arg(0) == "off" || d.Arg(0) == "OFF")
}

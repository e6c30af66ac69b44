package upstream

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/tlsconf"
)

// compileCalls compiles a grpc_pass.
func (s *Set) compileCalls(env *phase.Env, scope *conf.Scope) *Handler {
	h := &Handler{set: s, http11: true, streaming: true}
	h.compileCall(env, scope)
	h.resolver = s.compileResolver(env, scope)
	d, ok := scope.Get("grpc_pass")
	if !ok {
		return nil // what is set is compiled for its mistakes: nginx finds them here too
	}
	pass, ok := conf.ReadGRPCPass(d, env.Errors)
	if !ok {
		return nil
	}
	if pass.TLS || pass.Vars {
		h.tls = tlsconf.CompileUpstream(env.TLS(), scope, "grpc_ssl_", "h2")
	}
	h.calls.secure = pass.TLS
	if pass.Vars {
		text := env.Vars.CompileWord(d.Args[0], env.Errors)
		if text == nil {
			return nil
		}
		h.target.text = text
		return h
	}
	h.calls.host = callHost(pass.Target, pass.Named)
	h.target.group = s.lookup(env, pass)
	if h.target.group == nil {
		return nil
	}
	return h
}

// callHost is what :authority says of an address. named is the address as it was written.
func callHost(e conf.Endpoint, named string) []byte {
	if e.Unix != "" {
		return []byte("localhost")
	}
	return []byte(named)
}

// compileCall reads the grpc_* directives in force.
func (h *Handler) compileCall(env *phase.Env, scope *conf.Scope) {
	c := planCalls(compileSettings(env, scope, called), env.Vars.CompileWord(conf.Word{Text: "$content_length"}, env.Errors))
	h.calls = &c
	h.local = compileLocal(env, scope, called)
	h.probe = flag(env, scope, "grpc_socket_keepalive", false)
	h.retry = compileRetry(env, scope, called)
	h.rules.hidden = hiddenFields()
	h.rules.hidden.known[header.XPad] = false
	h.rules.compileFields(env, scope, called)
	h.headRoom = defaultHeadRoom
	if d, ok := scope.Get("grpc_buffer_size"); ok {
		if n, ok := d.Size(env.Errors, 0); ok {
			h.headRoom = max(int(n), 1)
		}
	}
	h.compileTimeouts(env, scope, called)
}

// defaultHeadRoom is what the head of an answer may take without grpc_buffer_size: a page of memory, as in nginx.
const defaultHeadRoom = 4 << 10

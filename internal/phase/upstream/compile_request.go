package upstream

import (
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
)

// compileRequest reads what changes a request on its way to the upstream.
func compileRequest(env *phase.Env, scope *conf.Scope, h *Handler) {
	h.head = compileHead(env, scope)
	h.head.ownOnly = !flag(env, scope, "proxy_pass_request_headers", true)
	if v, ok := scope.Get("proxy_http_version"); ok {
		h.http11 = v.Arg(0) == "1.1"
	}
	h.method = text(env, scope, "proxy_method")
	h.body = text(env, scope, "proxy_set_body")
	h.dropBody = h.body == nil && !flag(env, scope, "proxy_pass_request_body", true)
	h.local = compileLocal(env, scope, proxied)
	h.probe = flag(env, scope, "proxy_socket_keepalive", false)
}

// The names of directives begin with what the upstream is asked in: the same directives stand in both families.
const (
	proxied = "proxy_"
	called  = "grpc_"
)

// compileRetry reads when a request goes on to another peer.
func compileRetry(env *phase.Env, scope *conf.Scope, family string) retry {
	t := retry{
		on:      onError | onTimeout,
		tries:   number(env, scope, family+"next_upstream_tries", 0),
		timeout: duration(env, scope, family+"next_upstream_timeout", 0),
	}
	list := words(scope, family+"next_upstream")
	if len(list) == 0 {
		return t
	}
	t.on = 0
	for _, w := range list {
		if w == "off" {
			t.on = 0
			break
		}
		t.on |= conditionOf(w)
	}
	return t
}

// compileLocal reads proxy_bind and grpc_bind.
func compileLocal(env *phase.Env, scope *conf.Scope, family string) local {
	d, ok := scope.Get(family + "bind")
	if !ok || d.Off() {
		return local{}
	}
	l := local{name: []byte(d.Arg(0))}
	if l.addr, ok = conf.ParseLocal(d.Arg(0)); ok {
		return l
	}
	return local{text: text(env, scope, family+"bind")}
}

// compileHead makes the plan of the proxy_set_header lines in force.
func compileHead(env *phase.Env, scope *conf.Scope) *head {
	return planHead(compileSettings(env, scope, proxied))
}

// compileSettings reads proxy_set_header and grpc_set_header.
func compileSettings(env *phase.Env, scope *conf.Scope, family string) []setting {
	var settings []setting
	for _, d := range scope.All(family + "set_header") {
		text := env.Vars.CompileWord(d.Args[1], env.Errors)
		if text == nil {
			continue
		}
		set := setting{name: d.Arg(0)}
		if fixed, ok := text.Constant(); ok {
			set.fixed = string(fixed)
		} else {
			set.text = text
		}
		settings = append(settings, set)
	}
	return settings
}

// text compiles the first argument of a directive that is in force, or returns nil.
func text(env *phase.Env, scope *conf.Scope, name string) Text {
	if d, ok := scope.Get(name); ok {
		if t := env.Vars.CompileWord(d.Args[0], env.Errors); t != nil {
			return t
		}
	}
	return nil
}

func flag(env *phase.Env, scope *conf.Scope, name string, without bool) bool {
	if d, ok := scope.Get(name); ok {
		on, _ := d.Flag(env.Errors)
		return on
	}
	return without
}

func number(env *phase.Env, scope *conf.Scope, name string, without int) int {
	if d, ok := scope.Get(name); ok {
		n, _ := d.Int(env.Errors, 0)
		return int(n)
	}
	return without
}

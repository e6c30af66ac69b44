package match

import (
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// Compile builds the search over the locations of a server. index gives the place of a scope in the program.
func Compile(env *phase.Env, server *conf.Scope, index map[*conf.Scope]int) *Locations {
	l := &Locations{scope: index[server], named: map[string]int{}}
	for _, s := range server.Children {
		if s.Place != nil && s.Place.Modifier == conf.NamedTarget {
			l.named[s.Place.Pattern] = index[s]
		}
	}
	if root := compileLevel(env, server, index); root != nil {
		l.root = *root
	}
	return l
}

// compileLevel returns the locations that stand directly in s, or nil if there are none. Inside an expression nginx finds
// other expressions only: it never builds the tree of the rest (ngx_http_init_static_location_trees).
func compileLevel(env *phase.Env, s *conf.Scope, index map[*conf.Scope]int) *level {
	onlyRegexps := s.Place != nil && s.Place.IsRegexp()
	l := &level{}
	empty := true
	for _, inner := range s.Children {
		p := inner.Place
		if p == nil || p.Modifier == conf.NamedTarget || onlyRegexps && !p.IsRegexp() {
			continue
		}
		empty = false
		t := compileTarget(env, inner, index)
		if p.IsRegexp() {
			if p.Regexp == nil {
				continue // reported when it was read
			}
			re, err := env.Vars.Regexp(p.Regexp)
			if err != nil {
				vars.Report(env.Errors, inner.Opener.Pos, err)
				continue
			}
			l.regexps = append(l.regexps, expression{target: t, regexp: re})
			continue
		}
		l.add(p.Pattern, p.Modifier == conf.Exact, t)
	}
	if empty {
		return nil
	}
	l.seal()
	return l
}

func compileTarget(env *phase.Env, s *conf.Scope, index map[*conf.Scope]int) *target {
	t := &target{
		scope:    index[s],
		inner:    compileLevel(env, s, index),
		noRegexp: s.Place.Modifier == conf.NoRegexp,
	}
	// Only the handlers that pass a request on set auto_redirect; for files the folder itself answers.
	if len(s.Own("proxy_pass", "grpc_pass")) > 0 && !s.Place.IsRegexp() && strings.HasSuffix(s.Place.Pattern, "/") {
		t.slash = request.AppendPath(nil, []byte(s.Place.Pattern))
	}
	return t
}

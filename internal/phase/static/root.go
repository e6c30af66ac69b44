package static

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Root returns the folder that root or alias name for a scope: "html" below the prefix where nobody names one.
func Root(env *phase.Env, s *conf.Scope) request.RootDir {
	word, alias, place := conf.Word{Text: "html"}, 0, ""
	if d, of := named(s); d != nil {
		word = d.Args[0]
		if d.Name == "alias" {
			alias, place = aliased(of)
		} else {
			word.Text = strings.TrimSuffix(word.Text, "/")
		}
	}
	text := env.Vars.CompileWord(word, env.Errors)
	if text == nil {
		return request.RootDir{}
	}
	prefix := []byte(env.Prefix)
	if len(prefix) > 0 && prefix[len(prefix)-1] != '/' {
		prefix = append(prefix, '/')
	}
	if fixed, ok := text.Constant(); ok {
		if !filepath.IsAbs(string(fixed)) && len(fixed) > 0 {
			fixed = slices.Concat(prefix, fixed)
		}
		return request.RootDir{Alias: alias, Place: place, Append: func(_ *request.Request, dst []byte) []byte { return append(dst, fixed...) }}
	}
	return request.RootDir{Alias: alias, Place: place, Append: func(r *request.Request, dst []byte) []byte {
		start := len(dst)
		dst = text.Append(r, dst)
		if len(dst) > start && dst[start] != '/' {
			value := r.Keep(dst[start:])
			dst = append(append(dst[:start], prefix...), value...)
		}
		return dst
	}}
}

// named returns the root or alias in force, and the scope it stands in: in nginx a location inside another inherits its
// alias.
func named(s *conf.Scope) (*conf.Directive, *conf.Scope) {
	for ; s != nil; s = s.Parent {
		if list := s.Own("root", "alias"); len(list) > 0 {
			return list[len(list)-1], s
		}
	}
	return nil, nil
}

// aliased returns how much of a path an alias stands for: the location's prefix, or all of it in an expression. place is
// the location.
func aliased(s *conf.Scope) (length int, place string) {
	switch s = s.Enclosing(conf.Location); {
	case s == nil || s.Place == nil:
		return request.WholeAlias, ""
	case s.Place.IsRegexp():
		return request.WholeAlias, s.Place.Pattern
	}
	return len(s.Place.Pattern), s.Place.Pattern
}

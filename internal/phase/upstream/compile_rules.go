package upstream

import (
	"regexp"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/vars"
)

// compileRules reads what changes an answer on its way back.
func compileRules(env *phase.Env, scope *conf.Scope) rules {
	s := rules{hidden: hiddenFields(), redirects: compileRedirects(env, scope), cookies: compileCookies(env, scope)}
	s.ranges = flag(env, scope, "proxy_force_ranges", false)
	s.compileFields(env, scope, proxied)
	return s
}

// compileFields reads what hides fields of an answer, what takes their effect, and what takes the place of the whole.
func (s *rules) compileFields(env *phase.Env, scope *conf.Scope, family string) {
	for _, d := range scope.All(family + "hide_header") {
		s.hidden.add(d.Arg(0))
	}
	for _, d := range scope.All(family + "pass_header") {
		s.hidden.remove(d.Arg(0))
	}
	for _, w := range words(scope, family+"ignore_headers") {
		switch w {
		case "x-accel-redirect":
			s.ignored |= ignoreRedirect
		case "x-accel-limit-rate":
			s.ignored |= ignoreLimitRate
		case "x-accel-buffering":
			s.ignored |= ignoreBuffering
		case "x-accel-charset":
			s.ignored |= ignoreCharset
		}
	}
	if flag(env, scope, family+"intercept_errors", false) {
		for _, d := range scope.All("error_page") {
			if e, ok := conf.ReadErrorPage(d, env.Errors); ok {
				s.intercept = append(s.intercept, e.Codes...)
			}
		}
	}
}

// words returns the arguments of all directives of a name that are in force, in lower case.
func words(scope *conf.Scope, name string) []string {
	var list []string
	for _, d := range scope.All(name) {
		for _, a := range d.Args {
			list = append(list, strings.ToLower(a.Text))
		}
	}
	return list
}

// compileRedirects reads proxy_redirect.
func compileRedirects(env *phase.Env, scope *conf.Scope) []substitution {
	lines := scope.All("proxy_redirect")
	if len(lines) == 0 {
		return implicitRedirect(env, scope)
	}
	var list []substitution
	for _, d := range lines {
		switch {
		case d.Off():
			return nil
		case len(d.Args) == 1:
			list = append(list, defaultRedirect(env, d.Scope)...)
		default:
			list = append(list, compileSubstitution(env, d)...)
		}
	}
	return list
}

// implicitRedirect is what holds without a proxy_redirect: the default of the outermost location that passes requests on.
// Those inside inherit it, though they may point elsewhere (ngx_http_proxy_merge_loc_conf).
func implicitRedirect(env *phase.Env, scope *conf.Scope) []substitution {
	var list []substitution
	for s := scope; s != nil; s = s.Parent {
		if own := defaultRedirect(env, s); own != nil {
			list = own
		}
	}
	return list
}

// defaultRedirect turns where the proxy_pass of a scope points into the location.
func defaultRedirect(env *phase.Env, scope *conf.Scope) []substitution {
	passes := scope.Own("proxy_pass")
	if len(passes) == 0 {
		return nil
	}
	pass, ok := conf.ReadProxyPass(passes[0], env.Errors)
	if !ok || pass.Vars {
		return nil
	}
	if pass.URI == "" {
		return []substitution{{pattern: fixed(pass.Text + "/"), replacement: fixed("/")}}
	}
	return []substitution{{pattern: fixed(pass.Text), replacement: fixed(prefix(scope))}}
}

// compileCookies reads the rules for cookies, nil where there are none.
func compileCookies(env *phase.Env, scope *conf.Scope) *cookieRules {
	var c cookieRules
	for _, list := range [...]struct {
		name string
		to   *[]substitution
	}{{"proxy_cookie_domain", &c.domains}, {"proxy_cookie_path", &c.paths}} {
		for _, d := range scope.All(list.name) {
			if !d.Off() {
				*list.to = append(*list.to, compileSubstitution(env, d)...)
			}
		}
	}
	for _, d := range scope.All("proxy_cookie_flags") {
		if !d.Off() {
			c.flags = append(c.flags, compileCookieFlags(env, d)...)
		}
	}
	if c.domains == nil && c.paths == nil && c.flags == nil {
		return nil
	}
	return &c
}

func compileCookieFlags(env *phase.Env, d *conf.Directive) []cookieFlags {
	var f cookieFlags
	re, ok := conf.ReadCookieName(d, env.Errors)
	if !ok {
		return nil
	}
	if re != nil {
		if f.expression = expression(env, d, re); f.expression == nil {
			return nil
		}
	} else if t := env.Vars.CompileWord(d.Args[0], env.Errors); t != nil {
		f.name = t
	} else {
		return nil
	}
	for _, a := range d.Args[1:] {
		t := env.Vars.CompileWord(a, env.Errors)
		if t == nil {
			return nil
		}
		f.flags = append(f.flags, t)
	}
	return []cookieFlags{f}
}

func compileSubstitution(env *phase.Env, d *conf.Directive) []substitution {
	read, ok := conf.ReadSubstitution(d, env.Errors)
	if !ok {
		return nil
	}
	s := substitution{domain: d.Name == "proxy_cookie_domain"}
	if read.Regexp != nil {
		if s.expression = expression(env, d, read.Regexp); s.expression == nil {
			return nil
		}
	} else if s.pattern = part(env, d, 0, read.Pattern); s.pattern == nil {
		return nil
	}
	if s.replacement = part(env, d, 1, read.Replacement); s.replacement == nil {
		return nil
	}
	return []substitution{s}
}

// part compiles the text that an argument is to mean.
func part(env *phase.Env, d *conf.Directive, i int, text string) Text {
	t, err := env.Vars.Compile(text)
	if err != nil {
		vars.Report(env.Errors, d.At(i), err)
		return nil
	}
	return t
}

func expression(env *phase.Env, d *conf.Directive, re *regexp.Regexp) matcher {
	x, err := env.Vars.Regexp(re)
	if err != nil {
		vars.Report(env.Errors, d.At(0), err)
		return nil
	}
	return x
}

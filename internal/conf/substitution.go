package conf

import (
	"regexp"
	"strings"
)

// Substitution is one line of proxy_redirect, proxy_cookie_domain or proxy_cookie_path: what is looked for, and what takes
// its place.
type Substitution struct {
	Pattern     string         // may hold variables; not used with Regexp
	Regexp      *regexp.Regexp // for a pattern that is an expression
	Replacement string         // may hold variables
}

// ReadSubstitution reads a directive with two arguments.
func ReadSubstitution(d *Directive, errs *Errors) (Substitution, bool) {
	s := Substitution{Pattern: d.Arg(0), Replacement: d.Arg(1)}
	domain := d.Name == "proxy_cookie_domain"
	if text, ok := strings.CutPrefix(s.Pattern, "~"); ok {
		fold := domain
		if !domain {
			text, fold = strings.CutPrefix(text, "*")
		}
		s.Regexp, ok = compileRegexp(d.At(0), text, fold, errs)
		return s, ok
	}
	if domain {
		s.Pattern, s.Replacement = strings.TrimPrefix(s.Pattern, "."), strings.TrimPrefix(s.Replacement, ".")
	}
	return s, true
}

// checkProxyRedirect checks a proxy_redirect and what was said before it in the same scope.
func checkProxyRedirect(c *checker, d *Directive) {
	if c.followsOff(d) {
		return
	}
	if len(d.Args) == 2 {
		ReadSubstitution(d, c.errs)
		return
	}
	switch d.Arg(0) {
	case "off":
		c.firstOfItsName(d)
	case "default":
		pass := d.Scope.Own("proxy_pass")
		switch {
		case len(pass) > 0 && hasVariable(pass[0].Arg(0)):
			c.errs.Add(d.Pos, `"proxy_redirect default" cannot be used with "proxy_pass" directive with variables`, "write what is to be rewritten: proxy_redirect FROM TO")
		case len(pass) == 0:
			c.errs.Add(d.Pos, `"proxy_redirect default" should be placed after the "proxy_pass" directive`, "put it into the location, below proxy_pass")
		}
	default:
		badParameter(d, d.Args[0], c.errs)
	}
}

// checkCookieRule checks a proxy_cookie_domain or proxy_cookie_path.
func checkCookieRule(c *checker, d *Directive) {
	switch {
	case c.followsOff(d):
	case len(d.Args) == 2:
		ReadSubstitution(d, c.errs)
	case d.Arg(0) == "off":
		c.firstOfItsName(d)
	default:
		badParameter(d, d.Args[0], c.errs)
	}
}

// checkCookieFlags checks a proxy_cookie_flags. Its flags are known with a request.
func checkCookieFlags(c *checker, d *Directive) {
	if c.followsOff(d) {
		return
	}
	if len(d.Args) > 1 {
		ReadCookieName(d, c.errs)
		return
	}
	if d.Arg(0) == "off" {
		c.firstOfItsName(d)
		return
	}
	badParameter(d, d.Args[0], c.errs)
}

// ReadCookieName reads the cookie that a proxy_cookie_flags is for: an expression, or nil for a name, which may hold
// variables.
func ReadCookieName(d *Directive, errs *Errors) (*regexp.Regexp, bool) {
	text, ok := strings.CutPrefix(d.Arg(0), "~")
	if !ok {
		return nil, true
	}
	return compileRegexp(d.At(0), text, true, errs)
}

// Off reports whether the only argument of a directive is off.
func (d *Directive) Off() bool { return len(d.Args) == 1 && d.Arg(0) == "off" }

// followsOff reports a directive of a list that the same scope has turned off.
func (c *checker) followsOff(d *Directive) bool {
	if first := d.Scope.Own(d.Name)[0]; first != d && first.Off() {
		c.again(d, first)
		return true
	}
	return false
}

// firstOfItsName reports an off that stands behind lines of its list.
func (c *checker) firstOfItsName(d *Directive) {
	if first := d.Scope.Own(d.Name)[0]; first != d {
		c.again(d, first)
	}
}

// checkMirror checks a mirror: off stands alone.
func checkMirror(c *checker, d *Directive) {
	switch {
	case c.followsOff(d):
	case d.Off():
		c.firstOfItsName(d)
	}
}

func (c *checker) again(d, first *Directive) {
	c.errs.Add(d.Pos, `"`+d.Name+`" directive is duplicate`, "off stands alone in its scope; the first is at "+first.Pos.String())
}

// wordsOf checks for some of these words, in any case; a directive that stands several times in a scope adds to what it said
// before (ngx_conf_set_bitmask_slot).
func wordsOf(words ...string) check {
	return func(c *checker, d *Directive) {
		said := map[string]bool{}
		for _, before := range d.Scope.Own(d.Name) {
			for _, a := range before.Args {
				word := strings.ToLower(a.Text)
				if before == d {
					c.checkWord(d, a, said[word], words)
				}
				said[word] = true
			}
		}
	}
}

func (c *checker) checkWord(d *Directive, a Word, again bool, words []string) {
	for _, w := range words {
		if !equalFold(w, a.Text) {
			continue
		}
		if again {
			c.errs.Note(a.Pos, `duplicate value "`+a.Text+`"`, "")
		}
		return
	}
	c.errs.Add(a.Pos, `invalid value "`+a.Text+`"`, d.usage())
}

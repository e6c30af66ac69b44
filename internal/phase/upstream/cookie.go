package upstream

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// cookieRules are proxy_cookie_domain, proxy_cookie_path and proxy_cookie_flags.
type cookieRules struct {
	domains []substitution
	paths   []substitution
	flags   []cookieFlags
}

// cookieFlags is one proxy_cookie_flags.
type cookieFlags struct {
	name       Text // compared without regard to case
	expression matcher
	flags      []Text
}

// attribute is a piece of a Set-Cookie between semicolons. The first one is the cookie itself.
type attribute struct {
	key, value []byte
	valued     bool // there was a "="
	gone       bool // it was taken away
}

// rewrite returns a Set-Cookie as the rules have it (ngx_http_proxy_rewrite_cookie). value must live as long as the request.
func (c *cookieRules) rewrite(r *request.Request, value []byte) []byte {
	attrs := parseCookie(value)
	if !attrs[0].valued {
		return value
	}
	changed := false
	for i := range attrs[1:] {
		a := &attrs[1+i]
		list := c.paths
		switch {
		case !a.valued:
			continue
		case header.EqualFold(a.key, "domain"):
			list = c.domains
		case !header.EqualFold(a.key, "path"):
			continue
		}
		if v, ok := substitute(list, r, a.value, 0); ok {
			a.value, changed = v, true
		}
	}
	if f := c.flagsOf(r, attrs[0].key); f != nil {
		attrs, changed = edit(attrs, f.evaluate(r)), true
	}
	if !changed {
		return value
	}
	b := r.Scratch()
	for i, a := range attrs {
		if a.gone {
			continue
		}
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(b, a.key...)
		if a.valued {
			b = append(append(b, '='), a.value...)
		}
	}
	return r.Claim(b)
}

// parseCookie splits a Set-Cookie (ngx_http_proxy_parse_cookie). There is at least one attribute.
func parseCookie(value []byte) []attribute {
	var attrs []attribute
	for piece := range bytes.SplitSeq(value, []byte{';'}) {
		key, v, valued := bytes.Cut(bytes.TrimLeft(piece, " "), []byte{'='})
		a := attribute{key: bytes.TrimRight(key, " "), valued: valued}
		if valued {
			a.value = bytes.Trim(v, " ")
		}
		attrs = append(attrs, a)
	}
	return attrs
}

// flagsOf returns the first line for a cookie.
func (c *cookieRules) flagsOf(r *request.Request, cookie []byte) *cookieFlags {
	for i := range c.flags {
		f := &c.flags[i]
		if f.expression != nil {
			if f.expression.Match(r, cookie) {
				return f
			}
			continue
		}
		if bytes.EqualFold(cookie, r.Claim(f.name.Append(r, r.Scratch()))) {
			return f
		}
	}
	return nil
}

// edits is what flags make of a cookie. Of a flag and its opposite the flag counts.
type edits struct {
	secure, noSecure, httpOnly, noHTTPOnly bool
	strict, lax, none, noSameSite          bool
}

// evaluate reads the flags (ngx_http_proxy_cookie_flags_value). What is none has no effect, as in nginx.
func (f *cookieFlags) evaluate(r *request.Request) (e edits) {
	for _, t := range f.flags {
		v := r.Claim(t.Append(r, r.Scratch()))
		for _, known := range [...]struct {
			word string
			set  *bool
		}{
			{"secure", &e.secure}, {"nosecure", &e.noSecure}, {"httponly", &e.httpOnly}, {"nohttponly", &e.noHTTPOnly},
			{"samesite=strict", &e.strict}, {"samesite=lax", &e.lax}, {"samesite=none", &e.none}, {"nosamesite", &e.noSameSite},
		} {
			if header.EqualFold(v, known.word) {
				*known.set = true
			}
		}
	}
	return e
}

// edit changes attributes (ngx_http_proxy_edit_cookie_flags): those that are there in their place, the others come at the
// end.
func edit(attrs []attribute, e edits) []attribute {
	for i := range attrs[1:] {
		a := &attrs[1+i]
		switch {
		case header.EqualFold(a.key, "secure"):
			keepFlag(a, &e.secure, e.noSecure)
		case header.EqualFold(a.key, "httponly"):
			keepFlag(a, &e.httpOnly, e.noHTTPOnly)
		case header.EqualFold(a.key, "samesite"):
			if s, ok := e.sameSite(); ok {
				*a = s
			} else if e.noSameSite {
				a.gone = true
			}
		}
	}
	if e.secure {
		attrs = append(attrs, attribute{key: []byte("Secure")})
	}
	if e.httpOnly {
		attrs = append(attrs, attribute{key: []byte("HttpOnly")})
	}
	if s, ok := e.sameSite(); ok {
		attrs = append(attrs, s)
	}
	return attrs
}

// keepFlag settles a flag that is there.
func keepFlag(a *attribute, wanted *bool, unwanted bool) {
	switch {
	case *wanted:
		*wanted = false
	case unwanted:
		a.gone = true
	}
}

// sameSite takes the strictest of the values that are left.
func (e *edits) sameSite() (attribute, bool) {
	a := attribute{key: []byte("SameSite"), valued: true}
	switch {
	case e.strict:
		e.strict, a.value = false, []byte("Strict")
	case e.lax:
		e.lax, a.value = false, []byte("Lax")
	case e.none:
		e.none, a.value = false, []byte("None")
	default:
		return a, false
	}
	return a, true
}

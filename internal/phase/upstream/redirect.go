package upstream

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// substitution is one line of proxy_redirect, proxy_cookie_domain or proxy_cookie_path.
type substitution struct {
	pattern     Text // what the value begins with; for a domain, what it is
	expression  matcher
	replacement Text
	domain      bool
}

// matcher is a regular expression whose groups become the request's captures.
type matcher interface {
	// Match reports whether subject matches; it must live as long as the request.
	Match(r *request.Request, subject []byte) bool
}

// apply returns the value with the replacement in it, where the pattern is found at from. The value must live as long as the
// request.
func (s *substitution) apply(r *request.Request, value []byte, from int) ([]byte, bool) {
	rest := value[from:]
	n := len(rest)
	switch {
	case s.expression != nil:
		if !s.expression.Match(r, rest) {
			return nil, false
		}
	case s.domain:
		if n > 0 && rest[0] == '.' {
			from, rest, n = from+1, rest[1:], n-1
		}
		if !bytes.EqualFold(rest, r.Claim(s.pattern.Append(r, r.Scratch()))) {
			return nil, false
		}
	default:
		pattern := r.Claim(s.pattern.Append(r, r.Scratch()))
		if !bytes.HasPrefix(rest, pattern) {
			return nil, false
		}
		n = len(pattern)
	}
	b := append(r.Scratch(), value[:from]...)
	b = oneLine(s.replacement.Append(r, b))
	return r.Claim(append(b, value[from+n:]...)), true
}

// substitute returns the value as the first line that fits has it.
func substitute(list []substitution, r *request.Request, value []byte, from int) ([]byte, bool) {
	for i := range list {
		if v, ok := list[i].apply(r, value, from); ok {
			return v, true
		}
	}
	return nil, false
}

// oneLine keeps a value on one line, whatever a client put into a variable: nginx would send the line ends on and let it
// write fields of its own.
func oneLine(v []byte) []byte {
	for i, c := range v {
		if c == '\r' || c == '\n' || c == 0 {
			v[i] = ' '
		}
	}
	return v
}

// redirect rewrites a Location or a Refresh. A Location that became a path is the edge's to complete
// (ngx_http_upstream_rewrite_location, ngx_http_upstream_rewrite_refresh).
func (x *exchange) redirect(h *request.Header) {
	list := x.h.rules.redirects
	if len(list) == 0 {
		return
	}
	at := 0
	if h.ID == header.Refresh {
		if at = header.IndexFold(h.Value, "url="); at < 0 {
			return
		}
		at += len("url=")
	}
	r := x.r
	v, ok := substitute(list, r, h.Value, at)
	if !ok {
		return
	}
	h.Value = v
	if h.ID == header.Location && len(v) > 0 && v[0] == '/' {
		r.Response.Location = v
	}
}

package vars

import (
	"bytes"
	"strings"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// family returns a variable whose name begins like many others, or nil. name is in lower case.
func family(name string) Variable {
	for _, f := range [...]struct {
		prefix string
		of     func(name string) Variable
	}{
		{"http_", func(n string) Variable {
			return func(r *request.Request, dst []byte) ([]byte, bool) { return appendFields(dst, r.Headers, n) }
		}},
		{"sent_http_", func(n string) Variable {
			return func(r *request.Request, dst []byte) ([]byte, bool) { return appendFields(dst, r.Response.Headers, n) }
		}},
		{"sent_trailer_", func(n string) Variable {
			return func(r *request.Request, dst []byte) ([]byte, bool) { return appendFields(dst, r.Response.Trailers, n) }
		}},
		{"upstream_trailer_", func(n string) Variable { // of a call: nginx reads none of an HTTP upstream either
			return func(r *request.Request, dst []byte) ([]byte, bool) { return appendFields(dst, r.Behind, n) }
		}},
		{"upstream_http_", func(n string) Variable {
			return func(r *request.Request, dst []byte) ([]byte, bool) { return appendFields(dst, r.Upstream, n) }
		}},
		{"upstream_cookie_", upstreamCookie},
		{"cookie_", cookie},
		{"arg_", argument},
	} {
		if rest, ok := strings.CutPrefix(name, f.prefix); ok {
			return f.of(rest)
		}
	}
	return nil
}

// appendFields appends the fields of a name, which is in lower case with underscores for dashes, joined to a list.
func appendFields(dst []byte, fields []request.Header, name string) ([]byte, bool) {
	found := false
	for i := range fields {
		if !isField(fields[i].Name, name) {
			continue
		}
		if found {
			dst = append(dst, ", "...)
		}
		dst, found = append(dst, fields[i].Value...), true
	}
	return dst, found
}

func isField(field []byte, name string) bool {
	if len(field) != len(name) {
		return false
	}
	for i := range len(name) {
		c := field[i]
		switch {
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		case c == '-':
			c = '_'
		}
		if c != name[i] {
			return false
		}
	}
	return true
}

// argument is a parameter of the query: the first NAME= at its front or behind an ampersand, in any case, not decoded.
func argument(name string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		for rest := r.Args; len(rest) > 0 && name != ""; {
			var pair []byte
			if i := bytes.IndexByte(rest, '&'); i >= 0 {
				pair, rest = rest[:i], rest[i+1:]
			} else {
				pair, rest = rest, nil
			}
			if n := len(name); len(pair) > n && pair[n] == '=' && header.EqualFold(pair[:n], name) {
				return append(dst, pair[n+1:]...), true
			}
		}
		return dst, false
	}
}

// cookie is a value of the Cookie fields (ngx_http_parse_cookie_lines): names compare in any case, a comma ends a pair only
// while looking for the next, blanks around "=" are skipped.
func cookie(name string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		for i := range r.Headers {
			if r.Headers[i].ID != header.Cookie {
				continue
			}
			if v, ok := cookieIn(r.Headers[i].Value, name); ok {
				return append(dst, v...), true
			}
		}
		return dst, false
	}
}

func cookieIn(line []byte, name string) (value []byte, ok bool) {
	for len(line) > 0 {
		if v, ok := cookieValue(line, name); ok {
			return v, true
		}
		i := bytes.IndexAny(line, ";,")
		if i < 0 {
			return nil, false
		}
		line = bytes.TrimLeft(line[i+1:], " ")
	}
	return nil, false
}

// cookieValue returns the value of NAME=VALUE at the front of a line, up to a semicolon.
func cookieValue(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || !header.EqualFold(line[:len(name)], name) {
		return nil, false
	}
	rest := bytes.TrimLeft(line[len(name):], " ")
	if len(rest) == 0 || rest[0] != '=' {
		return nil, false
	}
	rest = bytes.TrimLeft(rest[1:], " ")
	if i := bytes.IndexByte(rest, ';'); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}

// upstreamCookie is the value of a cookie that the upstream sets.
func upstreamCookie(name string) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		for i := range r.Upstream {
			if !isField(r.Upstream[i].Name, "set_cookie") {
				continue
			}
			if v, ok := cookieValue(r.Upstream[i].Value, name); ok {
				return append(dst, v...), true
			}
		}
		return dst, false
	}
}

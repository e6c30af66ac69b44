package upstream

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// Text is a text with variables in it, evaluated for each request.
type Text interface {
	// Append appends the text's value in r to dst.
	Append(r *request.Request, dst []byte) []byte
}

// fixed is a text without variables.
type fixed string

// Append implements Text.
func (f fixed) Append(_ *request.Request, dst []byte) []byte { return append(dst, f...) }

// target is where proxy_pass points: fixed, or a text with variables.
type target struct {
	text Text // nil: fixed

	// A fixed target.
	group  *group
	host   []byte // $proxy_host
	port   []byte // $proxy_port
	uri    []byte // "": the request's own
	secure bool   // https
	skip   int    // of the request's path, that uri stands for: the location's length
}

// place is a target in one request.
type place struct {
	group *group // nil: it is to be looked up
	name  lookup
	uri   []byte
	skip  int
	whole bool // uri is the request's target as it is, nothing is put behind it

	host   []byte // of a call: :authority
	secure bool   // https, grpcs
}

const (
	scheme       = "http://"
	schemeSecure = "https://"
)

// defaultPort is the port of a scheme.
func defaultPort(secure bool) int {
	if secure {
		return 443
	}
	return 80
}

// proxyNames returns what $proxy_host and $proxy_port are for an address (ngx_http_proxy_set_vars). named is the address as
// it was written.
func proxyNames(e conf.Endpoint, named string, defaultPort int) (host, port string) {
	switch {
	case e.Unix != "":
		return "localhost", ""
	case e.NoPort:
		return named, strconv.Itoa(defaultPort)
	case e.Port == defaultPort:
		return named[:strings.LastIndexByte(named, ':')], strconv.Itoa(defaultPort)
	}
	return named, strconv.Itoa(e.Port)
}

// appendURI appends the target of the request line to the upstream (ngx_http_proxy_create_request).
func (t *place) appendURI(dst []byte, r *request.Request) []byte {
	if t.whole {
		return appendPrintable(dst, t.uri)
	}
	if len(t.uri) == 0 && !r.Rewritten {
		if len(r.Target) == 0 || r.Target[0] != '/' {
			dst = append(dst, '/') // the target was http://host?args
		}
		return append(dst, r.Target...)
	}
	path := r.URI
	if !r.Detached {
		dst = append(dst, t.uri...)
		path = path[min(t.skip, len(path)):]
	}
	if r.Internal || r.Rewritten || quoted(r.Target) {
		dst = request.AppendPath(dst, path)
	} else {
		dst = append(dst, path...)
	}
	if len(r.Args) > 0 {
		dst = append(append(dst, '?'), r.Args...)
	}
	return dst
}

// quoted reports whether the path of a target holds an escape: only then the decoded path may hold what must be escaped.
func quoted(target []byte) bool {
	if q := bytes.IndexByte(target, '?'); q >= 0 {
		target = target[:q]
	}
	return bytes.IndexByte(target, '%') >= 0
}

// appendPrintable appends what variables made of a target. nginx sends it as it is; here what would end the request line,
// or let another begin, is escaped.
func appendPrintable(dst, uri []byte) []byte {
	for _, c := range uri {
		if c <= ' ' || c == 0x7f {
			dst = request.AppendEscape(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

package h2

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// mostLines is how many fields a head may have, as in HTTP/1.
const mostLines = 1000

// head is what of a request's head is not in the request itself.
type head struct {
	buf       []byte // of names, values, and what is made of them
	scheme    []byte
	path      []byte
	authority []byte
	host      []byte // of a Host field
	cookies   [][]byte
	seen      [header.Count]bool
	regular   bool // a field that is no pseudo header came
	expects   bool // the client waits for 100 Continue
	fault     request.Fault
}

func (h *head) reset() {
	buf, cookies := h.buf[:0], h.cookies[:0]
	*h = head{}
	h.buf, h.cookies = buf, cookies
}

// keep copies text into the head's memory.
func (h *head) keep(text string) []byte {
	n := len(h.buf)
	h.buf = append(h.buf, text...)
	return h.buf[n:len(h.buf):len(h.buf)]
}

// refuse notes why the request is answered with an error. The first reason counts.
func (h *head) refuse(status int, format string, args ...any) {
	if h.fault.Status == 0 {
		h.fault = request.Fault{Status: status, Log: fmt.Sprintf(format, args...) + " while reading client request headers"}
	}
}

// field takes one field of the request's head.
func (s *stream) field(name, value string) {
	h := &s.head
	if h.fault.Status != 0 {
		return
	}
	if !h2.ValidValue(value) {
		h.refuse(400, "client sent header \"%s\" with invalid value: \"%s\"", name, value)
		return
	}
	if name[0] == ':' {
		s.pseudo(name[1:], value)
		return
	}
	h.regular = true
	switch kind := h2.KindOf(name); {
	case kind == h2.Refused:
		h.refuse(400, "client sent invalid header name: \"%s\"", name)
		return
	case kind == h2.Odd && s.settings.IgnoreInvalid, kind == h2.Under && s.settings.IgnoreInvalid && !s.settings.Underscores:
		if s.settings.ErrorLog.On(errorlog.Info) {
			s.r.Dropped = append(s.r.Dropped, "client sent invalid header: \""+name+"\" while reading client request headers")
		}
		return
	}
	if len(s.r.Headers)+len(h.cookies) >= mostLines {
		h.refuse(494, "client sent too many header lines")
		return
	}
	key := h.keep(name)
	id := header.Lookup(key)
	if id == header.Cookie {
		h.cookies = append(h.cookies, h.keep(value))
		return
	}
	s.regular(id, key, value)
}

// regular takes a field that is no pseudo header and no cookie.
func (s *stream) regular(id header.ID, key []byte, value string) {
	h := &s.head
	switch {
	case id == header.TransferEncoding:
		h.refuse(400, "client sent HTTP/2 request with \"Transfer-Encoding\" header")
		return
	case h2.ForConnection(id):
		return // it means nothing here, and would mean something to an upstream of HTTP/1
	case h1.Unique(id) && h.seen[id]:
		kind := "header line"
		if id == header.Host {
			kind = "host header"
		}
		first, _ := s.r.Get(id)
		h.refuse(400, "client sent duplicate %s: \"%s: %s\", previous value: \"%s: %s\"", kind, key, value, key, first)
		return
	}
	h.seen[id] = true
	text := h.keep(strings.Trim(value, " \t"))
	switch id {
	case header.Host:
		h.host = text
		if h.authority != nil {
			return // the same, or the request is refused
		}
	case header.ContentLength:
		n, valid := h1.ParseLength(text)
		if !valid {
			h.refuse(400, "client sent invalid \"Content-Length\" header")
			return
		}
		s.declared = n
	case header.Expect:
		h.expects = header.EqualFold(text, "100-continue")
	}
	s.r.Headers = append(s.r.Headers, request.Header{Name: key, Value: text, ID: id})
}

// pseudo takes a pseudo header.
func (s *stream) pseudo(name, value string) {
	h := &s.head
	var at *[]byte
	switch name {
	case "method":
		at = &s.r.Method
	case "scheme":
		at = &h.scheme
	case "path":
		at = &h.path
	case "authority":
		at = &h.authority
	default:
		h.refuse(400, "client sent unknown pseudo-header \":%s\"", name)
		return
	}
	switch {
	case *at != nil:
		h.refuse(400, "client sent duplicate :%s header", name)
	case h.regular:
		h.refuse(400, "client sent pseudo-header \":%s\" after regular headers", name)
	case value == "" && name != "authority":
		h.refuse(400, "client sent empty :%s header", name)
	}
	*at = h.keep(value)
	if *at == nil {
		*at = []byte{}
	}
	if name == "authority" && value != "" {
		h.seen[header.Host] = false
		s.r.Headers = append(s.r.Headers, request.Header{Name: nameHost, Value: *at, ID: header.Host})
	}
}

var nameHost = []byte("host")

// complete makes the request of a head that is there. end says that no body follows.
func (s *stream) complete(end bool) {
	r, h := &s.r, &s.head
	r.Now = s.c.srv.cfg.Now()
	r.ClientAddr = s.info.PeerAddr
	r.Major, r.Minor, r.KeepAlive = 2, 0, true
	s.in.closed = end
	s.in.expects = h.expects && !end
	if len(r.Method) > 0 && len(h.path) > 0 {
		n := len(h.buf)
		h.buf = append(append(append(append(h.buf, r.Method...), ' '), h.path...), " HTTP/2.0"...)
		r.Line = h.buf[n:len(h.buf):len(h.buf)]
	}
	if len(h.cookies) > 0 {
		s.joinCookies()
	}
	s.judge(end)
	if h.fault.Status != 0 {
		r.Fault = h.fault
		return
	}
	switch {
	case end:
	case s.declared >= 0:
		r.BodyLength = s.declared
	default:
		r.BodyLength = -1
	}
}

// judge decides about the whole head.
func (s *stream) judge(end bool) {
	r, h := &s.r, &s.head
	switch {
	case h.fault.Status != 0:
		return
	case len(r.Method) == 0:
		h.refuse(400, "client sent no :method header")
	case h.scheme == nil:
		h.refuse(400, "client sent no :scheme header")
	case len(h.scheme) == 0:
		h.refuse(400, "client sent empty :scheme header")
	case !validScheme(h.scheme):
		h.refuse(400, "client sent invalid :scheme header: \"%s\"", h.scheme)
	case len(h.path) == 0:
		h.refuse(400, "client sent no :path header")
	case string(r.Method) == "CONNECT":
		h.refuse(405, "client sent CONNECT method")
	case string(r.Method) == "TRACE":
		h.refuse(405, "client sent TRACE method")
	case !h1.GivenMethod(r.Method):
		h.refuse(400, "client sent invalid method: \"%s\"", r.Method)
	case h.authority == nil && h.host == nil:
		h.refuse(400, "client sent neither \":authority\" nor \"Host\" header")
	case h.authority != nil && h.host != nil && !slices.Equal(h.authority, h.host):
		h.refuse(400, "client sent \":authority\" and \"Host\" headers with different values: \"%s\" and \"%s\"", h.authority, h.host)
	case end && s.declared > 0:
		h.refuse(400, "client prematurely closed stream")
	}
	if h.fault.Status != 0 {
		return
	}
	host := h.authority
	if host == nil {
		host = h.host
	}
	var valid bool
	n := len(h.buf)
	if h.buf, valid = h1.GivenHost(h.buf, host); !valid {
		h.refuse(400, "client sent invalid host header")
		return
	}
	r.Host = h.buf[n:len(h.buf):len(h.buf)]
	r.Target = h.path
	n = len(h.buf)
	path, args, valid := h1.GivenTarget(h.buf[n:n:n], h.path, !s.settings.MergeSlashes)
	if !valid {
		h.refuse(400, "client sent invalid :path header: \"%s\"", h.path)
		return
	}
	r.URI, r.Args = path, args
}

// validScheme reports whether a scheme, which is not empty, is one (ngx_http_v2_parse_scheme).
func validScheme(scheme []byte) bool {
	for i, c := range scheme {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return true
}

// joinCookies makes one field of the pieces that a cookie may come in.
func (s *stream) joinCookies() {
	h := &s.head
	value := h.cookies[0]
	if len(h.cookies) > 1 {
		n := len(h.buf)
		for i, c := range h.cookies {
			if i > 0 {
				h.buf = append(h.buf, "; "...)
			}
			h.buf = append(h.buf, c...)
		}
		value = h.buf[n:len(h.buf):len(h.buf)]
	}
	s.r.Headers = append(s.r.Headers, request.Header{Name: nameCookie, Value: value, ID: header.Cookie})
}

var nameCookie = []byte("cookie")

func itoa(n int) string { return strconv.Itoa(n) }

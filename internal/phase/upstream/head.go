package upstream

import (
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// head is the plan of the request's head: the lines of proxy_set_header and nginx's own, in nginx's order, and which of the
// client's fields are not passed on because of them.
type head struct {
	lines   []line
	hidden  fieldNames // of the client
	ownOnly bool       // none of the client's fields is passed on (proxy_pass_request_headers off)
}

// line is one line of the plan.
type line struct {
	kind lineKind
	name []byte // "Name: ", or the whole line where it is fixed
	text Text
}

type lineKind uint8

const (
	lineFixed   lineKind = iota
	lineText             // left out where its value is empty
	lineHost             // Host: $proxy_host
	lineLength           // Content-Length, where the body has one
	lineChunked          // Transfer-Encoding: chunked, where it has none
)

// setting is one proxy_set_header: text is nil where the value is fixed.
type setting struct {
	name  string
	fixed string
	text  Text
}

// planHead makes the plan of what a location sets (ngx_http_proxy_init_headers): its own lines first, then nginx's where it
// did not name them.
func planHead(settings []setting) *head {
	h := &head{}
	for _, s := range settings {
		h.hidden.add(s.name)
		switch {
		case s.text != nil:
			h.lines = append(h.lines, line{kind: lineText, name: []byte(s.name + ": "), text: s.text})
		case s.fixed != "":
			h.lines = append(h.lines, line{name: []byte(s.name + ": " + s.fixed + "\r\n")})
		}
	}
	for _, d := range [...]struct {
		id   header.ID
		line line
	}{
		{header.Host, line{kind: lineHost, name: []byte("Host: ")}},
		{header.Connection, line{name: []byte("Connection: close\r\n")}},
		{header.ContentLength, line{kind: lineLength}},
		{header.TransferEncoding, line{kind: lineChunked}},
	} {
		if !h.hidden.known[d.id] {
			h.hidden.known[d.id] = true
			h.lines = append(h.lines, d.line)
		}
	}
	for _, id := range [...]header.ID{header.TE, header.KeepAlive, header.Expect, header.Upgrade} {
		h.hidden.known[id] = true
	}
	return h
}

// framing is how the request's body is announced.
type framing struct {
	length  int64 // -1: there is none to announce
	chunked bool
}

// append appends the lines behind the request line, up to and including the empty one.
func (h *head) append(dst []byte, r *request.Request, f framing) []byte {
	for i := range h.lines {
		l := &h.lines[i]
		switch l.kind {
		case lineFixed:
			dst = append(dst, l.name...)
		case lineText:
			dst = l.appendText(dst, r)
		case lineHost:
			dst = append(dst, l.name...)
			dst = append(dst, r.ProxyHost...)
			dst = append(dst, '\r', '\n')
		case lineLength:
			if f.length >= 0 {
				dst = h1.AppendInt(dst, "Content-Length", f.length)
			}
		case lineChunked:
			if f.chunked {
				dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
			}
		}
	}
	for i := range r.Headers {
		if f := &r.Headers[i]; !h.ownOnly && !h.hidden.has(f) {
			dst = h1.AppendHeader(dst, f.Name, f.Value)
		}
	}
	return append(dst, '\r', '\n')
}

// appendText appends a line whose value has variables. A value is one line, whatever a client put into a variable: nginx
// would send the line ends on and let the client write fields of its own.
func (l *line) appendText(dst []byte, r *request.Request) []byte {
	start := len(dst)
	dst = append(dst, l.name...)
	from := len(dst)
	dst = l.text.Append(r, dst)
	if len(dst) == from {
		return dst[:start]
	}
	oneLine(dst[from:])
	return append(dst, '\r', '\n')
}

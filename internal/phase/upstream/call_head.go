package upstream

import (
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// calls is what a handler of grpc_pass has of its own.
type calls struct {
	host   []byte      // :authority, where the target is fixed
	named  bool        // a grpc_set_header names Host: there is no :authority
	fields []callField // that are set
	hidden fieldNames  // of the client
	secure bool        // grpcs://
}

// callField is a field that is set: grpc_set_header, and what nginx sets unless that names it.
type callField struct {
	id       header.ID
	name     []byte // in lower case
	fixed    []byte
	text     Text // nil: fixed
	trailers bool // the value is "trailers" where the client says that, and else there is none
}

// planCalls makes the plan of what a location sets (ngx_http_grpc_init_headers). length is the text of Content-Length.
func planCalls(settings []setting, length Text) calls {
	var c calls
	for _, s := range settings {
		name := header.AppendLower(nil, s.name)
		f := callField{id: header.Lookup(name), name: name, fixed: []byte(s.fixed), text: s.text}
		c.hidden.add(s.name)
		c.named = c.named || f.id == header.Host
		if s.text != nil || s.fixed != "" {
			c.fields = append(c.fields, f)
		}
	}
	if !c.hidden.known[header.ContentLength] {
		c.fields = append(c.fields, callField{id: header.ContentLength, name: []byte("content-length"), text: length})
	}
	if !c.hidden.known[header.TE] {
		c.fields = append(c.fields, callField{id: header.TE, name: []byte("te"), trailers: true})
	}
	for _, id := range [...]header.ID{header.ContentLength, header.TE, header.Host, header.Connection, header.ProxyConnection,
		header.TransferEncoding, header.KeepAlive, header.Expect, header.Upgrade, header.HTTP2Settings} {
		c.hidden.known[id] = true
	}
	return c
}

// buildCall writes the request's head: the path for the log, and behind it the block of fields.
func (x *exchange) buildCall() {
	r, c := x.r, x.h.calls
	x.headOnly = string(r.Method) == "HEAD"
	x.out = x.place.appendURI(x.out, r)
	n := len(x.out)
	b := x.out
	switch string(r.Method) {
	case "GET":
		b = append(b, 0x82) // their places in the static table
	case "POST":
		b = append(b, 0x83)
	default:
		b = h2.AppendIndexed(b, 2, r.Method)
	}
	b = append(b, 0x86+b2i(x.place.secure))
	if path := b[:n:n]; string(path) == "/" {
		b = append(b, 0x84)
	} else {
		b = h2.AppendIndexed(b, h2.StaticPath, path)
	}
	if !c.named {
		b = h2.AppendIndexed(b, h2.StaticAuthority, x.place.host)
	}
	for i := range c.fields {
		b = c.fields[i].append(b, r)
	}
	for i := range r.Headers {
		if f := &r.Headers[i]; !c.hidden.has(f) {
			b = h2.AppendField(b, f.ID, f.Name, f.Value)
		}
	}
	x.out, x.uri, x.call.block = b, b[:n:n], b[n:]
}

// append appends a field that is set, unless it has no value.
func (f *callField) append(b []byte, r *request.Request) []byte {
	switch {
	case f.trailers:
		if te, sent := r.Get(header.TE); sent && header.IndexFold(te, "trailers") >= 0 { // as in nginx, wherever it stands
			return h2.AppendField(b, f.id, f.name, valueTrailers)
		}
		return b
	case f.text == nil:
		return h2.AppendField(b, f.id, f.name, f.fixed)
	}
	v := r.Claim(oneLine(f.text.Append(r, r.Scratch())))
	if len(v) == 0 {
		return b
	}
	return h2.AppendField(b, f.id, f.name, v)
}

var valueTrailers = []byte("trailers")

package upstream

import (
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
)

// build writes the request's head, and what there is of the body behind it.
func (x *exchange) build() {
	r := x.r
	if x.h.method == nil {
		x.out = append(x.out, r.Method...)
	} else {
		x.out = oneLine(x.h.method.Append(r, x.out))
	}
	x.headOnly = header.EqualFold(x.out, "head")
	x.out = append(x.out, ' ')
	from := len(x.out)
	x.out = x.place.appendURI(x.out, r)
	uri := len(x.out)
	f := framing{length: -1}
	switch {
	case x.h.body != nil:
		f.length = int64(len(x.body))
	case x.more && r.BodyLength < 0:
		x.out = append(x.out, " HTTP/1.1\r\n"...)
		f.chunked = true
	case x.more:
		f.length = r.BodyLength
	default:
		if _, declared := r.Get(header.ContentLength); declared || r.BodyLength != 0 {
			f.length = r.Body.Length
		}
	}
	if !f.chunked {
		x.out = append(x.out, " HTTP/1."...)
		x.out = append(x.out, '0'+b2i(x.h.http11), '\r', '\n')
	}
	x.out = x.h.head.append(x.out, r, f)
	x.uri = x.out[from:uri]
	body := r.Body.Bytes
	if x.h.body != nil {
		body = x.body
	}
	switch {
	case len(body) == 0 || x.stored || x.h.dropBody:
	case f.chunked:
		x.out = h1.AppendChunk(x.out, body)
	default:
		x.out = append(x.out, body...)
	}
}

// b2i is 1 for true.
func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

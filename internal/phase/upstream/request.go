package upstream

import (
	"errors"
	"io"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
)

// ownBody makes the body of the request to the upstream where it is not the client's: proxy_set_body and
// proxy_pass_request_body off. The client's is read all the same.
func (x *exchange) ownBody() (phase.Next, bool) {
	h, r := x.h, x.r
	if h.body == nil && !h.dropBody {
		return phase.Continue, true
	}
	for x.more {
		b, err := r.Stream.ReadBody()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return x.bodyFault(err), false
		}
		if r.BodyLength < 0 { // its length is told
			x.body = append(x.body, b...)
		}
	}
	x.more = false
	if h.body != nil {
		x.body = h.body.Append(r, x.body[:0])
	}
	return phase.Continue, true
}

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
	case r.BodyLength < 0:
		f.length = int64(len(x.body))
	default:
		if _, declared := r.Get(header.ContentLength); declared || r.BodyLength > 0 {
			f.length = r.BodyLength
		}
	}
	if !f.chunked {
		x.out = append(x.out, " HTTP/1."...)
		x.out = append(x.out, '0'+b2i(x.h.http11), '\r', '\n')
	}
	x.out = x.h.head.append(x.out, r, f)
	x.uri = x.out[from:uri]
	if len(x.body) == 0 || x.h.dropBody {
		return
	}
	if f.chunked {
		x.out = h1.AppendChunk(x.out, x.body)
	} else {
		x.out = append(x.out, x.body...)
	}
}

// b2i is 1 for true.
func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

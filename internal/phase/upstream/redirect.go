package upstream

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// redirect is proxy_redirect default: an answer that points to where proxy_pass points is made to point to the location.
type redirect struct {
	from []byte // "http://upstream/uri/", or with "/" alone where proxy_pass has no URI
	to   []byte
}

// rewrite rewrites a Location or a Refresh. A Location that became a path is the edge's to complete.
func (x *exchange) rewrite(h *request.Header, refresh bool) {
	rd := x.h.redirect
	if rd == nil {
		return
	}
	at := 0
	if refresh {
		if at = header.IndexFold(h.Value, "url="); at < 0 {
			return
		}
		at += len("url=")
	}
	rest, ok := bytes.CutPrefix(h.Value[at:], rd.from)
	if !ok {
		return
	}
	r := x.r
	b := append(r.Scratch(), h.Value[:at]...)
	b = append(b, rd.to...)
	h.Value = r.Claim(append(b, rest...))
	if !refresh && h.Value[0] == '/' {
		r.Response.Location = h.Value
	}
}

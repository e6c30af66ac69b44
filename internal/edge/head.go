package edge

import (
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/request"
)

// Translate fills a request from a head that was parsed from b, as far as it could be read. The request's slices point
// into b and into h.
func Translate(r *request.Request, h *h1.Request, b []byte) {
	r.Line = h.RequestLine(b)
	if !h.LineDone() {
		return
	}
	r.Method, r.Target = h.Method(b), h.Target(b)
	r.URI, r.Args, r.Host = h.Path(b), h.Args(b), h.Host(b)
	r.Major, r.Minor = h.Version()
	r.KeepAlive = h.KeepAlive
	for i := range h.Lines {
		l := &h.Lines[i]
		r.Headers = append(r.Headers, request.Header{Name: l.Name.Of(b), Value: l.Value.Of(b), ID: l.ID})
	}
	switch {
	case h.Chunked:
		r.BodyLength = -1
	case h.ContentLength > 0:
		r.BodyLength = h.ContentLength
	}
}

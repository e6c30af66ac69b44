package upstream

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// accelerated sends the request on to the path that the answer names in X-Accel-Redirect, and drops the rest of the answer
// (ngx_http_upstream_process_headers). It reports false where the answer has no such field.
func (x *exchange) accelerated() (phase.Next, bool) {
	if !x.resp.Has(header.XAccelRedirect) {
		return phase.Continue, false
	}
	r := x.r
	x.translate()
	target := x.redirectTarget()
	x.leave()
	path, args, _ := bytes.Cut(target, []byte{'?'})
	if len(path) == 0 || path[0] != '/' || climbs(path) {
		x.logf(errorlog.Error, "unsafe URI \"%s\" was detected%s", target, reading)
		r.Response = request.Response{Length: -1, Headers: r.Response.Headers[:0]}
		r.Fail(404)
		return phase.Fail, true
	}
	if string(r.Method) != "HEAD" {
		r.Method = methodGet
	}
	r.URI, r.Args, r.Internal = path, args, true
	keepForRedirect(&r.Response)
	return phase.Redirect, true
}

// leave ends an exchange whose answer has a body that nobody wants: it may still be on its way.
func (x *exchange) leave() {
	x.endAttempt()
	x.pump.finish()
	x.unwait()
	x.giveBack(false)
	x.drop()
}

var methodGet = []byte("GET")

// redirectTarget returns the value of X-Accel-Redirect in request memory; translate has moved the head there.
func (x *exchange) redirectTarget() []byte {
	for i := range x.r.Upstream {
		if x.r.Upstream[i].ID == header.XAccelRedirect {
			return x.r.Upstream[i].Value
		}
	}
	return nil
}

// climbs reports whether a path leaves its root: a ".." between slashes.
func climbs(path []byte) bool {
	for part := range bytes.SplitSeq(path, []byte{'/'}) {
		if string(part) == ".." {
			return true
		}
	}
	return false
}

// keepForRedirect keeps of an answer what belongs to the client's copy of it wherever the body comes from.
func keepForRedirect(out *request.Response) {
	kept := out.Headers[:0]
	for _, h := range out.Headers {
		switch h.ID {
		case header.SetCookie, header.ContentDisposition, header.CacheControl, header.Expires, header.AcceptRanges:
			kept = append(kept, h)
		}
	}
	*out = request.Response{Length: -1, ContentType: out.ContentType, Headers: kept}
}

package upstream

import (
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// accelerated sends the request on to the path or the named location that the answer names in X-Accel-Redirect, and drops
// the rest of the answer (ngx_http_upstream_process_headers). It reports false where the answer has no such field.
func (x *exchange) accelerated() (phase.Next, bool) {
	if x.h.rules.ignored&ignoreRedirect != 0 || !x.resp.Has(header.XAccelRedirect) {
		return phase.Continue, false
	}
	r := x.r
	x.takeHead()
	target := x.keepForRedirect()
	x.abandon()
	if len(target) > 0 && target[0] == '@' {
		r.Detour = request.Detour{Path: target, While: reading}
		return phase.Detour, true
	}
	path, args, safe := r.SplitUnsafe(target)
	if !safe {
		x.logf(errorlog.Error, "unsafe URI \"%s\" was detected%s", path, reading)
		r.Fail(404)
		return phase.Fail, true
	}
	if string(r.Method) != "HEAD" {
		r.Method = methodGet
	}
	r.Detour = request.Detour{Path: path, Args: args, While: reading}
	return phase.Detour, true
}

var methodGet = []byte("GET")

// keepForRedirect adds what belongs to the client's copy of the answer wherever the body comes from to what was kept of
// answers before it, and returns the value of X-Accel-Redirect.
func (x *exchange) keepForRedirect() (target []byte) {
	r := x.r
	out := &r.Response
	*out = request.Response{Length: -1, ContentType: out.ContentType, Headers: out.Headers}
	for _, h := range r.Upstream {
		switch h.ID {
		case header.XAccelRedirect:
			target = h.Value
		case header.ContentType:
			out.ContentType = h.Value
		case header.SetCookie:
			h.Value = x.h.rules.cookie(r, h.Value)
			out.Headers = append(out.Headers, h)
		case header.ContentDisposition, header.CacheControl, header.Expires, header.AcceptRanges:
			out.Headers = append(out.Headers, h)
		}
	}
	return target
}

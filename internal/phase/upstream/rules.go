package upstream

import (
	"slices"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// rules are how an answer is changed on its way back.
type rules struct {
	hidden    fieldNames
	ignored   ignored
	redirects []substitution // proxy_redirect
	cookies   *cookieRules   // nil: cookies stay as they are
	ranges    bool           // a part may be cut out of it, whatever it says of ranges (proxy_force_ranges)
	intercept []int          // statuses that error_page answers (proxy_intercept_errors); nil: none
}

// ignored are fields of an answer that have no effect here (proxy_ignore_headers); the others that it may name are for
// caches.
type ignored uint8

const (
	ignoreRedirect ignored = 1 << iota
	ignoreLimitRate
	ignoreBuffering
	ignoreCharset
)

// framing fields of an answer are about its connection: the edge writes its own (the table ngx_http_upstream_headers_in).
var framingFields = [header.Count]bool{
	header.Connection: true, header.KeepAlive: true, header.ContentLength: true, header.TransferEncoding: true,
}

// hiddenFields are those the client does not get unless proxy_pass_header says so (ngx_http_proxy_hide_headers).
func hiddenFields() fieldNames {
	var s fieldNames
	for _, id := range [...]header.ID{header.Date, header.Server, header.XPad, header.XAccelExpires, header.XAccelRedirect,
		header.XAccelLimitRate, header.XAccelBuffering, header.XAccelCharset} {
		s.known[id] = true
	}
	return s
}

// cookie returns a Set-Cookie as the client gets it.
func (s *rules) cookie(r *request.Request, value []byte) []byte {
	if s.cookies == nil {
		return value
	}
	return s.cookies.rewrite(r, value)
}

// intercepts reports whether error_page answers in place of an answer.
func (s *rules) intercepts(status int) bool {
	return status >= 300 && len(s.intercept) > 0 && slices.Contains(s.intercept, status)
}

// translate makes r.Response and r.Upstream from the head of the answer, which moves to request memory.
func (x *exchange) translate() {
	r, resp, rules := x.r, &x.resp, &x.h.rules
	b := x.takeHead()
	out := &r.Response
	out.Status, out.Length = resp.Status, resp.ContentLength
	out.Reason = nil
	if text := resp.StatusText(b); len(text) > 0 { // there is none in HTTP/2
		out.Reason = text[min(4, len(text)):]
	}
	out.Trailing = x.h.calls != nil && !x.call.alone && (out.Length < 0 || r.Major > 1)
	out.ContentType, out.Location, out.Proxied = nil, nil, true
	if rules.ranges {
		out.Ranges = request.OneRange
	}
	for i := range r.Upstream {
		h := r.Upstream[i]
		if framingFields[h.ID] || rules.hidden.has(&h) {
			continue
		}
		switch h.ID {
		case header.ContentType:
			out.ContentType = h.Value
			continue
		case header.AcceptRanges:
			if rules.ranges {
				continue
			}
		case header.Location, header.Refresh:
			x.redirect(&h)
			if h.ID == header.Location && out.Location != nil {
				continue
			}
		case header.SetCookie:
			h.Value = rules.cookie(r, h.Value)
		}
		out.Headers = append(out.Headers, h)
	}
	if x.charset != nil && len(out.ContentType) > 0 {
		// A character set has an effect in nginx where the configuration names it, which it can't here.
		x.logf(errorlog.Error, "unknown charset \"%s\" to override%s", x.charset, reading)
	}
}

// takeHead moves the head of the answer to request memory, and its fields to r.Upstream. Those that say something to the
// gateway have their effect.
func (x *exchange) takeHead() []byte {
	r, resp, ignored := x.r, &x.resp, x.h.rules.ignored
	b := r.Keep(x.in[x.start : x.start+resp.Size()])
	x.start += resp.Size()
	r.Upstream, x.charset = r.Upstream[:0], nil
	for i := range resp.Lines {
		l := &resp.Lines[i]
		h := request.Header{Name: l.Name.Of(b), Value: l.Value.Of(b), ID: l.ID}
		r.Upstream = append(r.Upstream, h)
		switch {
		case h.ID == header.XAccelLimitRate && ignored&ignoreLimitRate == 0:
			if n, ok := h1.ParseLength(h.Value); ok {
				r.LimitRate = request.RateSetting{Set: true, BytesPerSec: n}
			}
		case h.ID == header.XAccelCharset && ignored&ignoreCharset == 0 && len(h.Value) > 0:
			x.charset = h.Value
		}
	}
	return b
}

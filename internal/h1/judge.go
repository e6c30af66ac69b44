package h1

import "github.com/limitgate/limitgate/internal/header"

// uniqueHeaders are the headers a request may carry once (the table ngx_http_headers_in).
var uniqueHeaders = [header.Count]bool{
	header.Authorization:      true,
	header.ContentLength:      true,
	header.ContentRange:       true,
	header.Expect:             true,
	header.Host:               true,
	header.IfMatch:            true,
	header.IfModifiedSince:    true,
	header.IfNoneMatch:        true,
	header.IfRange:            true,
	header.IfUnmodifiedSince:  true,
	header.ProxyAuthorization: true,
	header.TransferEncoding:   true,
}

// Unique reports whether a request may carry a known header once only.
func Unique(id header.ID) bool { return uniqueHeaders[id] }

// judgedHeaders are those judgeLine has something to say about.
var judgedHeaders = buildJudgedHeaders()

func buildJudgedHeaders() [header.Count]bool {
	t := uniqueHeaders
	t[header.Connection] = true
	return t
}

// judgeLine does what nginx does for a known header as soon as its line is read.
func (r *Request) judgeLine(b []byte, h Header) error {
	if uniqueHeaders[h.ID] && r.Has(h.ID) {
		first, _ := r.Find(h.ID)
		kind := "header line"
		if h.ID == header.Host {
			kind = "host header"
		}
		return headError(400, "client sent duplicate %s: \"%s: %s\", previous value: \"%s: %s\"", kind,
			h.Name.Of(b), h.Value.Of(b), first.Name.Of(b), first.Value.Of(b))
	}
	switch h.ID {
	case header.Host:
		if !r.setHost(b, h.Value) {
			return headError(400, "client sent invalid host header")
		}
	case header.Connection:
		// ngx_http_process_connection: of several lines the last that says anything counts.
		if v := h.Value.Of(b); header.IndexFold(v, "close") >= 0 {
			r.connection = connectionClose
		} else if header.IndexFold(v, "keep-alive") >= 0 {
			r.connection = connectionKeepAlive
		}
	}
	return nil
}

// judge decides about the whole head (ngx_http_process_request_header): host, framing, methods that are never served.
func (r *Request) judge(b []byte) error {
	l := &r.l
	http11 := l.minor > 0
	if http11 && !r.Has(header.Host) {
		return headError(400, "client sent HTTP/1.1 request without \"Host\" header")
	}
	if h, ok := r.Find(header.ContentLength); ok {
		if r.ContentLength, ok = ParseLength(h.Value.Of(b)); !ok {
			return headError(400, "client sent invalid \"Content-Length\" header")
		}
	}
	if h, ok := r.Find(header.TransferEncoding); ok {
		v := h.Value.Of(b)
		switch {
		case !http11:
			return headError(400, "client sent HTTP/1.0 request with \"Transfer-Encoding\" header")
		case !header.EqualFold(v, "chunked"):
			return headError(501, "client sent unknown \"Transfer-Encoding\": \"%s\"", v)
		case r.Has(header.ContentLength):
			return headError(400, "client sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time")
		}
		r.Chunked = true
	}
	switch l.verb {
	case methodConnect:
		return headError(405, "client sent CONNECT method")
	case methodTrace:
		return headError(405, "client sent TRACE method")
	}
	r.KeepAlive = r.connection == connectionKeepAlive || http11 && r.connection == connectionNone
	return nil
}

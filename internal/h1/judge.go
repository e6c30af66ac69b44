package h1

// uniqueHeaders are the headers a request may carry once (the table ngx_http_headers_in).
var uniqueHeaders = [headerIDs]bool{
	HeaderAuthorization:      true,
	HeaderContentLength:      true,
	HeaderContentRange:       true,
	HeaderExpect:             true,
	HeaderHost:               true,
	HeaderIfMatch:            true,
	HeaderIfModifiedSince:    true,
	HeaderIfNoneMatch:        true,
	HeaderIfRange:            true,
	HeaderIfUnmodifiedSince:  true,
	HeaderProxyAuthorization: true,
	HeaderTransferEncoding:   true,
}

// judgedHeaders are those judgeLine has something to say about.
var judgedHeaders = buildJudgedHeaders()

func buildJudgedHeaders() [headerIDs]bool {
	t := uniqueHeaders
	t[HeaderConnection] = true
	return t
}

// judgeLine does what nginx does for a known header as soon as its line is read.
func (r *Request) judgeLine(b []byte, h Header) error {
	if uniqueHeaders[h.ID] && r.Has(h.ID) {
		first, _ := r.Find(h.ID)
		kind := "header line"
		if h.ID == HeaderHost {
			kind = "host header"
		}
		return headError(400, "client sent duplicate %s: \"%s: %s\", previous value: \"%s: %s\"", kind,
			h.Name.Of(b), h.Value.Of(b), first.Name.Of(b), first.Value.Of(b))
	}
	switch h.ID {
	case HeaderHost:
		if !r.setHost(b, h.Value) {
			return headError(400, "client sent invalid host header")
		}
	case HeaderConnection:
		// ngx_http_process_connection: of several lines the last that says anything counts.
		if v := h.Value.Of(b); ContainsFold(v, "close") {
			r.connection = connectionClose
		} else if ContainsFold(v, "keep-alive") {
			r.connection = connectionKeepAlive
		}
	}
	return nil
}

// judge decides about the whole head (ngx_http_process_request_header): host, framing, methods that are never served.
func (r *Request) judge(b []byte) error {
	l := &r.l
	http11 := l.minor > 0
	if http11 && !r.Has(HeaderHost) {
		return headError(400, "client sent HTTP/1.1 request without \"Host\" header")
	}
	if h, ok := r.Find(HeaderContentLength); ok {
		if r.ContentLength, ok = ParseLength(h.Value.Of(b)); !ok {
			return headError(400, "client sent invalid \"Content-Length\" header")
		}
	}
	if h, ok := r.Find(HeaderTransferEncoding); ok {
		v := h.Value.Of(b)
		switch {
		case !http11:
			return headError(400, "client sent HTTP/1.0 request with \"Transfer-Encoding\" header")
		case !EqualFold(v, "chunked"):
			return headError(501, "client sent unknown \"Transfer-Encoding\": \"%s\"", v)
		case r.Has(HeaderContentLength):
			return headError(400, "client sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time")
		}
		r.Chunked = true
	}
	switch l.verb {
	case MethodConnect:
		return headError(405, "client sent CONNECT method")
	case MethodTrace:
		return headError(405, "client sent TRACE method")
	}
	r.KeepAlive = r.connection == connectionKeepAlive || http11 && r.connection == connectionNone
	return nil
}

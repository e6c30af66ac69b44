package h1

import "github.com/limitgate/limitgate/internal/header"

// Response is the head of an upstream's response and the parser that reads it. The zero value is ready; Reset makes it
// ready again and keeps its memory. Spans refer to the buffer given to Parse.
type Response struct {
	Headers
	// Dropped are lines that repeat a header which may come once: nginx logs them at warn, see DropMessage, and passes
	// on the first one only.
	Dropped []Header
	// Status is the code; 200 for HTTP/0.9.
	Status int
	// ContentLength is -1 when the response doesn't say.
	ContentLength int64
	// Chunked tells that the body comes in chunks.
	Chunked bool
	// KeepAlive tells that the connection may be used again once the body was read to its end.
	KeepAlive bool
	// HTTP09 tells that there is no head: all bytes are the body. nginx logs NoHeaderMessage at error and goes on.
	HTTP09 bool

	s statusParser
	f fieldParser
	n bool // headers began
}

// NoHeaderMessage is what nginx logs for a response without a status line.
const NoHeaderMessage = "upstream sent no valid HTTP/1.0 header" + readingUpstream

// Reset makes r ready for the next response. Memory of the last one is used again.
func (r *Response) Reset() {
	lines, dropped := r.Lines, r.Dropped
	*r = Response{}
	r.Lines, r.Dropped = lines[:0], dropped[:0]
}

// Parse goes on reading the head in b, which must begin with the same bytes as in the calls before (it may have moved)
// and have more behind them. It reports true when the head is complete: Size bytes of b. It returns false and no error
// when it needs more; room is the size of the buffer (proxy_buffer_size), and a head that fills it is too big. An error
// is an *Error.
func (r *Response) Parse(b []byte, room int) (bool, error) {
	b = b[:min(len(b), room)]
	if !r.n {
		switch r.s.next(b) {
		case needMore:
			return r.wait(b, room)
		case lineDone:
			r.begin()
		default:
			// nginx takes anything that doesn't begin as HTTP does for HTTP/0.9 (ngx_http_proxy_process_status_line).
			r.HTTP09, r.Status, r.ContentLength = true, 200, -1
			return true, nil
		}
		if r.Status == 103 && !r.KeepAlive {
			return false, upstreamError("upstream sent HTTP/1.0 response with early hints")
		}
	}
	f := &r.f
	for {
		switch f.next(b) {
		case headDone:
			return true, nil
		case needMore:
			return r.wait(b, room)
		case badHeader:
			return false, upstreamError("upstream sent invalid header: \"%s\\x%02x...\"", b[f.start:f.valEnd], b[f.valEnd])
		}
		h := f.header()
		keep := true
		if h.ID != header.Other {
			var err error
			if keep, err = r.judgeLine(b, h); err != nil {
				return false, err
			}
		}
		if keep {
			r.add(h)
		}
		f.begin()
	}
}

// begin turns from the status line to the headers.
func (r *Response) begin() {
	r.n = true
	r.Status, r.ContentLength = int(r.s.code), -1
	r.KeepAlive = r.s.major > 1 || r.s.major == 1 && r.s.minor > 0
	r.f.pos, r.f.underscores, r.f.ignoreStatusInHead = r.s.pos, true, true
	r.f.begin()
}

func (r *Response) wait(b []byte, room int) (bool, error) {
	if len(b) >= room {
		return false, upstreamError("upstream sent too big header")
	}
	return false, nil
}

// judgeLine does what nginx does for a known header (the table ngx_http_upstream_headers_in). It reports whether the
// line counts.
func (r *Response) judgeLine(b []byte, h Header) (bool, error) {
	if r.Status == 103 {
		return true, nil // early hints frame nothing
	}
	first, dup := r.Find(h.ID)
	v := h.Value.Of(b)
	switch h.ID {
	case header.ContentLength:
		if dup {
			return false, duplicateLine(b, h, first)
		}
		if r.Has(header.TransferEncoding) {
			return false, upstreamError("upstream sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time")
		}
		var ok bool
		if r.ContentLength, ok = ParseLength(v); !ok {
			return false, upstreamError("upstream sent invalid \"Content-Length\" header: \"%s: %s\"", h.Name.Of(b), v)
		}
	case header.TransferEncoding:
		if dup {
			return false, duplicateLine(b, h, first)
		}
		if r.Has(header.ContentLength) {
			return false, upstreamError("upstream sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time")
		}
		if !header.EqualFold(v, "chunked") {
			return false, upstreamError("upstream sent unknown \"Transfer-Encoding\": \"%s\"", v)
		}
		r.Chunked = true
	case header.Connection:
		if header.IndexFold(v, "close") >= 0 {
			r.KeepAlive = false
		}
	default:
		if dup && singleHeaders[h.ID] {
			r.Dropped = append(r.Dropped, h)
			return false, nil
		}
	}
	return true, nil
}

// singleHeaders are the headers of which an upstream's second line is ignored.
var singleHeaders = [header.Count]bool{
	header.ContentType:    true,
	header.Date:           true,
	header.ETag:           true,
	header.Expires:        true,
	header.LastModified:   true,
	header.Location:       true,
	header.Refresh:        true,
	header.Server:         true,
	header.Status:         true,
	header.XAccelExpires:  true,
	header.XAccelRedirect: true,
}

const duplicateFormat = "upstream sent duplicate header line: \"%s: %s\", previous value: \"%s: %s\""

func duplicateLine(b []byte, h, first Header) error {
	return upstreamError(duplicateFormat, h.Name.Of(b), h.Value.Of(b), first.Name.Of(b), first.Value.Of(b))
}

// Version is the version: 0, 9 without a status line.
func (r *Response) Version() (major, minor int) {
	if r.HTTP09 {
		return 0, 9
	}
	return int(r.s.major), int(r.s.minor)
}

// StatusText is code and reason as they came ("200 OK"): nginx hands them on unchanged.
func (r *Response) StatusText(b []byte) []byte { return r.s.text.Of(b) }

// Size is how many bytes of b the complete head takes.
func (r *Response) Size() int { return int(r.f.pos) }

// Interim tells that another response follows this one: every 1xx but 101.
func (r *Response) Interim() bool { return r.Status >= 100 && r.Status < 200 && r.Status != 101 }

// Body is the framing of the response's body; head tells that the request was HEAD.
func (r *Response) Body(head bool) Body {
	switch {
	case r.HTTP09, r.Status == 101:
		return CloseBody()
	case head, r.Status == 204, r.Status == 304, r.Interim():
		return Body{}
	case r.Chunked:
		return ChunkedBody()
	case r.ContentLength >= 0:
		return LengthBody(r.ContentLength)
	}
	return CloseBody()
}

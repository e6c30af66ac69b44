package h1

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/header"
)

// Request is the head of a request and the parser that reads it. The zero value is ready; Reset makes it ready again and
// keeps its memory. Spans refer to the buffer given to Parse.
type Request struct {
	Headers
	// Dropped are the lines with invalid names that were left out (ignore_invalid_headers).
	Dropped []Span
	// ContentLength is -1 when the request doesn't say.
	ContentLength int64
	// Port is the port of the host, 0 when it has none.
	Port uint16
	// Chunked tells that the body comes in chunks.
	Chunked bool
	// KeepAlive is what version and Connection say about the connection; the server may still close it.
	KeepAlive bool

	l          lineParser
	f          fieldParser
	room       headRoom
	inHeaders  bool
	pathOwned  bool // path is in pathBuf
	hostOwned  bool // host is in hostBuf
	host       Span
	path, args Span
	pathBuf    []byte
	hostBuf    []byte
	connection uint8
}

// What the last Connection line with a word we know asked for.
const (
	connectionNone = iota
	connectionClose
	connectionKeepAlive
)

// Reset makes r ready for the next request. Memory of the last one is used again.
func (r *Request) Reset() {
	lines, dropped, path, host := r.Lines, r.Dropped, r.pathBuf, r.hostBuf
	*r = Request{}
	r.Lines, r.Dropped, r.pathBuf, r.hostBuf = lines[:0], dropped[:0], path[:0], host[:0]
}

// Parse goes on reading the head in b, which must begin with the same bytes as in the calls before (it may have moved)
// and have more behind them. It reports true when the head is complete: Size bytes of b. It returns false and no error
// when it needs more. An error is an *Error; RequestLine is then what nginx would log as $request.
//
// rules may change between calls, as nginx looks at the server a Host header chose from then on.
func (r *Request) Parse(b []byte, rules *Rules) (bool, error) {
	if r.room.end == 0 {
		r.room.end = rules.firstBuffer()
	}
	for {
		view := b[:min(len(b), int(r.room.end))]
		if !r.inHeaders {
			v := r.l.next(view)
			if v == needMore {
				if done, err := r.stretch(view, r.l.line.Start, rules); done {
					return false, err
				}
				continue
			}
			if err := r.endLine(view, v, rules); err != nil {
				return false, err
			}
			if r.l.major == 0 {
				return true, nil
			}
		}
		v, err := r.readHeaders(view, rules)
		if v == headDone && err == nil {
			return true, r.judge(b)
		}
		if err != nil {
			return false, err
		}
		if done, err := r.stretch(view, r.f.start, rules); done {
			return false, err
		}
	}
}

// stretch decides what to do when view held no complete line: wait, refuse, or go on in a larger buffer.
func (r *Request) stretch(view []byte, start int32, rules *Rules) (done bool, err error) {
	if len(view) < int(r.room.end) {
		return true, nil
	}
	if !r.inHeaders && r.l.state == lineStart {
		// nginx reads empty lines before a request for as long as they come; a buffer full of them is enough.
		return true, r.refuseLine(view, 400, "client sent invalid request")
	}
	if r.room.more(start, rules) {
		return false, nil
	}
	if !r.inHeaders {
		return true, r.refuseLine(view, 414, "client sent too long URI")
	}
	const most = 2048 - 300 // NGX_MAX_ERROR_STR and what nginx leaves for the rest of the line
	return true, headError(494, "client sent too long header line: \"%s...\"", view[start:min(int(start)+most, len(view))])
}

// refuseLine makes $request of what came of the line, as ngx_http_variable_request_line does.
func (r *Request) refuseLine(view []byte, status int, msg string) error {
	line := view[r.l.line.Start:]
	if status != 414 {
		line = firstLine(line)
	}
	r.l.line.End = r.l.line.Start + int32(len(line))
	return lineError(status, msg)
}

// firstLine is b up to its first line end.
func firstLine(b []byte) []byte {
	if n := bytes.IndexAny(b, "\r\n"); n >= 0 {
		b = b[:n]
	}
	return b
}

// endLine takes the verdict on the request line, then path and host of it (ngx_http_process_request_uri and the part of
// ngx_http_process_request_line around it).
func (r *Request) endLine(b []byte, v verdict, rules *Rules) error {
	switch v {
	case badMethod:
		return r.refuseLine(b, 400, "client sent invalid method")
	case badRequest:
		return r.refuseLine(b, 400, "client sent invalid request")
	case badVersion:
		return r.refuseLine(b, 505, "client sent invalid version")
	case bad09:
		return r.refuseLine(b, 400, "client sent invalid method in HTTP/0.9 request")
	}
	l := &r.l
	r.ContentLength = -1
	r.inHeaders = true
	r.f.pos = l.pos
	r.f.begin()
	r.path = l.target
	if l.complex {
		target := l.target.Of(b)
		path, args, ok := appendPath(r.pathBuf[:0], target, rules.KeepSlashes)
		if !ok {
			path = []byte{} // as nginx leaves it: there, and empty
		}
		r.pathBuf, r.pathOwned = path, true
		if !ok {
			return lineError(400, "client sent invalid request")
		}
		if len(args) > 0 {
			at := int(l.target.Start) + bytes.IndexByte(target, '?') + 1
			r.args = span(at, at+len(args))
		}
	} else if l.args > 0 {
		r.path.End = l.args - 1
		r.args = Span{l.args, l.target.End}
	}
	if l.hasHost && !r.setHost(b, l.host) {
		return lineError(400, "client sent invalid host in request line")
	}
	return nil
}

// setHost checks s and makes it the request's host, unless the request line named one already.
func (r *Request) setHost(b []byte, s Span) bool {
	h, ok := parseHost(s.Of(b))
	if !ok {
		return false
	}
	if r.host.Len() > 0 {
		return true
	}
	r.host = Span{s.Start, s.Start + int32(h.Len)}
	r.Port = h.Port
	if h.Upper {
		r.hostBuf, r.hostOwned = header.AppendLower(r.hostBuf[:0], r.host.Of(b)), true
	}
	return true
}

// readHeaders reads header lines until the head or b ends. It judges each line at once, as nginx does.
func (r *Request) readHeaders(b []byte, rules *Rules) (verdict, error) {
	f := &r.f
	f.underscores = rules.Underscores
	most := rules.maxHeaders()
	for {
		switch v := f.next(b); v {
		case lineDone:
		case badHeader:
			return v, headError(400, "client sent invalid header line: \"%s\\x%02x...\"", b[f.start:f.valEnd], b[f.valEnd])
		default:
			return v, nil
		}
		h := f.header()
		switch {
		case h.Invalid && !rules.KeepInvalid:
			r.Dropped = append(r.Dropped, Span{f.start, f.valEnd})
			f.begin()
			continue
		case len(r.Lines) >= most:
			return badHeader, headError(494, "client sent too many header lines")
		case judgedHeaders[h.ID]:
			if err := r.judgeLine(b, h); err != nil {
				return badHeader, err
			}
		}
		r.add(h)
		f.begin()
	}
}

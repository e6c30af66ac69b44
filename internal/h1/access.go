package h1

import "github.com/limitgate/limitgate/internal/header"

// RequestLine is $request: the line as it came, without its line end; what there is of a line that is not complete
// (ngx_http_variable_request_line).
func (r *Request) RequestLine(b []byte) []byte {
	if r.l.line.End == 0 {
		return firstLine(b[r.l.line.Start:])
	}
	return r.l.line.Of(b)
}

// LineDone tells that the request line was read and is sound: what it says can be asked for.
func (r *Request) LineDone() bool { return r.inHeaders }

// Method is the method's token as it came.
func (r *Request) Method(b []byte) []byte { return r.l.method.Of(b) }

// Target is $request_uri: the target without scheme and authority.
func (r *Request) Target(b []byte) []byte { return r.l.target.Of(b) }

// Version is the version: 0, 9 for HTTP/0.9.
func (r *Request) Version() (major, minor int) { return int(r.l.major), int(r.l.minor) }

// atLeast11 tells whether the client speaks HTTP/1.1 or a later 1.x.
func (r *Request) atLeast11() bool { return r.l.major == 1 && r.l.minor > 0 }

// Protocol is $server_protocol as it came; "HTTP/0.9" isn't written on the wire and is empty here.
func (r *Request) Protocol(b []byte) []byte { return r.l.protocol.Of(b) }

// Path is $uri before any rewrite: the normalised path. It is a piece of b or belongs to r until Reset; nil where there is
// none.
func (r *Request) Path(b []byte) []byte {
	switch {
	case r.pathOwned:
		return r.pathBuf
	case r.path.Len() == 0:
		return nil
	}
	return r.path.Of(b)
}

// Args is $args; nil where there are none.
func (r *Request) Args(b []byte) []byte {
	if r.args.Len() == 0 {
		return nil
	}
	return r.args.Of(b)
}

// Host is $host as the client gave it: in lower case, without port and end dot, from the request line if it names one.
// It is empty when the client named none, and a piece of b or r's until Reset.
func (r *Request) Host(b []byte) []byte {
	if r.hostOwned {
		return r.hostBuf
	}
	return r.host.Of(b)
}

// Size is how many bytes of b the complete head takes, with empty lines before it.
func (r *Request) Size() int {
	if r.inHeaders {
		return int(r.f.pos)
	}
	return int(r.l.pos)
}

// Length is what $request_length counts for the head: Size without the empty lines before it.
func (r *Request) Length() int { return r.Size() - int(r.l.line.Start) }

// Started tells that a byte of a request came: what is read when the connection ends or time is up is a request and not
// an idle connection.
func (r *Request) Started() bool { return r.l.state != lineStart }

// Reading is what nginx says was being done, for messages about a client that left or was too slow.
func (r *Request) Reading() string {
	if r.inHeaders {
		return "reading client request headers"
	}
	return "reading client request line"
}

// Expect100 tells that the client waits for "100 Continue" (ngx_http_test_expect).
func (r *Request) Expect100(b []byte) bool {
	return r.atLeast11() && header.EqualFold(r.Value(b, header.Expect), "100-continue")
}

// Body is the framing of the request's body.
func (r *Request) Body() Body {
	switch {
	case r.Chunked:
		return ChunkedBody()
	case r.ContentLength > 0:
		return LengthBody(r.ContentLength)
	}
	return Body{}
}

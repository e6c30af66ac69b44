package request

import "github.com/limitgate/limitgate/internal/header"

// Response is the answer as phases build it. The edge adds what depends on the connection: Server, Date, Content-Length
// or chunking, Connection.
type Response struct {
	Status      int
	Reason      []byte // nil: the standard phrase
	ContentType []byte
	Location    []byte
	Absolute    bool     // Location was only a path and was made a whole URL: nginx then prints it before Connection
	Length      int64    // of the body; -1: not known, the edge frames it
	Headers     []Header // everything else, in order
	Close       bool     // the connection must not carry another request
	Linger      bool     // the client may still be sending: close the lingering way
	Sent        bool     // the head is out; set by the edge
	Silent      bool     // the connection is closed without an answer (status 444, 499)
}

// AddHeader appends a field to the response. name and value must live as long as the request.
func (r *Request) AddHeader(name, value []byte) {
	r.Response.Headers = append(r.Response.Headers, Header{Name: name, Value: value, ID: header.Lookup(name)})
}

// Fail makes status the answer, without a body yet: the program finds the error page. What Response.Headers already
// holds stays.
func (r *Request) Fail(status int) {
	r.Response.Status = status
	r.Response.Reason, r.Response.ContentType, r.Response.Location, r.Response.Absolute = nil, nil, nil, false
	r.Response.Length = -1
}

// Leave makes the answer silence: the connection is closed and status is what the log shows (444, 499).
func (r *Request) Leave(status int) {
	r.Response.Status = status
	r.Response.Silent, r.Response.Close = true, true
}

// SendHead lets the location have its last word on the head and sends it, with the status of the error where this is the
// page of one. A Location that is only a path becomes a URL. No body follows a HEAD request, a 204 or a 304.
func (r *Request) SendHead() error {
	if r.ErrStatus != 0 {
		r.Response.Status, r.Response.Reason = r.ErrStatus, nil
	}
	r.completeLocation()
	if r.Shaper != nil {
		r.Shaper.ShapeHead(r)
	}
	return r.Stream.SendHead(r)
}

// SendBody sends a piece of the body, held to the location's rate where there is one. The piece may be kept in a buffer
// until Flush or the end of the request, but p itself is not kept.
func (r *Request) SendBody(p []byte) error {
	if r.Shaper != nil {
		return r.Shaper.SendBody(r, p)
	}
	return r.Stream.SendBody(p)
}

// Answer sends a whole response with a body that is already here, the body only where one may follow.
func (r *Request) Answer(status int, contentType, body []byte) error {
	r.Response.Status, r.Response.ContentType, r.Response.Length = status, contentType, int64(len(body))
	if err := r.SendHead(); err != nil {
		return err
	}
	if len(body) == 0 || !r.BodyAllowed() {
		return nil
	}
	return r.SendBody(body)
}

// BodyAllowed reports whether the response may carry a body at all.
func (r *Request) BodyAllowed() bool {
	s := r.Response.Status
	return s != 204 && s != 304 && s >= 200 && string(r.Method) != "HEAD"
}

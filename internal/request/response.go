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

	// Modified is when what is sent changed last, in seconds since the epoch, where it is Dated: the edge writes it as
	// Last-Modified. An upstream's own field stands among Headers.
	Modified int64
	Dated    bool
	Proxied  bool   // an upstream's answer: the conditions of the request were for it to judge
	Ranges   Ranges // which parts whoever answers can send, and asks for; left alone by a body that can only be whole
	Parts    []Part // what to send of the body instead of all of it, in this order, where Ranges is AnyRanges
	Tail     []byte // goes behind the last of Parts
	Vary     bool   // the edge writes Vary: Accept-Encoding

	Trailing bool     // Trailers may come behind the body: it is sent in chunks where the client knows them
	Trailers []Header // by the time of Finish
	Kept     bool     // the connection may carry another request; set by the edge with the head
	Chunked  bool     // the body is sent in chunks; set by the edge with the head

	// Page is what the answer to a failed request says in the place of the page of its status, with ContentType, unless an
	// error_page takes it. nil: nothing of its own.
	Page []byte

	// Call is what the answer to a failed call of gRPC says, again unless an error_page takes it: fields of the head of an answer
	// 200 with ContentType and without a body. Empty: as any other request.
	Call []Header
}

// Ranges says which parts of a body whoever answers can send.
type Ranges uint8

// A handler that sends files sends Parts itself; of a body that is only passed on one part can be cut out.
const (
	NoRanges Ranges = iota
	OneRange
	AnyRanges
)

// Part is a part of a body: the bytes from From up to To, with Lead before them.
type Part struct {
	Lead     []byte
	From, To int64
}

// Unsigned reports whether the response does not say itself who answers, and when: the edge does.
func (r *Response) Unsigned() (server, date bool) {
	server, date = true, true
	for i := range r.Headers {
		switch r.Headers[i].ID {
		case header.Server:
			server = false
		case header.Date:
			date = false
		}
	}
	return server, date
}

// AddHeader appends a field to the response. name and value must live as long as the request.
func (r *Request) AddHeader(name, value []byte) {
	r.Response.Headers = append(r.Response.Headers, Header{Name: name, Value: value, ID: header.Lookup(name)})
}

// Fail makes status the answer, without a body yet: the program finds the error page, where no Page is set afterwards. What
// Response.Headers already holds stays.
func (r *Request) Fail(status int) {
	r.Response.Status = status
	out := &r.Response
	out.Reason, out.ContentType, out.Location, out.Absolute = nil, nil, nil, false
	out.Length, out.Dated, out.Ranges, out.Parts, out.Proxied, out.Vary = -1, false, NoRanges, nil, false, false
	out.Page, out.Call = nil, out.Call[:0]
}

// Leave makes the answer silence: the connection is closed and status is what the log shows (444, 499).
func (r *Request) Leave(status int) {
	r.Response.Status = status
	r.Response.Silent, r.Response.Close = true, true
}

// SendHead lets the location have its last word on the head and sends it, with the status of the error where this is the
// page of one. A Location that is only a path becomes a URL. No body follows a HEAD request, a 204 or a 304. It returns
// ErrRefused where the answer became an error.
func (r *Request) SendHead() error {
	if r.ErrStatus != 0 {
		r.Response.Status, r.Response.Reason = r.ErrStatus, nil
	}
	r.completeLocation()
	if r.Shaper != nil && !r.IsSub() {
		if err := r.Shaper.ShapeHead(r); err != nil {
			r.releaseFilters()
			return err
		}
	}
	switch out := &r.Response; out.Status {
	case 200, 206, 304:
	case 204:
		out.Dated, out.Length = false, -1
	default:
		out.Dated = false // as in nginx: the page of an error has no time
	}
	return r.Stream.SendHead(r)
}

// SendBody sends a piece of the body, through the filters of the location and held to its rate where there are any. The
// piece may be kept in a buffer until Flush or the end of the request, but p itself is not kept.
func (r *Request) SendBody(p []byte) error {
	if len(r.filters) > 0 {
		return Sink{r, 0}.Write(p, More)
	}
	return r.emit(p, More)
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
	s, method := r.Response.Status, r.Method
	if r.Asked != nil {
		method = r.Asked
	}
	return s != 204 && s != 304 && s >= 200 && string(method) != "HEAD" && !r.IsSub()
}

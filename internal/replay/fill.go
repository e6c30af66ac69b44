package replay

import (
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/request"
)

// filler makes requests of entries, as one configuration has them.
type filler struct {
	program *pipeline.Program
	rules   *h1.Rules
	tlsPort int  // that stands for a log that tells no more than https
	which   int  // of the configurations it is
	same    bool // paths were read as this configuration reads them
	port    int  // of requests of which the log tells none; 0: unknown
}

const (
	anyTLS    = -1 // the port of a request of which only its scheme is known
	largeHead = 64 << 10
)

// fill makes the request of an entry that comes at an instant.
func (f *filler) fill(m *visit, e *entry, at int64) {
	v := &m.visit
	from := e.client
	if e.resolved && e.listens[f.which] {
		from = e.peer // the configuration finds the client itself
	}
	v.Reset(e.serial, at, from)
	r := &v.Request
	if e.resolved && !e.listens[f.which] {
		v.Conn.PeerAddr, r.Resolved = e.peer, true
	}
	v.Conn.ProxySource = e.source
	// The time that a request took when it was logged holds what it waited for a limit then.
	v.Stay, v.Whole = e.stay, e.logged == delayed
	v.Report.Vouched = e.status != 401
	switch {
	case e.broken:
		r.Line = e.of(e.line)
		r.Fault = request.Fault{Status: 400}
	case e.parsed && f.same:
		f.direct(r, e)
	default:
		m.compose(e)
		v.Read(m.head, f.rules)
		r.Line = e.of(e.line)
		if r.Fault.Status == 0 {
			r.Major, r.Minor = e.version[0], e.version[1]
		}
	}
	port := e.port
	if port == anyTLS {
		port = f.tlsPort
	}
	if port == 0 {
		port = f.port
	}
	if f.program.ArriveAt(r, port) {
		m.tls = request.TLS{}
		v.Conn.TLS = &m.tls
	}
}

// direct sets what an edge would read out of the head.
func (f *filler) direct(r *request.Request, e *entry) {
	r.Line, r.Method, r.Target = e.of(e.line), e.of(e.method), e.of(e.target)
	r.URI, r.Args, r.Host = e.of(e.path), e.of(e.args), e.of(e.name)
	r.Major, r.Minor = e.version[0], e.version[1]
	r.KeepAlive = e.host.there() && (r.Major > 1 || r.Minor > 0)
	r.BodyLength = e.length
	for i := range e.headers {
		h := &e.headers[i]
		r.Headers = append(r.Headers, request.Header{Name: h.name.name, Value: e.of(h.value), ID: h.name.id})
	}
}

// compose writes the head that the client sent, as far as the log tells. One without a host is of HTTP/1.0, which needs none.
func (m *visit) compose(e *entry) {
	if cap(m.head) > largeHead {
		m.head = nil
	}
	b := append(append(m.head[:0], e.of(e.method)...), ' ')
	b = append(b, e.of(e.target)...)
	switch {
	case e.version[0] == 0:
	case e.host.there() && (e.version[0] > 1 || e.version[1] > 0):
		b = append(b, " HTTP/1.1"...)
	default:
		b = append(b, " HTTP/1.0"...)
	}
	b = append(b, "\r\n"...)
	for i := range e.headers {
		h := &e.headers[i]
		b = append(append(b, h.name.name...), ": "...)
		b = append(append(b, e.of(h.value)...), "\r\n"...)
	}
	m.head = append(b, "\r\n"...)
}

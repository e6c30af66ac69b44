package simulate

import (
	"errors"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/request"
)

// sim is one request while it is decided on, with the memory that it needs. It is used again and again.
type sim struct {
	trial  pipeline.Trial
	r      request.Request
	conn   request.Conn
	report request.Report
	head   h1.Request
	raw    []byte // the head that the client would have sent
	echo   []byte // id and at_ms as they came
	idLen  int
	stay   int64
	turn   uint64 // in the queue of answers
}

// fill makes the request that the edge would make of an event. A head that the gateway would refuse becomes the fault that
// it has there.
func (m *sim) fill(e *event, rules *h1.Rules, serial uint64) {
	m.echo = append(append(m.echo[:0], e.id...), e.atText...)
	m.idLen, m.stay = len(e.id), e.stay
	m.compose(e)
	r, h := &m.r, &m.head
	r.Conn, r.Stream = &m.conn, stream{}
	r.Reset()
	m.report.Reset()
	r.Report = &m.report
	m.conn = request.Conn{Serial: serial, Requests: 1, PeerAddr: e.addr, Start: limitgate.Time(e.at)}
	r.Start, r.Now, r.ClientAddr = limitgate.Time(e.at), limitgate.Time(e.at), e.addr
	h.Reset()
	b := m.raw
	switch done, err := h.Parse(b, rules); {
	case err != nil:
		r.Fault = request.Fault{Status: h1.Status(err), Log: err.Error()}
	case !done:
		r.Fault = request.Fault{Status: 400}
	}
	edge.Translate(r, h, b)
}

// compose writes the head. A request without a host is one of HTTP/1.0, which needs none.
func (m *sim) compose(e *event) {
	host, version := e.host, " HTTP/1.1\r\n"
	if host == nil {
		host = e.named
	}
	if host == nil {
		version = " HTTP/1.0\r\n"
	}
	if cap(m.raw) > largeHead {
		m.raw = nil
	}
	b := append(append(m.raw[:0], e.method...), ' ')
	b = append(append(b, e.uri...), version...)
	if host != nil {
		b = append(append(append(b, "Host: "...), host...), "\r\n"...)
	}
	m.raw = append(append(b, e.fields...), "\r\n"...)
}

// stream is the client of a simulated request, who is not there. It implements request.Stream.
type stream struct{}

var errNobody = errors.New("nobody wants the answer")

func (stream) ReadBody() ([]byte, error)       { return nil, errNobody }
func (stream) AbortBody()                      {}
func (stream) BodyDone() bool                  { return true }
func (stream) BodyHere() bool                  { return false }
func (stream) RequestLength() int64            { return 0 }
func (stream) SendHead(*request.Request) error { return errNobody }
func (stream) SendBody([]byte) error           { return errNobody }
func (stream) Flush() error                    { return errNobody }
func (stream) Finish() error                   { return errNobody }
func (stream) BytesSent() int64                { return 0 }
func (stream) BodyBytesSent() int64            { return 0 }
func (stream) Await(request.Canceler) bool     { return true }
func (stream) Sleep(time.Duration) bool        { return true }
func (stream) Tunnel(request.Tunneled) error   { return errNobody }

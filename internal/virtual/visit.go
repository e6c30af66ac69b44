package virtual

import (
	"errors"
	"net/netip"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/edge"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/phase/limit"
	"github.com/limitgate/limitgate/internal/pipeline"
	"github.com/limitgate/limitgate/internal/request"
)

// Visit is one request while it is decided on, with the memory that it needs. It is used again and again: Reset begins
// another request, which whoever owns the visit then fills, by Read or by hand. The zero value is ready for Reset.
type Visit struct {
	Request request.Request
	Conn    request.Conn
	Report  request.Report
	Stay    int64 // how long the request is worked on once its limits let it go on, in nanoseconds
	Whole   bool  // Stay begins when the request comes: what it waits is part of it
	Lane    int   // of the gate, in which it was decided on; set by it

	trial   pipeline.Trial
	sole    limit.Sole // that decides on the request; without a Limiter: the trial does
	key     []byte     // of sole
	decided bool       // by the trial
	head    h1.Request
}

// Reset makes v ready for a request that comes from addr at an instant, in nanoseconds. serial orders requests of one instant.
func (v *Visit) Reset(serial uint64, at int64, addr netip.AddrPort) {
	r := &v.Request
	r.Conn, r.Stream = &v.Conn, nobody{}
	r.Reset()
	v.Report.Reset()
	r.Report = &v.Report
	v.Conn = request.Conn{Serial: serial, Requests: 1, PeerAddr: addr, Start: limitgate.Time(at)}
	r.Start, r.Now, r.ClientAddr = limitgate.Time(at), limitgate.Time(at), addr
	v.Stay, v.Whole, v.decided = 0, false, false
}

// Again readies a request that was decided on in one lane for another one, at another instant. It reports false where that needs
// a new beginning: what came behind the limits changed the request.
func (v *Visit) Again(at int64) bool {
	if !v.decided {
		v.Report.Retract()
	} else if !v.trial.Again() {
		return false
	}
	v.decided = false
	v.At(at)
	return true
}

// At makes at the instant of a request that was approached and not decided on yet.
func (v *Visit) At(at int64) {
	v.Request.Start, v.Request.Now, v.Conn.Start = limitgate.Time(at), limitgate.Time(at), limitgate.Time(at)
}

// Read makes the request that the HTTP/1.1 edge would make of a head, which must last as long as the request. A head that the
// gateway would refuse becomes the fault that it has there.
func (v *Visit) Read(head []byte, rules *h1.Rules) {
	r, h := &v.Request, &v.head
	h.Reset()
	switch done, err := h.Parse(head, rules); {
	case err != nil:
		r.Fault = request.Fault{Status: h1.Status(err), Log: err.Error()}
	case !done:
		r.Fault = request.Fault{Status: 400}
	}
	edge.Translate(r, h, head)
}

// Served tells whether the request came as far as the content.
func (v *Visit) Served() bool { return v.trial.Served }

// nobody is the client of a visit, who is not there. It implements request.Stream.
type nobody struct{}

var _ request.Stream = nobody{}

var errNobody = errors.New("nobody wants the answer")

func (nobody) ReadBody() ([]byte, error)       { return nil, errNobody }
func (nobody) AbortBody()                      {}
func (nobody) BodyDone() bool                  { return true }
func (nobody) BodyHere() bool                  { return false }
func (nobody) RequestLength() int64            { return 0 }
func (nobody) SendHead(*request.Request) error { return errNobody }
func (nobody) SendBody([]byte) error           { return errNobody }
func (nobody) Flush() error                    { return errNobody }
func (nobody) Finish() error                   { return errNobody }
func (nobody) BytesSent() int64                { return 0 }
func (nobody) BodyBytesSent() int64            { return 0 }
func (nobody) Await(request.Canceler) bool     { return true }
func (nobody) Sleep(time.Duration) bool        { return true }
func (nobody) Tunnel(request.Tunneled) error   { return errNobody }

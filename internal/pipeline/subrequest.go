package pipeline

import (
	"errors"
	"io"
	"time"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/access"
	"github.com/limitgate/limitgate/internal/phase/mirror"
	"github.com/limitgate/limitgate/internal/request"
)

var (
	_ access.Asker  = (*Program)(nil)
	_ mirror.Sender = (*Program)(nil)
)

// dropped is the half of a Stream that subrequests have in common: no body comes in, and the answer goes nowhere. Only its
// head counts, which stays in the Response.
type dropped struct{}

func (dropped) ReadBody() ([]byte, error)     { return nil, io.EOF }
func (dropped) AbortBody()                    {}
func (dropped) BodyDone() bool                { return true }
func (dropped) BodyHere() bool                { return false }
func (dropped) RequestLength() int64          { return 0 }
func (dropped) SendBody([]byte) error         { return nil }
func (dropped) Flush() error                  { return nil }
func (dropped) Finish() error                 { return nil }
func (dropped) BytesSent() int64              { return 0 }
func (dropped) BodyBytesSent() int64          { return 0 }
func (dropped) Tunnel(request.Tunneled) error { return errTunnel }
func (dropped) SendHead(r *request.Request) error {
	r.Response.Sent = true
	return nil
}

// errTunnel is for a tunnel that a subrequest could not have asked for.
var errTunnel = errors.New("a subrequest has no connection to tunnel")

// inner is a subrequest that its request waits for, with its Stream: it waits as that one would.
type inner struct {
	dropped
	r  request.Request
	of request.Stream
}

var _ request.Stream = (*inner)(nil)

// Await implements request.Stream.
func (s *inner) Await(c request.Canceler) bool { return s.of.Await(c) }

// Sleep implements request.Stream.
func (s *inner) Sleep(d time.Duration) bool { return s.of.Sleep(d) }

// Ask implements access.Asker: the subrequest is served here and now.
func (p *Program) Ask(r *request.Request, path []byte) *request.Request {
	s, _ := p.inners.Get().(*inner)
	if s == nil {
		s = new(inner)
		s.r.Stream = s
	}
	s.r.Reset()
	s.of = r.Stream
	r.Branch(&s.r, path)
	ended := false
	defer func() {
		if !ended { // a panic: what the subrequest holds is given back with the request
			r.Join(&s.r)
		}
	}()
	p.serveSub(&s.r)
	ended = true
	return &s.r
}

// Part implements access.Asker.
func (p *Program) Part(r, sub *request.Request) {
	r.Join(sub)
	s := sub.Stream.(*inner)
	s.of = nil
	p.inners.Put(s)
}

// serveSub carries a subrequest through the phases from its server's on, and logs it where that is wanted.
func (p *Program) serveSub(sub *request.Request) {
	sub.Start = p.now()
	sub.Now = sub.Start
	j := journey{p: p, r: sub}
	j.enter(p.servers[sub.Server].scope)
	j.run(atServer)
	if s := &p.scopes[sub.Location]; s.logsSubs && s.handlers[phase.Record] != nil && !sub.Response.Silent {
		s.handlers[phase.Record].Serve(sub)
	}
}

package trace

import (
	"strconv"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

var _ phase.Handler = (*Place)(nil)

// Serve decides, once a request, whether it is recorded, and tells upstreams. Subrequests are part of the request that they are made for.
func (p *Place) Serve(r *request.Request) phase.Next {
	if !r.IsSub() && (r.Span != nil || !r.Internal) {
		p.decide(r)
	}
	if p.inject && r.Span != nil {
		r.InjectTrace()
	}
	return phase.Continue
}

func (p *Place) decide(r *request.Request) {
	if r.Span != nil && r.Span.Decided {
		return
	}
	on := p.on != nil && p.wanted(r) // which may ask for the trace's name
	if on || p.extract || p.inject {
		r.Tracing().Decide(on, p.sink, p.now)
	}
}

// wanted tells whether otel_trace says on.
func (p *Place) wanted(r *request.Request) bool {
	v := p.on.Append(r, r.Scratch())
	on := string(v) == "on" || string(v) == "1"
	r.Claim(v[:0])
	return on
}

// End says what a request was, and gives its span away. The names of what is said are those of OpenTelemetry's conventions for HTTP as
// nginx's module has them.
func (p *Place) End(r *request.Request) {
	s := r.Span
	s.Bytes("http.method", r.Method)
	s.Bytes("http.target", r.Target)
	if len(p.route) > 0 {
		s.Bytes("http.route", p.route)
	}
	scheme, usual := "http", uint16(80)
	if r.Secure() {
		scheme, usual = "https", 443
	}
	s.Text("http.scheme", scheme)
	if r.Major > 0 {
		v := strconv.AppendInt(append(strconv.AppendInt(r.Scratch(), int64(r.Major), 10), '.'), int64(r.Minor), 10)
		s.Bytes("http.flavor", v)
		r.Claim(v[:0])
	}
	if agent, sent := r.Get(header.UserAgent); sent {
		s.Bytes("http.user_agent", agent)
	}
	s.Int("http.request_content_length", max(0, r.BodyLength))
	if r.Settings.ServerName != "" {
		s.Text("net.host.name", r.Settings.ServerName)
	} else {
		s.Bytes("net.host.name", r.Host)
	}
	addr := request.AppendAddr(r.Scratch(), r.ClientAddr.Addr())
	s.Bytes("net.sock.peer.addr", addr)
	r.Claim(addr[:0])
	s.Int("net.sock.peer.port", int64(r.ClientAddr.Port()))
	if a := r.Conn.LocalAddr; a.IsValid() && a.Port() != usual {
		s.Int("net.host.port", int64(a.Port()))
	}
	s.Int("http.response_content_length", r.Stream.BodyBytesSent())
	status := r.Response.Status
	if r.ErrStatus != 0 {
		status = r.ErrStatus
	}
	if status != 0 {
		s.Int("http.status_code", int64(status))
	}
	for i := range p.attrs {
		a := &p.attrs[i]
		v := a.value.Append(r, r.Scratch())
		if a.list {
			s.List(a.name, v)
		} else {
			s.Bytes(a.name, v)
		}
		r.Claim(v[:0])
	}
	s.End(p.nameOf(r), r.Start, p.now(), status >= 500)
}

// nameOf is the span's name.
func (p *Place) nameOf(r *request.Request) []byte {
	switch {
	case p.name != nil:
		return r.Claim(p.name.Append(r, r.Scratch()))
	case len(p.route) == 0:
		return r.Method
	}
	return p.route
}

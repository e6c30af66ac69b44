package pipeline

import (
	"slices"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// journey is a request on its way through the phases.
type journey struct {
	p     *Program
	r     *request.Request
	paged bool // error_page was asked: once a request, unless recursive_error_pages is on
	given bool // the body was given up: an error page stands in place of what it was sent to
}

// The places in phase.Order where a request may go on.
const (
	atStart    = int(phase.RealIP)
	atServer   = int(phase.ServerRewrite)
	atMatch    = int(phase.Match)
	atLocation = int(phase.Trace)
	atEnd      = int(phase.Record)
)

// Serve implements edge.Program.
func (p *Program) Serve(r *request.Request) {
	a := p.address(r.Conn)
	if a == nil { // an engine that asked Head does not come here
		r.Settings = &request.Settings{}
		r.Leave(444)
		return
	}
	defer r.CloseBody()
	defer p.endTrace(r)
	defer p.record(r)
	defer p.settle(r)
	j := journey{p: p, r: r}
	j.run(j.begin(a))
	if !r.Response.Silent {
		r.Complete = r.Finish() == nil
	}
}

// run takes the request from a place in the order to its answer.
func (j *journey) run(at int) {
	for at < atEnd {
		next := j.walk(at, atEnd)
		if next == phase.Continue {
			// No phase had an answer.
			j.r.Fail(404)
			next = phase.Fail
		}
		at = j.turn(next)
	}
}

// begin finds the server among those of an address. It returns where to start: behind all phases for a request that could not be read.
func (j *journey) begin(a *address) int {
	r := j.r
	r.Slots = slices.Grow(r.Slots[:0], j.p.slots)[:j.p.slots]
	clear(r.Slots)
	r.Server = a.fallback
	encrypted := r.Conn.TLS != nil && a.head.TLS != nil
	elsewhere := false
	switch {
	case r.Fault.Status == 0:
		r.Server = a.names.Find(r)
		elsewhere = encrypted && j.misdirected(a)
	case r.Conn.TLS != nil:
		r.Server = j.p.chosen(a, r.Conn).Server
	}
	j.enter(j.p.servers[r.Server].scope)
	for _, m := range r.Dropped {
		r.Logf(errorlog.Info, "%s", m)
	}
	if r.Fault.Status == 0 {
		if r.Logs(errorlog.Debug) {
			r.Settings.ErrorLog.Write(errorlog.Debug, r.Conn.Serial, `http request line: "`+string(r.Line)+`"`)
		}
		if a.head.TLS != nil && r.Conn.TLS == nil {
			r.Logf(errorlog.Info, "client sent plain HTTP request to HTTPS port while reading client request headers")
			r.Fail(statusToHTTPS)
			return j.fail()
		}
		if elsewhere {
			r.Logf(errorlog.Info, "client attempted to request the server name different from the one that was negotiated%s", readingHead)
			r.Fail(statusMisdirected)
			return j.fail()
		}
		if encrypted && !j.identified(a) || !j.question(a) {
			return j.fail()
		}
		return atStart
	}
	if r.Fault.Log != "" {
		r.Logf(errorlog.Info, "%s", r.Fault.Log)
	}
	r.Fail(r.Fault.Status)
	return j.fail()
}

// question makes of a request to a server whose requests are questions the one that is asked about, and goes to the server
// that this one names, if it answers questions of the same peer. It reports false where that can't be done.
func (j *journey) question(a *address) bool {
	r := j.r
	d := j.p.scopes[r.Location].decision
	if d == nil {
		return true
	}
	if !d.Ask(r) {
		return false
	}
	if s, named := a.names.Named(r); named && s != r.Server {
		if other := j.p.scopes[j.p.servers[s].scope].decision; other != nil && other.Trusts(r) {
			r.Server = s
			j.enter(j.p.servers[s].scope)
		}
	}
	return true
}

// enter makes a scope the request's.
func (j *journey) enter(location int) { j.p.Enter(j.r, location) }

// Enter makes a scope the request's, or the one that its limit_except has for the request's method
// (ngx_http_update_location_config).
func (p *Program) Enter(r *request.Request, location int) {
	s := &p.scopes[location]
	if s.except != nil && !slices.Contains(s.except.methods, string(r.Method)) {
		location = s.except.scope
		s = &p.scopes[location]
	}
	r.Location, r.Settings, r.Shaper = location, s.settings, s.shaper
}

// walk takes the request through the phases from a place in the order on, until one of them does not let it go on, or the
// place where the walk is to end.
func (j *journey) walk(at, end int) phase.Next {
	for ; at < end; at++ {
		id := phase.Order[at]
		h := j.p.scopes[j.r.Location].handlers[id]
		if h == nil {
			continue
		}
		next := h.Serve(j.r)
		if id == phase.Match {
			next = j.matched(next)
		}
		if next != phase.Continue {
			return next
		}
	}
	return phase.Continue
}

// matched enters the location that was found, and refuses a body that is too large for it.
func (j *journey) matched(next phase.Next) phase.Next {
	r := j.r
	at := r.Location
	found := &j.p.scopes[at]
	j.enter(at)
	if d := found.decision; d != nil && r.Asked == nil {
		if !d.Ask(r) {
			return phase.Fail
		}
		j.enter(at) // limit_except goes by the method that is asked about
	}
	if found.internal && !r.Internal {
		r.Fail(404)
		return phase.Fail
	}
	if r.Logs(errorlog.Debug) {
		r.Settings.ErrorLog.Write(errorlog.Debug, r.Conn.Serial, `using configuration "`+found.name+`"`)
	}
	size := r.BodyLength
	if r.IsSub() {
		size = r.Body.Length // what it has of the body is here
	}
	if limit := r.Settings.MaxBody; limit == 0 || size <= limit || j.given || found.decision != nil {
		return next
	}
	r.Logf(errorlog.Error, "client intended to send too large body: %d bytes", size)
	r.Fail(413)
	return phase.Fail
}

// turn says where a request goes on that a phase did not let go on to the next.
func (j *journey) turn(next phase.Next) int {
	switch next {
	case phase.Redirect:
		return j.rewritten()
	case phase.Detour:
		return j.detour()
	case phase.Fail:
		return j.fail()
	}
	return atEnd
}

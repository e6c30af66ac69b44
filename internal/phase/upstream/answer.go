package upstream

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// answer passes the answer on, head and body.
func (x *exchange) answer() phase.Next {
	r := x.r
	if x.h.rules.intercepts(x.resp.Status) {
		return x.intercepted()
	}
	if next, is := x.accelerated(); is {
		return next
	}
	x.translate()
	if x.resp.Status == 101 {
		return x.tunnel()
	}
	err := r.SendHead()
	if err == request.ErrRefused {
		x.abandon()
		return phase.Fail
	}
	if err != nil || !x.relay() {
		return x.broken()
	}
	if x.spool.on {
		x.partSpooled()
		return phase.Done
	}
	x.endAttempt()
	x.part()
	return phase.Done
}

// judge looks at the head of an answer, whether it is one for this client.
func (x *exchange) judge() *fault {
	r := x.r
	for i := range x.resp.Dropped {
		if r.Logs(errorlog.Warn) {
			x.logf(errorlog.Warn, "%s", x.resp.DropMessage(x.in[x.start:x.end], i))
		}
	}
	if x.resp.Status == 101 && r.IsSub() {
		return badAnswer("connection upgrade in subrequest" + reading)
	}
	if _, asked := r.Get(header.Upgrade); x.resp.Status == 101 && !asked {
		return badAnswer("upstream sent 101 response to a request without \"Upgrade\" header" + reading)
	}
	return x.refused()
}

// intercepted leaves the answer to error_page (ngx_http_upstream_intercept_errors).
func (x *exchange) intercepted() phase.Next {
	r := x.r
	x.takeHead()
	x.abandon()
	if x.resp.Status == 401 {
		for i := range r.Upstream {
			if r.Upstream[i].ID == header.WWWAuthenticate {
				r.Response.Headers = append(r.Response.Headers, r.Upstream[i])
			}
		}
	}
	r.Fail(x.resp.Status)
	return phase.Fail
}

// broken ends an exchange whose answer can't be completed: the client must not take what it has for the whole.
func (x *exchange) broken() phase.Next {
	if x.spool.on {
		x.spool.stop()
	} else {
		x.endAttempt()
	}
	out := &x.r.Response
	if out.Sent {
		_ = x.r.Stream.Flush() // as much as there is; the connection is closed anyway
	}
	out.Silent, out.Close = true, true
	return phase.Done
}

// leaveBody makes sure that a connection is not used again where a body that nobody reads may still come on it.
func (x *exchange) leaveBody() {
	if body := x.resp.Body(x.headOnly); !body.Done() {
		x.resp.KeepAlive = false
	}
}

// abandon ends an exchange whose answer the client does not get, or not its body.
func (x *exchange) abandon() {
	x.setURL()
	x.leaveBody()
	x.endAttempt()
	x.part()
}

// part ends a whole answer, or one whose body is for nobody.
func (x *exchange) part() {
	x.endPump()
	x.unwait()
	x.giveBack(false)
	x.save()
}

// partSpooled is part for an answer that was spooled: the peer is free already, unless it still gets the request's body.
func (x *exchange) partSpooled() {
	x.spool.stop()
	if x.c != nil {
		x.part()
		return
	}
	x.unwait()
}

// endPump ends the pump, if there is one. Where the peer answered before it had the body the client may still be sending it.
func (x *exchange) endPump() {
	x.pump.finish()
	x.partly = (x.more || x.stored) && !x.pump.whole // of a call the connection knows better
	if x.partly && x.more && x.r.Major < 2 {         // a stream of HTTP/2 ends by itself
		x.r.Response.Close, x.r.Response.Linger = true, true
	}
}

// save keeps the connection where both sides want that and nothing of the answer is left on it, and closes it otherwise.
func (x *exchange) save() {
	if x.c.link != nil {
		x.saveCall()
		return
	}
	k := x.choice.g.idle
	if k == nil || !x.resp.KeepAlive || x.start != x.end || x.partly || x.gone.Load() {
		x.drop()
		return
	}
	c := x.c
	c.doubtful = x.pieces || x.headOnly || x.resp.Status == 204 || x.resp.Status == 304
	x.hold(nil)
	x.c = nil
	k.put(c, x.begun+limitgate.Time(x.attempt().Response))
}

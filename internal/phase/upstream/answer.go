package upstream

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
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

// relay passes the body on as it comes, and reports whether the client got the whole of it.
func (x *exchange) relay() bool {
	r, a := x.r, x.attempt()
	body := x.resp.Body(x.headOnly)
	if string(r.Method) == "HEAD" && !body.Done() {
		x.resp.KeepAlive = false // proxy_method made it another method: the body is for nobody
		return true
	}
	a.Length = int64(x.end - x.start)
	for !body.Done() {
		if x.start == x.end {
			switch x.refill(&body) {
			case ended:
				return true
			case lost:
				return false
			}
		}
		skip, data, err := body.Next(x.in[x.start:x.end])
		if err != nil {
			x.logf(errorlog.Error, "upstream sent invalid chunked response%s", relaying)
			return false
		}
		if data > 0 {
			from := x.start + skip
			if r.SendBody(x.in[from:from+data]) != nil {
				x.logUnsent()
				return false
			}
		}
		x.start += skip + data
	}
	if x.start < x.end && x.resp.ContentLength >= 0 && !x.resp.Chunked {
		x.logf(errorlog.Warn, "upstream sent more data than specified in \"Content-Length\" header%s", relaying)
	}
	return true
}

// flow is what came of reading on in a body.
type flow uint8

const (
	flowing flow = iota // there is more to pass on
	ended               // the connection ended, and with it the body, as its framing has it
	lost                // the rest will not come, or can't be sent; the log says why
)

// refill sends what the client can have and reads on.
func (x *exchange) refill(body *h1.Body) flow {
	if x.r.Stream.Flush() != nil {
		x.logUnsent()
		return lost
	}
	if x.r.Shaper != nil {
		x.watch() // the shaper may have waited
	}
	if x.long == nil && (body.Remaining() < 0 || body.Remaining() > int64(len(x.in))) {
		x.long = x.set.bodies.Get().(*[]byte)
		x.in = *x.long
	}
	x.start, x.end = 0, 0
	n, err := x.c.read(&x.wait, x.in, x.h.readTimeout)
	if err == nil {
		x.end = n
		a := x.attempt()
		a.Received += int64(n)
		a.Length += int64(n)
		return flowing
	}
	f := x.ioFault(err, "readv()")
	switch {
	case f.kind == faultClosed && body.EndsWithConnection():
		x.resp.KeepAlive = false
		return ended
	case f.kind == faultLeft:
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	case f.kind == faultBody:
		// The client's body broke while the answer was on its way: nothing of it is left to save.
	default:
		x.logf(f.level, "%s%s", f.log, relaying)
	}
	return lost
}

// logUnsent says why an answer could not be sent; the edge has done it, unless the client left while its bytes were held
// back.
func (x *exchange) logUnsent() {
	if x.watch(); x.gone.Load() {
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	}
}

// broken ends an exchange whose answer can't be completed: the client must not take what it has for the whole.
func (x *exchange) broken() phase.Next {
	x.endAttempt()
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
	x.pump.finish()
	x.partly = (x.more || x.stored) && !x.pump.whole
	if x.partly && x.more {
		// The peer answered before it had the body; the client may still be sending it.
		x.r.Response.Close, x.r.Response.Linger = true, true
	}
	x.unwait()
	x.giveBack(false)
	x.save()
}

// save keeps the connection where both sides want that and nothing of the answer is left on it, and closes it otherwise.
func (x *exchange) save() {
	k := x.choice.g.idle
	if k == nil || !x.resp.KeepAlive || x.start != x.end || x.partly || x.gone.Load() {
		x.drop()
		return
	}
	c := x.c
	x.hold(nil)
	x.c = nil
	k.put(c, x.begun+limitgate.Time(x.attempt().Response))
}

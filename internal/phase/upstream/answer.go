package upstream

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// hidden are the fields of an answer that the client does not get as they came: the edge writes its own, or they are for
// the proxy alone (ngx_http_proxy_hide_headers and the table ngx_http_upstream_headers_in).
var hidden = [header.Count]bool{
	header.Connection: true, header.KeepAlive: true, header.ContentLength: true, header.TransferEncoding: true,
	header.Trailer: true, header.Date: true, header.Server: true, header.XAccelBuffering: true, header.XAccelCharset: true,
	header.XAccelExpires: true, header.XAccelLimitRate: true, header.XAccelRedirect: true, header.XPad: true,
}

// answer passes the answer on, head and body.
func (x *exchange) answer() phase.Next {
	r := x.r
	for i := range x.resp.Dropped {
		if r.Logs(errorlog.Warn) {
			x.logf(errorlog.Warn, "%s", x.resp.DropMessage(x.in[x.start:x.end], i))
		}
	}
	if _, asked := r.Get(header.Upgrade); x.resp.Status == 101 && !asked {
		next, _ := x.failed(badAnswer("upstream sent 101 response to a request without \"Upgrade\" header" + reading))
		return next
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
		x.leave()
		return phase.Fail
	}
	if err != nil || !x.relay() {
		return x.broken()
	}
	x.endAttempt()
	x.part()
	return phase.Done
}

// translate makes r.Response and r.Upstream from the head of the answer, which moves to request memory.
func (x *exchange) translate() {
	r, resp := x.r, &x.resp
	b := r.Keep(x.in[x.start : x.start+resp.Size()])
	x.start += resp.Size()
	out := &r.Response
	out.Status, out.Length = resp.Status, resp.ContentLength
	text := resp.StatusText(b)
	out.Reason = text[min(4, len(text)):]
	out.ContentType, out.Location, out.Proxied = nil, nil, true
	r.Upstream = r.Upstream[:0]
	for i := range resp.Lines {
		l := &resp.Lines[i]
		h := request.Header{Name: l.Name.Of(b), Value: l.Value.Of(b), ID: l.ID}
		r.Upstream = append(r.Upstream, h)
		switch l.ID {
		case header.ContentType:
			out.ContentType = h.Value
			continue
		case header.Location, header.Refresh:
			x.rewrite(&h, l.ID == header.Refresh)
			if l.ID == header.Location && out.Location != nil {
				continue
			}
		case header.XAccelLimitRate:
			if n, ok := h1.ParseLength(h.Value); ok {
				r.LimitRate = request.RateSetting{Set: true, BytesPerSec: n}
			}
		}
		if !hidden[l.ID] {
			out.Headers = append(out.Headers, h)
		}
	}
}

// relay passes the body on as it comes, and reports whether the client got the whole of it.
func (x *exchange) relay() bool {
	r, a := x.r, x.attempt()
	body := x.resp.Body(string(r.Method) == "HEAD")
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

// part ends a whole answer: the connection is kept where both sides want that.
func (x *exchange) part() {
	x.pump.finish()
	partly := (x.more || x.stored) && !x.pump.whole
	if partly && x.more {
		// The peer answered before it had the body; the client may still be sending it.
		x.r.Response.Close, x.r.Response.Linger = true, true
	}
	x.unwait()
	k := x.choice.g.idle
	x.giveBack(false)
	if k == nil || !x.resp.KeepAlive || x.start != x.end || partly || x.gone.Load() {
		x.drop()
		return
	}
	c := x.c
	x.hold(nil)
	x.c = nil
	k.put(c, x.begun+limitgate.Time(x.attempt().Response))
}

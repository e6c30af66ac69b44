package upstream

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// headerIDs translates the codec's names of fields to the request's.
var headerIDs = func() (t [256]header.ID) {
	for i := range t {
		if n := h1.HeaderID(i).String(); n != "" {
			t[i] = header.Lookup([]byte(n))
		}
	}
	return t
}()

// hidden are the fields of an answer that the client does not get as they came: the edge writes its own, or they are for
// the proxy alone (ngx_http_proxy_hide_headers and the table ngx_http_upstream_headers_in).
var hidden = func() (t [256]bool) {
	for _, id := range [...]h1.HeaderID{h1.HeaderConnection, h1.HeaderKeepAlive, h1.HeaderContentLength, h1.HeaderTransferEncoding,
		h1.HeaderTrailer, h1.HeaderDate, h1.HeaderServer, h1.HeaderXAccelBuffering, h1.HeaderXAccelCharset,
		h1.HeaderXAccelExpires, h1.HeaderXAccelLimitRate, h1.HeaderXAccelRedirect} {
		t[id] = true
	}
	return t
}()

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
	if err := r.SendHead(); err != nil {
		return x.broken()
	}
	if next, ok := x.relay(); !ok {
		return next
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
	out.ContentType, out.Location = nil, nil
	r.Upstream = r.Upstream[:0]
	for i := range resp.Lines {
		l := &resp.Lines[i]
		h := request.Header{Name: l.Name.Of(b), Value: l.Value.Of(b), ID: headerIDs[l.ID]}
		r.Upstream = append(r.Upstream, h)
		switch l.ID {
		case h1.HeaderContentType:
			out.ContentType = h.Value
			continue
		case h1.HeaderLocation, h1.HeaderRefresh:
			x.rewrite(&h, l.ID == h1.HeaderRefresh)
			if l.ID == h1.HeaderLocation && out.Location != nil {
				continue
			}
		case h1.HeaderXAccelLimitRate:
			if n, ok := h1.ParseLength(h.Value); ok {
				r.LimitRate = request.RateSetting{Set: true, BytesPerSec: n}
			}
		case h1.HeaderOther:
			if header.EqualFold(h.Name, "x-pad") {
				continue
			}
		}
		if !hidden[l.ID] {
			out.Headers = append(out.Headers, h)
		}
	}
}

// relay passes the body on as it comes. It reports false when it is not whole, with what follows.
func (x *exchange) relay() (phase.Next, bool) {
	r, a := x.r, x.attempt()
	body := x.resp.Body(string(r.Method) == "HEAD")
	a.Length = int64(x.end - x.start)
	for !body.Done() {
		if x.start == x.end {
			if next, ok := x.refill(&body); !ok {
				return next, next == 0 // 0: a body that ends with the connection did
			}
		}
		skip, data, err := body.Next(x.in[x.start:x.end])
		if err != nil {
			x.logf(errorlog.Error, "upstream sent invalid chunked response%s", relaying)
			return x.broken(), false
		}
		if data > 0 {
			from := x.start + skip
			if r.SendBody(x.in[from:from+data]) != nil {
				return x.unsent(), false
			}
		}
		x.start += skip + data
	}
	if x.start < x.end && x.resp.ContentLength >= 0 && !x.resp.Chunked {
		x.logf(errorlog.Warn, "upstream sent more data than specified in \"Content-Length\" header%s", relaying)
	}
	return 0, true
}

// refill sends what the client can have and reads on. It reports false at the end: with 0 where that is the body's end too.
func (x *exchange) refill(body *h1.Body) (phase.Next, bool) {
	if x.r.Stream.Flush() != nil {
		return x.unsent(), false
	}
	if x.r.Shaper != nil {
		x.watch() // the shaper may have waited
	}
	if x.long == nil && body.Remaining() != 0 && (body.Remaining() < 0 || body.Remaining() > int64(len(x.in))) {
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
		return 0, true
	}
	f := x.ioFault(err, "readv()")
	if f.kind == faultError && f.log == closedEarly && body.EndsWithConnection() {
		x.resp.KeepAlive = false
		return 0, false
	}
	switch f.kind {
	case faultLeft:
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	case faultBody:
		// The client's body broke while the answer was on its way: nothing of it is left to save.
	default:
		x.logf(f.level, "%s%s", f.log, relaying)
	}
	return x.broken(), false
}

// unsent ends an exchange whose answer could not be sent; the edge has said why, unless the client left while its bytes were
// held back.
func (x *exchange) unsent() phase.Next {
	if x.watch(); x.gone.Load() {
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	}
	return x.broken()
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
	if x.more && !x.pump.whole {
		// The peer answered before it had the body; the client may still be sending it.
		x.r.Response.Close, x.r.Response.Linger = true, true
	}
	x.unwait()
	k := x.choice.g.idle
	x.giveBack(false)
	if k == nil || !x.resp.KeepAlive || x.start != x.end || x.more && !x.pump.whole || x.gone.Load() {
		x.drop()
		return
	}
	c := x.c
	x.hold(nil)
	x.c = nil
	k.put(c, x.begun+limitgate.Time(x.attempt().Response))
}

package upstream

import (
	"errors"
	"io"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/h2link"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// call is what an exchange of grpc_pass keeps besides the rest. A call has a stream of a connection for itself, and a connection
// one call at a time, as in nginx.
type call struct {
	block    []byte // of the head's fields, in out
	started  int    // bytes of the body that went out with it
	sent     int64  // of the connection, before this call
	received int64
	counted  bool // the attempt's bytes are
	alone    bool // the head of the answer is all of it
}

// tryCall is try for a call.
func (x *exchange) tryCall() *fault {
	for {
		if f := x.connect(); f != nil {
			return f
		}
		err := x.startCall()
		if err == nil {
			return x.callHead()
		}
		var f *h2link.Fault
		if !x.kept || !errors.As(err, &f) || !f.Unprocessed {
			return x.callFault(err, sending)
		}
		x.drop() // it ended between the look at it and its use
		x.fresh = true
	}
}

// startCall sends the head, and what of the body the peer takes at once; the pump sends the rest.
func (x *exchange) startCall() error {
	l := x.c.link
	x.call.sent, x.call.received, x.call.counted = l.Sent(), l.Received(), false
	b := h2link.Begin{Block: x.call.block, Room: x.h.headRoom, Limit: x.h.sendTimeout}
	if !x.stored {
		b.Body, b.Whole = x.r.Body.Bytes, !x.more
	}
	n, err := l.Start(b)
	if err != nil {
		return err
	}
	x.sent, x.call.started = true, n
	if x.more || x.stored || n < len(b.Body) {
		x.pump.start()
	}
	return nil
}

// callHead reads the head of the answer.
func (x *exchange) callHead() *fault {
	l, a := x.c.link, x.attempt()
	h, err := l.Head(x.h.readTimeout, x.wait.left)
	for errors.Is(err, h2link.ErrTimeout) {
		more := x.pump.patience(x.h.readTimeout)
		if more <= 0 {
			break
		}
		h, err = l.Head(more, x.wait.left)
	}
	if err != nil {
		return x.callFault(err, reading)
	}
	if f := x.compose(h); f != nil {
		return f
	}
	a.Header = int64(x.set.now() - x.begun)
	a.Status = h.Status
	return nil
}

// compose makes the head of the answer one that is read like any other.
func (x *exchange) compose(h *h2link.Head) *fault {
	size := 0
	for i := range h.Fields {
		size += len(h.Fields[i].Name) + len(h.Fields[i].Value)
	}
	if size > len(x.small) {
		x.small = make([]byte, size)
	}
	x.in, x.start, x.end = x.small, 0, size
	x.resp.Compose(h.Status)
	b := x.in[:0]
	for i := range h.Fields {
		f, at := &h.Fields[i], len(b)
		b = append(append(b, f.Name...), f.Value...)
		mid := at + len(f.Name)
		if err := x.resp.AddComposed(x.in, h1.Span{Start: int32(at), End: int32(mid)}, h1.Span{Start: int32(mid), End: int32(len(b))}); err != nil {
			return badAnswer(err.Error())
		}
	}
	x.resp.EndComposed(size)
	x.call.alone = h.End
	if h.End && x.resp.ContentLength < 0 {
		x.resp.ContentLength = 0
	}
	x.resp.Chunked = false // such a body has frames
	return nil
}

// callFault says why a call failed.
func (x *exchange) callFault(err error, doing string) *fault {
	f := &fault{level: errorlog.Error, doing: doing}
	var why *h2link.Fault
	switch {
	case x.gone.Load():
		f.kind = faultLeft
		if x.c.link.Received() == x.call.received {
			f.doing = sending // nginx turns to reading only when something is there
		}
		return f
	case x.pump.broken.Load():
		return x.pump.fault()
	case errors.Is(err, h2link.ErrTimeout):
		f.kind, f.log = faultTimeout, timedOut
		return f
	case !errors.As(err, &why):
		f.log = err.Error()
		return f
	}
	if why.Detail != "" {
		x.logf(errorlog.Error, "%s%s", why.Detail, doing)
	}
	switch why.Kind {
	case h2link.Closed:
		f.kind, f.log = faultClosed, closedEarly
	case h2link.Failed:
		f.log = "recv() failed (" + errorlog.Errno(why.Err) + ")"
	case h2link.Unsent:
		f.log, f.doing = "writev() failed ("+errorlog.Errno(why.Err)+")", sending
	default:
		f.kind, f.log = faultAnswer, why.Log
	}
	if why.Unprocessed {
		f.kind, x.sent = faultError, x.more // the peer did nothing: another may, if the body can be sent again
	}
	return f
}

// relayCall is relay for a call: pieces go on as they come, and nothing is kept for a client that takes its time: the peer is not
// told that there is room for more.
func (x *exchange) relayCall() bool {
	r, a, l := x.r, x.attempt(), x.c.link
	if !r.BodyAllowed() {
		return true
	}
	left := x.resp.ContentLength
	for {
		if !l.More() && !x.flush() { // also the head: who talks both ways waits for it
			return false
		}
		p, err := l.Data(x.h.readTimeout, x.wait.left)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.logLost(x.callFault(err, ""))
			return false
		}
		a.Length += int64(len(p))
		if left >= 0 {
			if left -= int64(len(p)); left < 0 {
				x.logf(errorlog.Error, "upstream sent response body larger than indicated content length%s", relaying)
				return false
			}
		}
		if r.SendBody(p) != nil {
			x.logUnsent()
			return false
		}
	}
	if left > 0 {
		x.logf(errorlog.Error, "upstream prematurely closed stream%s", relaying)
		return false
	}
	x.passTrailers()
	return true
}

// passTrailers gives the client what came behind the body.
func (x *exchange) passTrailers() {
	r := x.r
	for _, f := range x.c.link.Trailers() {
		h := request.Header{Name: r.Keep([]byte(f.Name)), Value: r.Keep([]byte(f.Value))}
		h.ID = header.Lookup(h.Name)
		r.Behind = append(r.Behind, h)
		if !x.h.rules.hidden.has(&h) {
			r.Response.Trailers = append(r.Response.Trailers, h)
		}
	}
}

// countCall notes how many bytes the call took.
func (x *exchange) countCall() {
	if x.c == nil || x.c.link == nil || x.call.counted || len(x.r.Attempts) == 0 {
		return
	}
	x.call.counted = true
	a, l := x.attempt(), x.c.link
	a.Sent += l.Sent() - x.call.sent
	a.Received += l.Received() - x.call.received
}

// saveCall ends a call whose answer is whole, or wanted by nobody, and keeps its connection where it can be kept.
func (x *exchange) saveCall() {
	k, c := x.choice.g.idle, x.c
	if k == nil || x.gone.Load() || !c.link.End() {
		x.drop()
		return
	}
	x.hold(nil)
	x.c = nil
	k.put(c, x.begun+limitgate.Time(x.attempt().Response))
}

// copyCall is copy, and copyStored, for a call.
func (p *pump) copyCall() (whole, body bool) {
	x := p.x
	if b := &x.r.Body; !x.more && b.File == nil {
		p.all.Store(true)
		return p.writeCall(b.Bytes[x.call.started:], true), false
	} else if !x.more {
		return p.copyFile(p.writeCall)
	}
	if b := x.r.Body.Bytes[x.call.started:]; len(b) > 0 && !p.writeCall(b, false) {
		return false, false
	}
	s := x.r.Stream
	for {
		b, err := s.ReadBody()
		if err != nil && !errors.Is(err, io.EOF) {
			p.err = err
			return false, true
		}
		last := err != nil || s.BodyDone()
		p.all.Store(last)
		if (len(b) > 0 || last) && !p.writeCall(b, last) {
			return false, false
		}
		if last {
			return true, false
		}
	}
}

func (p *pump) writeCall(b []byte, last bool) bool {
	p.err = p.c.link.Write(b, last, p.x.h.sendTimeout, p.wait.left)
	p.late = errors.Is(p.err, h2link.ErrTimeout)
	return p.err == nil
}

package upstream

import (
	"bytes"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
)

// relay passes the body on as it comes, and reports whether the client got the whole of it. As long as the client takes it as
// fast as it comes, this goroutine reads and writes in turn; where it does not, and the answer is buffered, the spool takes over
// the reading.
func (x *exchange) relay() bool {
	if x.h.calls != nil {
		return x.relayCall()
	}
	r, a := x.r, x.attempt()
	x.frame = x.resp.Body(x.headOnly)
	if (r.IsSub() || string(r.Method) == "HEAD") && !x.frame.Done() {
		x.passOver() // the body is for nobody
		return true
	}
	a.Length = int64(x.end - x.start)
	x.pull = pull{}
	if x.buffered() {
		x.spool.attach()
		if x.pull = x.h.pullOf(x); x.pull.on() {
			x.pull.took(x.set.now(), x.end-x.start)
		}
	}
	for !x.frame.Done() {
		if x.start == x.end {
			switch x.refill() {
			case ended:
				return true
			case lost:
				return false
			}
			if x.spool.on {
				return x.relaySpooled()
			}
		}
		skip, data, err := x.frame.Next(x.in[x.start:x.end])
		if err != nil {
			x.logf(errorlog.Error, "%s%s", badChunks, relaying)
			return false
		}
		from := x.start + skip
		x.start += skip + data // before the piece is sent: meanwhile the spool may go on behind it
		if data > 0 {
			if r.SendBody(x.in[from:from+data]) != nil {
				x.logUnsent()
				return false
			}
			if x.spool.on {
				return x.relaySpooled()
			}
		}
	}
	if x.start < x.end && x.resp.ContentLength >= 0 && !x.resp.Chunked {
		x.logf(errorlog.Warn, "%s%s", tooMuch, relaying)
	}
	return true
}

// passOver drops what is here of a body. Where that is not all of it, the connection is of no use any more.
func (x *exchange) passOver() {
	for x.start < x.end && !x.frame.Done() {
		skip, data, err := x.frame.Next(x.in[x.start:x.end])
		if err != nil || skip+data == 0 {
			break
		}
		x.start += skip + data
	}
	x.resp.KeepAlive = x.resp.KeepAlive && x.frame.Done()
}

const (
	badChunks = "upstream sent invalid chunked response"
	tooMuch   = "upstream sent more data than specified in \"Content-Length\" header"
)

// buffered reports whether the answer may be kept for a client that takes its time: proxy_buffering, unless the upstream says
// otherwise.
func (x *exchange) buffered() bool {
	if x.h.rules.ignored&ignoreBuffering != 0 {
		return x.h.buffering
	}
	for i := range x.r.Upstream {
		if h := &x.r.Upstream[i]; h.ID == header.XAccelBuffering {
			switch {
			case bytes.EqualFold(h.Value, []byte("yes")):
				return true
			case bytes.EqualFold(h.Value, []byte("no")):
				return false
			}
		}
	}
	return x.h.buffering
}

// flow is what came of reading on in a body.
type flow uint8

const (
	flowing flow = iota // there is more to pass on
	ended               // the connection ended, and with it the body, as its framing has it
	lost                // the rest will not come, or can't be sent; the log says why
)

// refill sends what the client can have and reads on.
func (x *exchange) refill() flow {
	if !x.flush() {
		return lost
	}
	if x.spool.on {
		return flowing
	}
	switch {
	case !x.spool.attached:
		x.in = x.small[:x.h.headRoom]
	case x.long == nil && (x.frame.Remaining() < 0 || x.frame.Remaining() > int64(len(x.in))):
		x.long = x.set.bodies.Get().(*[]byte)
		x.in = *x.long
	}
	if x.pull.on() && !x.holdBack() {
		return lost
	}
	x.start, x.end, x.pieces = 0, 0, true
	n, err := x.c.read(&x.wait, x.pull.most(x.in), x.h.readTimeout)
	if err == nil {
		x.end = n
		if x.pull.on() {
			x.pull.took(x.set.now(), n)
		}
		a := x.attempt()
		a.Received += int64(n)
		a.Length += int64(n)
		return flowing
	}
	f := x.ioFault(err, "readv()")
	if f.kind == faultClosed && x.frame.EndsWithConnection() {
		x.resp.KeepAlive = false
		return ended
	}
	x.logLost(f)
	return lost
}

// flush sends what was passed on so far: all of it where the answer is not buffered. It reports false where the client can't be
// sent to any more.
func (x *exchange) flush() bool {
	flush := x.r.Flush
	if x.spool.attached {
		flush = x.r.Stream.Flush
	}
	if flush() != nil {
		x.logUnsent()
		return false
	}
	if x.r.Shaper != nil {
		x.watch() // the shaper may have waited
	}
	return true
}

// logLost says why the rest of an answer will not come.
func (x *exchange) logLost(f *fault) {
	switch f.kind {
	case faultLeft:
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	case faultBody:
		// The client's body broke while the answer was on its way: nothing of it is left to save.
	default:
		x.logf(f.level, "%s%s", f.log, relaying)
	}
}

// logUnsent says why an answer could not be sent; the edge has done it, unless the client left while its bytes were held
// back.
func (x *exchange) logUnsent() {
	x.spool.stop()
	if x.watch(); x.gone.Load() {
		x.logf(errorlog.Info, "%s%s", clientLeft, relaying)
	}
}

// relaySpooled is relay from where the spool has taken over.
func (x *exchange) relaySpooled() bool {
	s, b := &x.spool, x.small
	for {
		n, came := s.take(b, false)
		if !came {
			if !x.flush() {
				return false
			}
			n, _ = s.take(b, true)
		}
		if x.long != nil { // what was left in it is in the spool
			x.set.bodies.Put(x.long)
			x.long, x.in = nil, x.small
		}
		if n == 0 {
			break
		}
		if x.r.SendBody(b[:n]) != nil {
			x.logUnsent()
			return false
		}
	}
	s.stop()
	if f := s.fault; f != nil {
		x.logLost(f)
		return false
	}
	return true
}

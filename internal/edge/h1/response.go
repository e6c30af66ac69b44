package h1

import (
	"errors"
	"strconv"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// framing is how the end of a response's body is told.
type framing uint8

const (
	noBody framing = iota
	byLength
	byChunks
	byClose
)

// answer is the state of the response on its way out.
type answer struct {
	frame    framing
	keep     bool  // the connection may carry another request
	done     bool  // Finish was called and all is sent
	parts    bool  // body was sent before
	left     int64 // of a body framed by its length
	headSize int64 // bytes of the head, 100 Continue before it not counted
	own      *[outputSize]byte
	out      []byte // not sent yet, in own unless a head was larger
}

func (a *answer) reset() { *a = answer{} }

// release returns the output buffer.
func (a *answer) release(s *Server) {
	if a.own != nil {
		s.outputs.Put(a.own)
		a.own, a.out = nil, nil
	}
}

var errSent = errors.New("sending a response head: one was sent before")

// SendHead implements request.Stream.
func (x *exchange) SendHead(r *request.Request) error {
	resp, a := &r.Response, &x.answer
	if resp.Sent {
		return errSent
	}
	if x.body.expects {
		if r.SkipsBody && x.body.untouched() {
			_ = x.sayContinue() // a client that left is noticed by what follows
		}
		x.sending.Lock()
		resp.Sent = true
		x.sending.Unlock()
	} else {
		resp.Sent = true
	}
	x.stale = x.stale || x.awaited || x.body.x != nil
	now := x.clock()
	x.decide(r, x.scope())
	if x.mute.Load() || x.err != nil {
		return x.err
	}
	if a.own == nil {
		a.own = x.srv.outputs.Get().(*[outputSize]byte)
		a.out = a.own[:0]
	}
	if r.Major == 0 && r.Minor == 9 {
		return nil // HTTP/0.9 has no heads
	}
	from := len(a.out)
	a.out = x.appendHead(a.out, resp, now)
	a.headSize = int64(len(a.out) - from)
	return nil
}

// appendHead writes the head. The order of its lines is nginx's (ngx_http_header_filter).
func (x *exchange) appendHead(out []byte, resp *request.Response, now limitgate.Time) []byte {
	if resp.Reason != nil {
		out = h1.AppendStatus(out, resp.Status, resp.Reason)
	} else {
		out = h1.AppendStatusLine(out, resp.Status)
	}
	out = x.appendOrigin(out, resp, now)
	if resp.Status != 204 {
		if len(resp.ContentType) > 0 {
			out = h1.AppendHeader(out, "Content-Type", resp.ContentType)
		}
		if resp.Length >= 0 && resp.Status != 101 {
			out = h1.AppendInt(out, "Content-Length", resp.Length)
		}
	}
	if resp.Dated {
		out = h1.AppendDate(append(out, "Last-Modified: "...), resp.Modified)
		out = append(out, '\r', '\n')
	}
	if resp.Absolute {
		out = h1.AppendHeader(out, "Location", resp.Location)
	}
	if x.answer.frame == byChunks {
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	switch {
	case resp.Status == 101:
		out = append(out, "Connection: upgrade\r\n"...)
	case x.answer.keep:
		out = append(out, "Connection: keep-alive\r\n"...)
		if n := x.scope().KeepaliveHeader; n > 0 {
			out = append(strconv.AppendInt(append(out, "Keep-Alive: timeout="...), n, 10), "\r\n"...)
		}
	default:
		out = append(out, "Connection: close\r\n"...)
	}
	if resp.Vary {
		out = append(out, "Vary: Accept-Encoding\r\n"...)
	}
	if resp.Location != nil && !resp.Absolute {
		out = h1.AppendHeader(out, "Location", resp.Location)
	}
	for i := range resp.Headers {
		f := &resp.Headers[i]
		out = h1.AppendHeader(out, f.Name, f.Value)
	}
	return append(out, "\r\n"...)
}

// appendOrigin writes who answers and when, unless the response says that itself.
func (x *exchange) appendOrigin(out []byte, resp *request.Response, now limitgate.Time) []byte {
	server, date := resp.Unsigned()
	if server {
		out = append(out, x.srv.names[x.scope().Tokens]...)
	}
	if date {
		out = append(out, x.srv.dateAt(now)...)
	}
	return out
}

// decide settles how the body is framed and whether the connection lives on.
func (x *exchange) decide(r *request.Request, s *request.Settings) {
	resp, a := &r.Response, &x.answer
	sound := x.body.skipHere()
	a.keep = r.Keeps() && sound && !x.c.draining() && !(s.KeepaliveDisable != 0 && disables(s.KeepaliveDisable, r))
	switch {
	case resp.Status == 101:
		a.frame, a.keep = byClose, false
	case !r.BodyAllowed():
		a.frame = noBody
	case (resp.Length < 0 || resp.Trailing) && r.Major == 1 && r.Minor >= 1 && !s.NoChunks:
		a.frame, resp.Length = byChunks, -1
	case resp.Length >= 0:
		a.frame, a.left = byLength, resp.Length
	default:
		a.frame, a.keep = byClose, false
	}
	resp.Kept, resp.Chunked = a.keep, a.frame == byChunks
}

// disables reports whether the client is a browser that gets no kept connections (keepalive_disable).
func disables(set request.Browsers, r *request.Request) bool {
	if v, named := r.Get(header.UserAgent); named {
		agent := h1.ReadAgent(v)
		return agent.MSIE6 && set&request.MSIE6 != 0 && string(r.Method) == "POST" || agent.Safari && set&request.Safari != 0
	}
	return false
}

// SendBody implements request.Stream.
func (x *exchange) SendBody(p []byte) error {
	a := &x.answer
	if x.err != nil || len(p) == 0 || a.frame == noBody || x.mute.Load() || a.own == nil {
		return x.err
	}
	x.stale = x.stale || a.parts
	a.parts = true
	switch a.frame {
	case byLength:
		if int64(len(p)) > a.left { // more would be taken for the next response
			p, a.keep = p[:a.left], false
		}
		a.left -= int64(len(p))
		return x.put(p, "")
	case byChunks:
		if len(a.out)+len(p)+chunkOverhead > outputSize && len(p) < direct {
			if err := x.Flush(); err != nil {
				return err
			}
		}
		a.out = h1.AppendChunkHead(a.out, len(p))
		return x.put(p, "\r\n")
	}
	return x.put(p, "")
}

// put adds a piece and what follows it to the output: into the buffer where it fits, and else sent together with the
// buffer, large pieces without a copy.
func (x *exchange) put(p []byte, tail string) error {
	a := &x.answer
	if len(a.out)+len(p)+len(tail) <= outputSize {
		a.out = append(append(a.out, p...), tail...)
		return nil
	}
	x.stale = true
	if len(p) < direct {
		if err := x.Flush(); err != nil {
			return err
		}
		a.out = append(append(a.out, p...), tail...)
		return nil
	}
	err := x.c.writeAll(a.out, p, tail)
	a.out = a.own[:0]
	return x.sendError(err)
}

// Flush implements request.Stream.
func (x *exchange) Flush() error {
	a := &x.answer
	if x.err != nil || len(a.out) == 0 {
		return x.err
	}
	err := x.c.write(a.out)
	a.out = a.own[:0]
	return x.sendError(err)
}

// Finish implements request.Stream.
func (x *exchange) Finish() error {
	a := &x.answer
	switch a.frame {
	case byChunks:
		if !x.mute.Load() && a.own != nil {
			x.appendEnd()
		}
	case byLength:
		a.keep = a.keep && a.left == 0
	}
	if err := x.Flush(); err != nil {
		return err
	}
	a.done = true
	return nil
}

// appendEnd writes the last chunk and the trailers behind it. With many of them the buffer grows once more than it has.
func (x *exchange) appendEnd() {
	a := &x.answer
	a.out = h1.AppendLastChunk(a.out)
	for i := range x.r.Response.Trailers {
		f := &x.r.Response.Trailers[i]
		a.out = h1.AppendHeader(a.out, f.Name, f.Value)
	}
	a.out = h1.AppendEnd(a.out)
}

// BytesSent implements request.Stream.
func (x *exchange) BytesSent() int64 { return x.c.sent - x.sentAt }

// BodyBytesSent implements request.Stream. As in nginx the framing of chunks counts.
func (x *exchange) BodyBytesSent() int64 { return max(0, x.BytesSent()-x.answer.headSize) }

package h2

import (
	"errors"
	"strconv"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/h1"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// holdSize is how much of a body of unknown length is gathered for a frame.
const holdSize = 8 << 10

// answer is the state of the response on its way out.
type answer struct {
	block    []byte // the head, encoded
	hold     []byte // of a body of unknown length
	sized    bool   // left counts
	left     int64
	digits   [40]byte // of a number or a date
	bare     bool     // no body may follow
	done     bool     // Finish was called and all is sent
	ended    bool     // the last frame of it is on its way
	closed   bool     // the client knows that nothing follows; guarded by the connection's lock
	sent     int64    // bytes of frames
	headSize int64    // of them those of heads, trailers and framing
}

func (a *answer) reset() {
	block, hold := a.block[:0], a.hold[:0]
	*a = answer{block: block, hold: hold}
}

// release lets go of memory that most answers do not need.
func (a *answer) release(*Server) {
	const most = 32 << 10
	if cap(a.block) > most {
		a.block = nil
	}
}

var errSent = errors.New("sending a response head: one was sent before")

// SendHead implements request.Stream.
func (s *stream) SendHead(r *request.Request) error {
	resp, a := &r.Response, &s.answer
	if resp.Sent {
		return errSent
	}
	resp.Kept, resp.Chunked = true, false
	a.bare = !r.BodyAllowed()
	a.sized, a.left = resp.Length >= 0, resp.Length
	end := a.bare || resp.Length == 0 && !resp.Trailing
	a.block = s.appendHead(a.block[:0], resp)
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	resp.Sent = true
	if err := s.makeRoom(); err != nil {
		return err
	}
	before := len(c.out.buf)
	c.out.buf = h2.AppendBlock(c.out.buf, a.block, s.id, end, c.frameSize)
	n := len(c.out.buf) - before
	c.sentBytes(n, n)
	a.headSize = int64(n)
	a.sent += int64(n)
	a.ended, a.closed = end, end
	c.grant()
	return nil
}

// appendHead encodes the head. The order of its fields is nginx's (ngx_http_v2_header_filter).
func (s *stream) appendHead(b []byte, resp *request.Response) []byte {
	b = h2.AppendStatus(b, resp.Status)
	server, date := resp.Unsigned()
	if server {
		b = append(b, s.c.srv.names[s.scope().Tokens]...)
	}
	if date {
		b = append(b, s.c.srv.dateAt(s.c.srv.cfg.Now())...)
	}
	if resp.Status != 204 {
		if len(resp.ContentType) > 0 {
			b = h2.AppendField(b, header.ContentType, "", resp.ContentType)
		}
		if resp.Length >= 0 {
			b = h2.AppendField(b, header.ContentLength, "", strconv.AppendInt(s.answer.digits[:0], resp.Length, 10))
		}
	}
	if resp.Dated {
		b = h2.AppendField(b, header.LastModified, "", h1.AppendDate(s.answer.digits[:0], resp.Modified))
	}
	if resp.Location != nil {
		b = h2.AppendField(b, header.Location, "", resp.Location)
	}
	if resp.Vary {
		b = h2.AppendField(b, header.Vary, "", acceptEncoding)
	}
	return appendFields(b, resp.Headers)
}

var acceptEncoding = []byte("Accept-Encoding")

// appendFields encodes fields, but for those that only HTTP/1 has.
func appendFields(b []byte, fields []request.Header) []byte {
	for i := range fields {
		f := &fields[i]
		if h2.ForConnection(f.ID) || len(f.Name) == 0 {
			continue
		}
		b = h2.AppendField(b, f.ID, f.Name, f.Value)
	}
	return b
}

// SendBody implements request.Stream.
func (s *stream) SendBody(p []byte) error {
	a := &s.answer
	if s.err != nil || len(p) == 0 || a.bare {
		return s.err
	}
	if a.sized {
		if int64(len(p)) > a.left {
			p = p[:a.left]
		}
		a.left -= int64(len(p))
		return s.send(p, a.left == 0 && !s.r.Response.Trailing)
	}
	if len(a.hold)+len(p) <= holdSize {
		a.hold = append(a.hold, p...)
		return nil
	}
	if err := s.unhold(false); err != nil {
		return err
	}
	if len(p) <= holdSize {
		a.hold = append(a.hold, p...)
		return nil
	}
	return s.send(p, false)
}

// unhold sends what is gathered.
func (s *stream) unhold(end bool) error {
	a := &s.answer
	if len(a.hold) == 0 && !end {
		return s.err
	}
	err := s.send(a.hold, end)
	a.hold = a.hold[:0]
	return err
}

// Flush implements request.Stream.
func (s *stream) Flush() error {
	if err := s.unhold(false); err != nil {
		return err
	}
	s.c.mu.Lock()
	s.c.flush()
	s.c.mu.Unlock()
	return nil
}

// Finish implements request.Stream.
func (s *stream) Finish() error {
	a := &s.answer
	trailers := s.r.Response.Trailers
	if s.err == nil && !a.ended {
		switch {
		case len(trailers) > 0:
			if err := s.unhold(false); err != nil {
				return err
			}
			s.sendTrailers(trailers)
		case a.sized && a.left > 0:
			return s.cutShort()
		default:
			if err := s.unhold(true); err != nil {
				return err
			}
		}
	}
	if s.err != nil {
		return s.err
	}
	a.done = true
	return nil
}

// errShort is returned for a body that is shorter than its head said. The client learns that from a RST_STREAM.
var errShort = errors.New("sending to client: the body is shorter than announced")

func (s *stream) cutShort() error {
	s.err = errShort
	return s.err
}

// sendTrailers ends the answer with a head.
func (s *stream) sendTrailers(fields []request.Header) {
	a, c := &s.answer, s.c
	a.block = appendFields(a.block[:0], fields)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.gone || a.closed || c.out.err != nil {
		s.err = errGone
		return
	}
	before := len(c.out.buf)
	if len(a.block) == 0 {
		c.out.buf = h2.AppendHeader(c.out.buf, 0, http2.FrameData, http2.FlagDataEndStream, s.id)
	} else {
		c.out.buf = h2.AppendBlock(c.out.buf, a.block, s.id, true, c.frameSize)
	}
	n := len(c.out.buf) - before
	c.sentBytes(n, n)
	a.sent += int64(n)
	a.headSize += int64(n)
	a.ended, a.closed = true, true
}

// BytesSent implements request.Stream. As in nginx the framing counts.
func (s *stream) BytesSent() int64 { return s.answer.sent }

// BodyBytesSent implements request.Stream.
func (s *stream) BodyBytesSent() int64 { return s.answer.sent - s.answer.headSize }

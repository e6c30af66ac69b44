package h1

import (
	"errors"
	"math"
)

// ErrChunked is returned by Body.Next for broken chunked framing. Of a client nginx says `client sent invalid chunked
// body` and answers 400; of an upstream `upstream sent invalid chunked response` and ends the response.
var ErrChunked = errors.New("invalid chunked framing")

type bodyKind uint8

const (
	bodyNone bodyKind = iota
	bodyLength
	bodyChunked
	bodyClose
)

// Body is the framing of a message's body: it tells which bytes on the wire are the body's and where it ends. The zero
// value is the empty body.
type Body struct {
	left  int64 // of the length or of the chunk
	kind  bodyKind
	state chunkState
}

// LengthBody is a body of n bytes.
func LengthBody(n int64) Body {
	if n <= 0 {
		return Body{}
	}
	return Body{kind: bodyLength, left: n}
}

// ChunkedBody is a body in chunks.
func ChunkedBody() Body { return Body{kind: bodyChunked} }

// CloseBody is a body that ends with the connection.
func CloseBody() Body { return Body{kind: bodyClose} }

// Done tells that the whole body was seen. A body that ends with the connection is never done.
func (f *Body) Done() bool { return f.kind == bodyNone }

// EndsWithConnection tells that the end of the connection is the body's end and not a loss.
func (f *Body) EndsWithConnection() bool { return f.kind == bodyClose }

// Remaining is how many bytes of a body with a length are still to come, -1 for the other framings.
func (f *Body) Remaining() int64 {
	switch f.kind {
	case bodyNone:
		return 0
	case bodyLength:
		return f.left
	}
	return -1
}

// Ahead is how many bytes of the current chunk are still to come, 0 between chunks and for the other framings.
func (f *Body) Ahead() int64 {
	if f.kind == bodyChunked && f.state == chunkData {
		return f.left
	}
	return 0
}

// Next looks at the next bytes on the wire: b[:skip] is framing and b[skip:skip+data] the next piece of the body. Both
// count as seen then. When both are 0 and the body is not Done, more bytes are needed. Bytes of the next message are
// left alone.
func (f *Body) Next(b []byte) (skip, data int, err error) {
	switch f.kind {
	case bodyLength:
		data = int(min(f.left, int64(len(b))))
		if f.left -= int64(data); f.left == 0 {
			f.kind = bodyNone
		}
	case bodyChunked:
		if f.state != chunkData {
			if skip, err = f.frame(b); err != nil || f.state != chunkData {
				return skip, 0, err
			}
		}
		data = int(min(f.left, int64(len(b)-skip)))
		if f.left -= int64(data); f.left == 0 {
			f.state = chunkAfter
		}
	case bodyClose:
		data = len(b)
	}
	return skip, data, nil
}

// chunkState is where in chunked framing a Body stands. The states that await the LF of a CRLF follow the one that saw
// what is before it.
type chunkState uint8

const (
	chunkStart chunkState = iota
	chunkSize
	chunkExt
	chunkExtLF
	chunkData
	chunkAfter
	chunkAfterLF
	lastExt
	lastExtLF
	trailerStart
	trailerEndLF
	trailerLine
	trailerLineLF
)

// frame reads framing up to the data of a chunk, the end of the body or of b (ngx_http_parse_chunked). Extensions and
// trailers are passed over. A line ends with CRLF: LF alone is refused, as in nginx since 1.29 (1.22 took it), because
// others don't take it for an end and would see another message.
func (f *Body) frame(b []byte) (int, error) {
	for i, c := range b {
		switch f.state {
		case chunkStart:
			d := unhex(c)
			if d < 0 {
				return i, ErrChunked
			}
			f.left, f.state = int64(d), chunkSize
		case chunkSize:
			if !f.size(c) {
				return i, ErrChunked
			}
		case chunkExt, lastExt, trailerLine:
			if c == '\r' {
				f.state++
			} else if c == '\n' {
				return i, ErrChunked
			}
		case chunkAfter:
			if c != '\r' {
				return i, ErrChunked
			}
			f.state = chunkAfterLF
		case trailerStart:
			switch c {
			case '\r':
				f.state = trailerEndLF
			case '\n':
				return i, ErrChunked
			default:
				f.state = trailerLine
			}
		default:
			if c != '\n' {
				return i, ErrChunked
			}
			if f.endLine() {
				return i + 1, nil
			}
		}
	}
	return len(b), nil
}

// size takes one byte at or behind the digits of a chunk size.
func (f *Body) size(c byte) bool {
	if f.left > math.MaxInt64/16 {
		return false
	}
	if d := unhex(c); d >= 0 {
		f.left = f.left<<4 | int64(d)
		return true
	}
	switch c {
	case '\r':
		f.state = chunkExtLF
	case ';', ' ', '\t':
		f.state = chunkExt
	default:
		return false
	}
	if f.left == 0 {
		f.state += lastExt - chunkExt
	}
	return true
}

// endLine takes the LF of a CRLF and reports whether framing pauses there: data follows, or the body ends.
func (f *Body) endLine() bool {
	switch f.state {
	case chunkExtLF:
		f.state = chunkData
		return true
	case chunkAfterLF:
		f.state = chunkStart
	case trailerEndLF:
		f.kind = bodyNone
		f.state = chunkStart
		return true
	default:
		f.state = trailerStart
	}
	return false
}

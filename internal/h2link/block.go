package h2link

import (
	"errors"
	"fmt"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/h2"
)

// block is a head or trailers as their frames come.
type block struct {
	open   bool // frames of it are to come
	id     uint32
	end    bool // the stream ends with it
	trails bool // a body went before
	past   bool // of a stream that is over: it is read for the table's sake alone
	status int
	room   int
	raw    []byte // as it came
	fields []hpack.HeaderField
	fault  *Fault
}

// takeBlock takes a piece of a head or of trailers. mu is held.
func (l *Link) takeBlock(h http2.FrameHeader, p []byte) *Fault {
	b, s := &l.block, &l.stream
	if h.Type == http2.FrameHeaders {
		var f *Fault
		if p, f = bare(h, p); f != nil {
			return f
		}
		*b = block{raw: b.raw[:0], open: true, id: h.StreamID, end: h.Flags.Has(http2.FlagHeadersEndStream), trails: s.head != nil,
			past: l.past(h) || s.fault != nil, room: s.limit}
		l.decoder.SetMaxStringLength(max(b.room, 1<<16))
	}
	if b.raw = append(b.raw, p...); len(b.raw) > maxBlock(l.stream.limit) {
		return b.bad("upstream sent too large http2 header")
	}
	if !h.Flags.Has(http2.FlagHeadersEndHeaders) {
		return nil
	}
	b.open = false
	_, err := l.decoder.Write(h2.Tolerate(b.raw))
	if err == nil {
		err = l.decoder.Close()
	}
	switch {
	case err != nil:
		return b.bad(decoding(err))
	case b.fault != nil:
		return b.fault
	case b.past:
		return nil
	}
	return l.endBlock()
}

// maxBlock bounds the bytes of a block whose names and values may have limit bytes: encoded they may have more, but not by much.
func maxBlock(limit int) int { return 2*limit + 64<<10 }

// bare takes padding and priority off the payload of a HEADERS frame.
func bare(h http2.FrameHeader, p []byte) ([]byte, *Fault) {
	n := 0
	if h.Flags.Has(http2.FlagHeadersPadded) {
		n++
	}
	if h.Flags.Has(http2.FlagHeadersPriority) {
		n += 5
	}
	if len(p) < n {
		return nil, invalid("upstream sent headers frame with invalid length: %d", len(p))
	}
	p, f := unpad(h, p)
	if f != nil {
		return nil, f
	}
	if h.Flags.Has(http2.FlagHeadersPriority) {
		if len(p) < 5 {
			return nil, invalid("upstream sent headers frame with invalid length: %d", h.Length)
		}
		p = p[5:]
	}
	return p, nil
}

// decoding says in nginx's words why a block can't be read.
func decoding(err error) string {
	var index hpack.InvalidIndexError
	var d hpack.DecodingError
	switch {
	case errors.As(err, &d) && errors.As(d.Err, &index):
		return fmt.Sprintf("upstream sent invalid http2 table index: %d", int(index))
	case errors.Is(err, hpack.ErrStringLength):
		return "upstream sent too large http2 header value length"
	case errors.Is(err, hpack.ErrInvalidHuffman):
		return "upstream sent invalid encoded header"
	case errors.As(err, &d) && d.Err.Error() == "truncated headers":
		return "upstream sent truncated http2 header"
	}
	return "upstream sent invalid http2 header: " + err.Error()
}

// bad is the fault of a block that can't be read, or not be passed on.
func (b *block) bad(detail string) *Fault {
	what := "upstream sent invalid header"
	if b.trails {
		what = "upstream sent invalid trailer"
	}
	return &Fault{Kind: Invalid, Log: what, Detail: detail}
}

// field takes a field that the decoder has read.
func (l *Link) field(f hpack.HeaderField) {
	b := &l.block
	if b.fault != nil || b.past {
		return
	}
	if b.room -= len(f.Name) + len(f.Value); b.room < 0 {
		b.fault = b.bad("upstream sent too large http2 header")
		return
	}
	pseudo := len(f.Name) > 0 && f.Name[0] == ':'
	name := f.Name
	if pseudo {
		name = name[1:]
	}
	switch {
	case h2.KindOf(name) == h2.Refused || !h2.ValidValue(f.Value):
		b.fault = b.bad(fmt.Sprintf("upstream sent invalid header: \"%s: %s\"", f.Name, f.Value))
	case b.trails && pseudo:
		b.fault = invalid("upstream sent invalid trailer \"%s: %s\"", f.Name, f.Value)
	case b.trails:
		b.fields = append(b.fields, f)
	case f.Name == ":status":
		b.fault = b.judge(f.Value)
	case pseudo:
		b.fault = invalid("upstream sent invalid header \"%s: %s\"", f.Name, f.Value)
	case b.status == 0:
		b.fault = invalid("upstream sent no :status header")
	default:
		b.fields = append(b.fields, f)
	}
}

// judge reads :status.
func (b *block) judge(v string) *Fault {
	if b.status != 0 {
		return invalid("upstream sent duplicate :status header")
	}
	n := 0
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' || len(v) != 3 {
			return invalid("upstream sent invalid :status \"%s\"", v)
		}
		n = n*10 + int(v[i]-'0')
	}
	switch {
	case len(v) != 3:
		return invalid("upstream sent invalid :status \"%s\"", v)
	case n < 200 && n != earlyHints:
		return invalid("upstream sent unexpected :status \"%s\"", v)
	}
	b.status = n
	return nil
}

const earlyHints = 103

// endBlock makes a head, or trailers, of the block that is whole. mu is held.
func (l *Link) endBlock() *Fault {
	b, s := &l.block, &l.stream
	switch {
	case b.trails && !b.end:
		s.fault = invalid("upstream sent trailer without end stream flag")
		return s.fault
	case b.trails:
		s.trailer = b.fields
	case b.status == 0:
		return invalid("upstream sent no :status header")
	case b.status == earlyHints:
		if b.end {
			return invalid("upstream prematurely closed stream")
		}
		return nil // nobody here has a use for them
	default:
		s.head = &Head{Status: b.status, Fields: b.fields, End: b.end}
	}
	s.ended = b.end
	return nil
}

package h2

import (
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
)

// block is a head while it is read: from a HEADERS frame to the last CONTINUATION.
type block struct {
	id       uint32  // 0: no head is being read
	stream   *stream // nil: the head is read for the sake of the table only
	trailers bool    // it follows a body
	end      bool    // nothing follows it
	left     int     // bytes of fields that may still come
	large    bool    // more came
	nameless bool    // a field without a name
	pieces   int     // frames so far
	length   int64   // of their payloads
}

// headers reads a frame of a head.
func (c *conn) headers(h http2.FrameHeader) turn {
	first := h.Type == http2.FrameHeaders
	if first {
		if next := c.openBlock(h); next != goOn {
			return next
		}
	}
	b := &c.block
	b.pieces++
	b.length += int64(h.Length)
	// Nobody needs more room than for fields as large as they may be, none of them compressed.
	if most := c.head.LargeSize*c.head.LargeBuffers + inputSize; int(h.Length) > most || b.length > int64(most) {
		return c.fail(http2.ErrCodeEnhanceYourCalm, "client sent too large header")
	}
	if b.pieces > mostPieces {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	length, pad, next := c.opening(h)
	if next != goOn {
		return next
	}
	for length > 0 {
		if len(c.in) == 0 {
			if err := c.fill(); err != nil {
				return c.stopped(err)
			}
		}
		n := min(length, len(c.in))
		if err := c.fields.Write(c.in[:n]); err != nil {
			return c.badBlock(err)
		}
		c.in = c.in[n:]
		length -= n
	}
	if next := c.skip(pad); next != goOn {
		return next
	}
	switch {
	case b.nameless:
		return c.fail(http2.ErrCodeProtocol, "client sent zero header name length")
	case b.large:
		return c.fail(http2.ErrCodeEnhanceYourCalm, "client sent too large header")
	case !h.Flags.Has(http2.FlagHeadersEndHeaders):
		return goOn
	}
	if err := c.fields.Close(); err != nil {
		return c.badBlock(err)
	}
	return c.closeBlock()
}

// opening reads what stands before the fields in a HEADERS frame, and returns the lengths of these and of the padding.
func (c *conn) opening(h http2.FrameHeader) (length, pad int, next turn) {
	length = int(h.Length)
	if h.Type != http2.FrameHeaders {
		return length, 0, goOn
	}
	b := &c.lead
	at := b[:0]
	if h.Flags.Has(http2.FlagHeadersPadded) {
		at = b[:1]
	}
	if h.Flags.Has(http2.FlagHeadersPriority) {
		at = b[:len(at)+5]
	}
	if len(at) == 0 {
		return length, 0, goOn
	}
	if _, err := io.ReadFull((*input)(c), at); err != nil {
		return 0, 0, c.stopped(err)
	}
	length -= len(at)
	if h.Flags.Has(http2.FlagHeadersPadded) {
		if pad = int(at[0]); pad > length {
			return 0, 0, c.failf(http2.ErrCodeProtocol, "client sent padded HEADERS frame with incorrect length: %d, padding: %d", length, pad)
		}
		length -= pad
		at = at[1:]
	}
	if len(at) > 0 && binary.BigEndian.Uint32(at)&(1<<31-1) == h.StreamID {
		return 0, 0, c.failf(http2.ErrCodeProtocol, "client sent HEADERS frame for stream %d with incorrect dependency", h.StreamID)
	}
	return length, pad, goOn
}

// badBlock says what is wrong with compressed fields.
func (c *conn) badBlock(err error) turn {
	code := http2.ErrCodeCompression
	switch {
	case errors.Is(err, h2.ErrString):
		code = http2.ErrCodeEnhanceYourCalm
	case errors.Is(err, h2.ErrShort):
		code = http2.ErrCodeFrameSize
	}
	return c.fail(code, "client sent "+err.Error())
}

// openBlock begins a head: of a new stream, of one that is not served, or trailers.
func (c *conn) openBlock(h http2.FrameHeader) turn {
	least := uint32(0)
	if h.Flags.Has(http2.FlagHeadersPadded) {
		least++
	}
	if h.Flags.Has(http2.FlagHeadersPriority) {
		least += 5
	}
	switch {
	case h.Length < least:
		return c.failf(http2.ErrCodeFrameSize, "client sent HEADERS frame with incorrect length %d", h.Length)
	case h.Length == least:
		return c.fail(http2.ErrCodeFrameSize, "client sent HEADERS frame with empty header block")
	}
	c.block = block{id: h.StreamID, end: h.Flags.Has(http2.FlagHeadersEndStream), left: c.head.LargeSize * c.head.LargeBuffers}
	c.fields.Limit(c.head.LargeSize)
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[h.StreamID]; s != nil && !s.in.closed && c.block.end {
		c.block.trailers = true
		return goOn
	}
	if h.StreamID%2 == 0 || h.StreamID <= c.highest {
		last := c.highest
		c.mu.Unlock()
		defer c.mu.Lock()
		return c.failf(http2.ErrCodeProtocol, "client sent HEADERS frame with incorrect identifier %d, the last was %d", h.StreamID, last)
	}
	c.highest = h.StreamID
	if c.goaway {
		return goOn
	}
	c.lastID = h.StreamID
	c.count.useful(int(h.Length))
	return c.openStream(h)
}

// openStream makes a stream for a head, if the client may have one more. c is locked.
func (c *conn) openStream(h http2.FrameHeader) turn {
	if len(c.out.buf) > mostUnsent {
		c.mu.Unlock()
		defer c.mu.Lock()
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	refused := ""
	switch {
	case c.live >= c.count.places:
		refused = "concurrent streams exceeded " + itoa(c.live)
	case c.newStreams >= 2*c.count.places:
		refused = "client sent too many streams at once"
	}
	c.newStreams++
	if refused != "" {
		c.mu.Unlock()
		defer c.mu.Lock()
		c.logf(errorlog.Info, "%s", refused)
		if c.count.refused++; c.count.refused > max(c.count.places, leastRefused) {
			return c.fail(http2.ErrCodeEnhanceYourCalm, "client sent too many refused streams")
		}
		return c.reply(func(out []byte) []byte { return h2.AppendReset(out, h.StreamID, http2.ErrCodeRefusedStream) })
	}
	s := c.srv.streams.Get().(*stream)
	if !s.begin(c, h.StreamID) {
		c.srv.streams.Put(s)
		if !c.goaway {
			c.sayGoAway(http2.ErrCodeNo)
		}
		return goOn
	}
	c.block.stream = s
	c.count.priorities += c.count.places
	c.streams[h.StreamID] = s
	c.live++
	c.link.Host.Begun()
	if info := c.link.Info; c.head.KeepaliveIdle == 0 || info.Requests >= c.head.KeepaliveRequests || s.r.Start-info.Start > limitgate.Time(c.head.KeepaliveTime) {
		c.sayGoAway(http2.ErrCodeNo)
	}
	return goOn
}

// field takes one field of a head.
func (c *conn) field(name, value string) {
	b := &c.block
	n := len(name) + len(value)
	if n > b.left {
		b.large, b.left = true, 0
		return
	}
	b.left -= n
	c.count.payload += int64(n)
	switch {
	case name == "":
		b.nameless = true
	case b.stream != nil:
		b.stream.field(name, value)
	}
}

// closeBlock deals with a head that is complete.
func (c *conn) closeBlock() turn {
	b := c.block
	c.block = block{}
	switch {
	case b.trailers:
		c.receive(b.id, nil, true)
		return goOn
	case b.stream == nil:
		return goOn
	}
	s := b.stream
	s.length.Store(b.length)
	s.complete(b.end)
	c.inside = false
	c.awaitLeavers()
	return c.serve(s)
}

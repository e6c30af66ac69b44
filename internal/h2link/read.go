package h2link

import (
	"encoding/binary"
	"errors"
	"io"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/h2"
)

// read takes frames until the connection ends. Those who wait are told when nothing whole is left of what came together.
func (l *Link) read() {
	for {
		h, err := l.in.ReadFrameHeader()
		var f *Fault
		more := false
		switch {
		case errors.Is(err, http2.ErrFrameTooLarge):
			f = invalid("upstream sent too large http2 frame: %d", h.Length)
		case err != nil:
			f = readFault(err)
		default:
			more, f = l.take(h)
		}
		if f != nil {
			l.mu.Lock()
			l.fault, l.busy = f, false
			l.mu.Unlock()
			l.Interrupt()
			return
		}
		if !more {
			l.respond()
			l.Interrupt()
		}
	}
}

func readFault(err error) *Fault {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Fault{Kind: Closed, Err: io.EOF}
	}
	return &Fault{Kind: Failed, Err: err}
}

// another reports whether a whole frame is here already.
func (l *Link) another() bool {
	n := l.r.Buffered()
	if n < h2.HeaderLen {
		return false
	}
	b, err := l.r.Peek(3)
	return err == nil && n >= h2.HeaderLen+int(b[0])<<16+int(b[1])<<8+int(b[2])
}

// take reads the rest of a frame and does what it says. It reports whether another one is here. A fault is the connection's.
func (l *Link) take(h http2.FrameHeader) (more bool, f *Fault) {
	p := l.payload[:h.Length]
	if _, err := io.ReadFull(l.r, p); err != nil {
		return false, readFault(err)
	}
	l.received.Add(h2.HeaderLen + int64(h.Length))
	l.mu.Lock()
	defer l.mu.Unlock()
	f = l.obey(h, p)
	l.busy = f == nil && l.another()
	return l.busy, f
}

// obey does what a frame says. mu is held, here and below.
func (l *Link) obey(h http2.FrameHeader, p []byte) *Fault {
	if f := l.unexpected(h); f != nil {
		return f
	}
	switch h.Type {
	case http2.FrameData:
		return l.takeData(h, p)
	case http2.FrameHeaders, http2.FrameContinuation:
		return l.takeBlock(h, p)
	case http2.FrameRSTStream:
		return l.takeReset(h, p)
	case http2.FrameSettings:
		return l.takeSettings(h, p)
	case http2.FramePushPromise:
		return invalid("upstream sent unexpected push promise frame")
	case http2.FramePing:
		return l.takePing(h, p)
	case http2.FrameGoAway:
		return l.takeGoAway(h, p)
	case http2.FrameWindowUpdate:
		return l.takeWindow(h, p)
	}
	return nil // what is not known is passed over
}

// past reports whether a frame is of a stream that is over: such may still be on the way when this end has told so.
func (l *Link) past(h http2.FrameHeader) bool {
	return h.StreamID%2 == 1 && (h.StreamID < l.last || h.StreamID == l.last && !l.stream.open)
}

// unexpected returns the fault of a frame in a place where it can't be (ngx_http_grpc_process_header, ngx_http_grpc_filter).
func (l *Link) unexpected(h http2.FrameHeader) *Fault {
	s := &l.stream
	switch {
	case (h.Type == http2.FrameContinuation) != l.block.open:
		return invalid("upstream sent unexpected http2 frame: %d", h.Type)
	case l.block.open && h.StreamID != l.block.id:
		return invalid("upstream sent frame for unknown stream %d", h.StreamID)
	case h.Type == http2.FrameData && !l.past(h) && s.open && s.head == nil:
		return invalid("upstream sent unexpected http2 frame: %d", h.Type)
	case h.StreamID == 0:
		if h.Type == http2.FrameData {
			return invalid("upstream sent data frame for unknown stream %d", h.StreamID)
		}
		return nil
	case l.past(h):
		return nil
	case h.StreamID != l.last || !s.open:
		if h.Type == http2.FrameData {
			return invalid("upstream sent data frame for unknown stream %d", h.StreamID)
		}
		return invalid("upstream sent frame for unknown stream %d", h.StreamID)
	case s.ended && h.Type != http2.FrameRSTStream && h.Type != http2.FrameWindowUpdate && s.fault == nil:
		s.fault = invalid("upstream sent frame for closed stream %d", h.StreamID)
		return s.fault
	}
	return nil
}

func (l *Link) takeData(h http2.FrameHeader, p []byte) *Fault {
	s, n := &l.stream, len(p)
	mine := !l.past(h) && s.fault == nil
	if mine && !s.room.Take(n) {
		return invalid("upstream violated stream flow control, received %d data frame with window %d", n, s.room.Size())
	}
	if !l.room.Take(n) {
		return invalid("upstream violated connection flow control, received %d data frame with window %d", n, l.room.Size())
	}
	if more := h2.MaxWindow - l.room.Room(); more > h2.MaxWindow/2 {
		l.control = h2.AppendWindowUpdate(l.control, 0, uint32(more))
		l.room.Add(uint32(more))
	}
	p, f := unpad(h, p)
	if f != nil || !mine {
		return f
	}
	s.data = append(s.data, p...)
	s.ended = h.Flags.Has(http2.FlagDataEndStream)
	l.pay(n - len(p))
	return nil
}

// unpad takes the padding off the payload of a frame.
func unpad(h http2.FrameHeader, p []byte) ([]byte, *Fault) {
	if !h.Flags.Has(http2.FlagDataPadded) {
		return p, nil
	}
	if len(p) == 0 {
		return nil, invalid("upstream sent too short http2 frame")
	}
	padding := int(p[0])
	if p = p[1:]; padding > len(p) {
		return nil, invalid("upstream sent http2 frame with too long padding: %d in frame %d", padding, len(p))
	}
	return p[:len(p)-padding], nil
}

func (l *Link) takeReset(h http2.FrameHeader, p []byte) *Fault {
	if len(p) != 4 {
		return invalid("upstream sent rst stream frame with invalid length: %d", len(p))
	}
	s, code := &l.stream, http2.ErrCode(binary.BigEndian.Uint32(p))
	switch {
	case h.StreamID == 0 || l.past(h) || s.fault != nil:
	case s.ended && s.reset:
		s.fault = invalid("upstream sent frame for closed stream %d", h.StreamID)
	case s.ended && code == http2.ErrCodeNo:
		s.reset, s.closed = true, true // it wants no more of the body, and has none of ours open
	default:
		s.fault = invalid("upstream rejected request with error %d", uint32(code))
		s.fault.Unprocessed = code == http2.ErrCodeRefusedStream
	}
	return nil
}

func (l *Link) takeGoAway(h http2.FrameHeader, p []byte) *Fault {
	switch {
	case h.StreamID != 0:
		return invalid("upstream sent goaway frame with non-zero stream id: %d", h.StreamID)
	case len(p) < 8:
		return invalid("upstream sent goaway frame with invalid length: %d", len(p))
	}
	last, code := binary.BigEndian.Uint32(p)&h2.MaxWindow, binary.BigEndian.Uint32(p[4:])
	l.going = true
	if s := &l.stream; s.open && last < l.last && s.fault == nil {
		s.fault = invalid("upstream sent goaway with error %d", code)
		s.fault.Unprocessed = true
	}
	return nil
}

func (l *Link) takeWindow(h http2.FrameHeader, p []byte) *Fault {
	if len(p) != 4 {
		return invalid("upstream sent window update frame with invalid length: %d", len(p))
	}
	n := binary.BigEndian.Uint32(p) & h2.MaxWindow
	window := &l.window
	if h.StreamID != 0 {
		window = &l.stream.window
	}
	switch {
	case n == 0:
		return invalid("upstream sent zero window update")
	case h.StreamID != 0 && l.past(h):
		return nil
	case !window.Add(n):
		return invalid("upstream sent too large window update")
	}
	return nil
}

func (l *Link) takeSettings(h http2.FrameHeader, p []byte) *Fault {
	switch {
	case h.StreamID != 0:
		return invalid("upstream sent settings frame with non-zero stream id: %d", h.StreamID)
	case h.Flags.Has(http2.FlagSettingsAck) && len(p) != 0:
		return invalid("upstream sent settings frame with ack flag and non-zero length: %d", len(p))
	case h.Flags.Has(http2.FlagSettingsAck):
		return nil
	case len(p)%6 != 0:
		return invalid("upstream sent settings frame with invalid length: %d", len(p))
	case len(l.control) > maxControl:
		return invalid("upstream sent too many settings frames")
	}
	for ; len(p) > 0; p = p[6:] {
		if http2.SettingID(binary.BigEndian.Uint16(p)) != http2.SettingInitialWindowSize {
			continue // the others bind nobody who sends small frames and makes no use of a table
		}
		n := binary.BigEndian.Uint32(p[2:])
		if n > h2.MaxWindow || l.stream.open && !l.stream.window.Shift(l.first, n) {
			return invalid("upstream sent settings frame with too large initial window size: %d", n)
		}
		l.first = n
	}
	l.control = h2.AppendSettingsAck(l.control)
	return nil
}

func (l *Link) takePing(h http2.FrameHeader, p []byte) *Fault {
	switch {
	case h.StreamID != 0:
		return invalid("upstream sent ping frame with non-zero stream id: %d", h.StreamID)
	case len(p) != 8:
		return invalid("upstream sent ping frame with invalid length: %d", len(p))
	case h.Flags.Has(http2.FlagPingAck):
		return invalid("upstream sent ping frame with ack flag")
	case len(l.control) > maxControl:
		return invalid("upstream sent too many ping frames")
	}
	l.control = h2.AppendPing(l.control, true, [8]byte(p))
	return nil
}

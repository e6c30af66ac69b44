package h2

import (
	"errors"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/h2"
)

// mostControl is the longest frame besides DATA and HEADERS that is read whole.
const mostControl = 4 << 10

// leaveTime is how long requests that were taken back may keep the reader waiting: they were told, and have nothing to do but to end.
const leaveTime = 10 * time.Millisecond

// frame reads one frame and does what it asks for.
func (c *conn) frame() turn {
	if len(c.in) == 0 {
		if err := c.fill(); err != nil {
			return c.stopped(err)
		}
	}
	c.inside = true
	h, err := c.frames.ReadFrameHeader()
	if err != nil {
		return c.broken(h, err)
	}
	next := c.dispatch(h)
	if next == goOn {
		c.inside = false
	}
	return next
}

// dispatch does what a frame asks for whose header was read.
func (c *conn) dispatch(h http2.FrameHeader) turn {
	switch h.Type {
	case http2.FrameData:
		return c.data(h)
	case http2.FrameHeaders, http2.FrameContinuation:
		return c.headers(h)
	case http2.FramePushPromise:
		return c.fail(http2.ErrCodeProtocol, "client sent PUSH_PROMISE frame")
	case http2.FrameSettings, http2.FramePing, http2.FrameWindowUpdate, http2.FrameRSTStream, http2.FramePriority:
		return c.control(h)
	case http2.FrameGoAway:
		if h.Length < 8 {
			return c.failf(http2.ErrCodeFrameSize, "client sent GOAWAY frame with incorrect length %d", h.Length)
		}
		if h.StreamID != 0 {
			return c.fail(http2.ErrCodeProtocol, "client sent GOAWAY frame with incorrect identifier")
		}
	}
	if c.count.idled() {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	return c.skip(int(h.Length))
}

// control reads a frame that is about the connection or a stream's state.
func (c *conn) control(h http2.FrameHeader) turn {
	if next := c.checkLength(h); next != goOn {
		return next
	}
	if h.Type == http2.FramePriority {
		if c.count.priorities--; c.count.priorities <= 0 {
			return c.fail(http2.ErrCodeEnhanceYourCalm, "client sent too many PRIORITY frames")
		}
	}
	f, err := c.frames.ReadFrameForHeader(h)
	switch {
	case err == nil:
	case h.Type == http2.FrameWindowUpdate && judged(err):
		return c.noIncrement(h.StreamID)
	case !stays(err):
		return c.broken(h, err)
	}
	if c.count.idled() {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	switch f := f.(type) {
	case *http2.SettingsFrame:
		return c.settings(f)
	case *http2.PingFrame:
		if f.IsAck() {
			return goOn
		}
		return c.reply(func(out []byte) []byte { return h2.AppendPing(out, true, f.Data) })
	case *http2.WindowUpdateFrame:
		return c.windowUpdate(f.StreamID, f.Increment)
	case *http2.RSTStreamFrame:
		return c.reset(f.StreamID, f.ErrCode)
	case *http2.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return c.failf(http2.ErrCodeProtocol, "client sent PRIORITY frame for stream %d with incorrect dependency", f.StreamID)
		}
	}
	return goOn
}

// checkLength refuses lengths that a frame can't have, before its payload is read.
func (c *conn) checkLength(h http2.FrameHeader) turn {
	want := map[http2.FrameType]uint32{http2.FramePing: 8, http2.FrameWindowUpdate: 4, http2.FrameRSTStream: 4, http2.FramePriority: 5}[h.Type]
	switch {
	case h.Type == http2.FrameSettings && h.StreamID != 0:
		return c.fail(http2.ErrCodeProtocol, "client sent SETTINGS frame with incorrect identifier")
	case h.Type == http2.FrameSettings && h.Flags.Has(http2.FlagSettingsAck) && h.Length > 0:
		return c.fail(http2.ErrCodeFrameSize, "client sent SETTINGS frame with the ACK flag and nonzero length")
	case h.Type == http2.FrameSettings && (h.Length%6 != 0 || h.Length > mostControl), want != 0 && h.Length != want:
		return c.failf(http2.ErrCodeFrameSize, "client sent %s frame with incorrect length %d", h.Type, h.Length)
	case (h.Type == http2.FrameRSTStream || h.Type == http2.FramePriority) && h.StreamID == 0, h.Type == http2.FramePing && h.StreamID != 0:
		return c.failf(http2.ErrCodeProtocol, "client sent %s frame with incorrect identifier", h.Type)
	}
	return goOn
}

// stays reports whether an error of a frame is a stream's, and the connection goes on.
func stays(err error) bool {
	var e http2.StreamError
	return errors.As(err, &e)
}

// judged reports whether an error is about a frame that was read.
func judged(err error) bool {
	var e http2.ConnectionError
	return stays(err) || errors.As(err, &e)
}

// broken says what is wrong with a frame that could not be read.
func (c *conn) broken(h http2.FrameHeader, err error) turn {
	var e http2.ConnectionError
	if !errors.As(err, &e) {
		return c.stopped(err)
	}
	switch {
	case h.Type == http2.FrameContinuation && c.block.id == 0:
		return c.fail(http2.ErrCodeProtocol, "client sent unexpected CONTINUATION frame")
	case h.Type == http2.FrameContinuation:
		return c.fail(http2.ErrCodeProtocol, "client sent CONTINUATION frame with incorrect identifier")
	case c.block.id != 0:
		return c.fail(http2.ErrCodeProtocol, "client sent inappropriate frame while CONTINUATION was expected")
	}
	return c.failf(http2.ErrCode(e), "client sent invalid %s frame", h.Type)
}

// reply appends a frame of ours.
func (c *conn) reply(add func(out []byte) []byte) turn {
	c.mu.Lock()
	c.out.buf = add(c.out.buf)
	flooded := len(c.out.buf) > mostUnsent
	c.mu.Unlock()
	if flooded {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	return goOn
}

// settings takes the client's settings.
func (c *conn) settings(f *http2.SettingsFrame) turn {
	if f.IsAck() {
		return goOn
	}
	began, frameSize := c.began, c.frameSize
	for i := range f.NumSettings() {
		s := f.Setting(i)
		if code := h2.CheckSetting(s); code != http2.ErrCodeNo {
			name := map[http2.SettingID]string{http2.SettingInitialWindowSize: "INITIAL_WINDOW_SIZE", http2.SettingMaxFrameSize: "MAX_FRAME_SIZE",
				http2.SettingEnablePush: "ENABLE_PUSH"}[s.ID]
			return c.failf(code, "client sent SETTINGS frame with incorrect %s value %d", name, s.Val)
		}
		switch s.ID {
		case http2.SettingInitialWindowSize:
			began = s.Val
		case http2.SettingMaxFrameSize:
			frameSize = int(s.Val)
		}
	}
	c.mu.Lock()
	was := c.began
	c.began, c.frameSize = began, frameSize
	fits := true
	for _, s := range c.streams {
		fits = s.window.Shift(was, began) && fits
		s.wakeSender()
	}
	c.out.buf = h2.AppendSettingsAck(c.out.buf)
	flooded := len(c.out.buf) > mostUnsent
	c.mu.Unlock()
	switch {
	case !fits:
		return c.fail(http2.ErrCodeFlowControl, "client sent SETTINGS frame with incorrect INITIAL_WINDOW_SIZE value")
	case flooded:
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	return goOn
}

// windowUpdate opens a window.
func (c *conn) windowUpdate(id, n uint32) turn {
	if n == 0 {
		return c.noIncrement(id)
	}
	c.mu.Lock()
	if id == 0 {
		size := c.send.Size()
		if c.send.Add(n) {
			c.grant()
			c.mu.Unlock()
			return goOn
		}
		c.mu.Unlock()
		return c.failf(http2.ErrCodeFlowControl, "client violated connection flow control: received WINDOW_UPDATE frame with window increment %d not allowed for window %d", n, size)
	}
	defer c.mu.Unlock()
	s := c.streams[id]
	if s == nil {
		return goOn
	}
	if size := s.window.Size(); !s.window.Add(n) {
		c.logf(errorlog.Info, "client violated flow control for stream %d: received WINDOW_UPDATE frame with window increment %d not allowed for window %d", id, n, size)
		s.terminate(http2.ErrCodeFlowControl)
		return goOn
	}
	s.wakeSender()
	return goOn
}

// noIncrement deals with a WINDOW_UPDATE that opens nothing: an error of the stream, or of the connection.
func (c *conn) noIncrement(id uint32) turn {
	if id == 0 {
		return c.fail(http2.ErrCodeProtocol, "client sent WINDOW_UPDATE frame with incorrect window increment 0")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.streams[id]; s != nil {
		c.logf(errorlog.Info, "client sent WINDOW_UPDATE frame with incorrect window increment 0")
		s.terminate(http2.ErrCodeProtocol)
	}
	return goOn
}

// reset takes a stream back that the client does without. A client that does so again and again before it is answered only makes
// work (CVE-2023-44487). One whose answer has begun, or did not for long, is no such: calls that stream are ended like that.
func (c *conn) reset(id uint32, code http2.ErrCode) turn {
	c.mu.Lock()
	if id > c.highest || id%2 == 0 {
		c.mu.Unlock()
		return c.fail(http2.ErrCodeProtocol, "client sent RST_STREAM frame with incorrect identifier")
	}
	s := c.streams[id]
	if s == nil || s.gone {
		c.mu.Unlock()
		return goOn
	}
	switch code {
	case http2.ErrCodeCancel:
		c.logf(errorlog.Info, "client canceled stream %d", id)
	case http2.ErrCodeInternal:
		c.logf(errorlog.Info, "client terminated stream %d due to internal error", id)
	default:
		c.logf(errorlog.Info, "client terminated stream %d with status %d", id, uint32(code))
	}
	early := s.answer.headSize == 0 && c.srv.cfg.Now()-s.opened < earlyReset
	s.in.closed, s.answer.closed = true, true
	s.leave()
	s.leaving = true
	c.leaving++
	c.mu.Unlock()
	c.tookBack = true
	if !early {
		return goOn
	}
	if c.count.resets++; c.count.resets > max(resetsPerPlace*c.count.places, leastRefused) {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	return goOn
}

// awaitLeavers gives requests that were taken back a moment to end, so that the one that comes now finds their places free: nginx
// ends them at once.
func (c *conn) awaitLeavers() {
	if !c.tookBack {
		return
	}
	c.tookBack = false
	late := time.NewTimer(leaveTime)
	defer late.Stop()
	for {
		c.mu.Lock()
		n := c.leaving
		c.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-c.left:
			continue
		case <-late.C:
		}
		c.mu.Lock()
		for _, s := range c.streams {
			s.leaving = false
		}
		c.leaving = 0
		c.mu.Unlock()
	}
	c.guard.Reset(graceTime)
}

// skip passes over the rest of a frame.
func (c *conn) skip(n int) turn {
	for n > 0 {
		if len(c.in) == 0 {
			if err := c.fill(); err != nil {
				return c.stopped(err)
			}
		}
		k := min(n, len(c.in))
		c.in = c.in[k:]
		n -= k
	}
	return goOn
}

// data takes a piece of a request's body.
func (c *conn) data(h http2.FrameHeader) turn {
	length, pad := int(h.Length), 0
	if h.StreamID == 0 || h.StreamID%2 == 0 {
		return c.fail(http2.ErrCodeProtocol, "client sent DATA frame with incorrect identifier")
	}
	if h.Flags.Has(http2.FlagDataPadded) {
		if length == 0 {
			return c.fail(http2.ErrCodeFrameSize, "client sent padded DATA frame with incorrect length: 0")
		}
		var b [1]byte
		if _, err := (*input)(c).Read(b[:]); err != nil {
			return c.stopped(err)
		}
		length, pad = length-1, int(b[0])
		if pad > length {
			return c.failf(http2.ErrCodeProtocol, "client sent padded DATA frame with incorrect length: %d, padding: %d", h.Length, pad)
		}
		length -= pad
	}
	taken, next := c.admit(h, length)
	if next != goOn {
		return next
	}
	if taken && (length > 0 || h.Flags.Has(http2.FlagDataEndStream)) {
		c.count.useful(length)
	} else if c.count.idled() {
		return c.flood(http2.ErrCodeEnhanceYourCalm)
	}
	if !taken {
		return c.skip(length + pad)
	}
	for rest := length; rest > 0; {
		if len(c.in) == 0 {
			if err := c.fill(); err != nil {
				return c.stopped(err)
			}
		}
		k := min(rest, len(c.in))
		c.receive(h.StreamID, c.in[:k], false)
		c.in = c.in[k:]
		rest -= k
	}
	if h.Flags.Has(http2.FlagDataEndStream) {
		c.receive(h.StreamID, nil, true)
	}
	return c.skip(pad)
}

// admit checks a DATA frame against flow control and the state of its stream. It reports false for one that is of no use.
func (c *conn) admit(h http2.FrameHeader, length int) (taken bool, next turn) {
	size := int(h.Length)
	c.mu.Lock()
	if !c.inflow.Came(size) {
		c.mu.Unlock()
		return false, c.failf(http2.ErrCodeFlowControl, "client violated connection flow control: received DATA frame length %d", length)
	}
	defer c.mu.Unlock()
	// The windows of streams bound what is kept; the connection's is open.
	if n := c.inflow.Used(size); n > 0 {
		c.out.buf = h2.AppendWindowUpdate(c.out.buf, 0, n)
	}
	s := c.streams[h.StreamID]
	switch {
	case s == nil:
		return false, goOn
	case s.in.closed && !s.answer.closed:
		c.logf(errorlog.Info, "client sent DATA frame for half-closed stream %d", h.StreamID)
		s.terminate(http2.ErrCodeStreamClosed)
		return false, goOn
	case s.in.closed:
		return false, goOn
	case !s.in.flow.Came(size):
		c.logf(errorlog.Info, "client violated flow control for stream %d: received DATA frame length %d", h.StreamID, length)
		s.terminate(http2.ErrCodeFlowControl)
		return false, goOn
	}
	if n := s.in.flow.Used(size - length); n > 0 { // padding
		c.out.buf = h2.AppendWindowUpdate(c.out.buf, h.StreamID, n)
	}
	return true, goOn
}

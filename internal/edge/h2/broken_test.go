package h2

import (
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// Frames that can't be end the connection with nginx's code and nginx's words.
func TestBrokenFrames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		send func(p *peer)
		log  string
	}{
		{"padding of HEADERS", func(p *peer) {
			_ = p.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, 1, append([]byte{200}, 0x82, 0x84, 0x86))
		}, "client sent padded HEADERS frame with incorrect length: 3, padding: 200"},
		{"padding of DATA", func(p *peer) {
			p.open(1, false, get("/slow")...)
			_ = p.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 1})
		}, "client sent padded DATA frame with incorrect length: 2, padding: 9"},
		{"a window opened by nothing", func(p *peer) { _ = p.WriteWindowUpdate(0, 0) },
			"client sent WINDOW_UPDATE frame with incorrect window increment 0"},
		{"PING of a stream", func(p *peer) { _ = p.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8)) },
			"client sent PING frame with incorrect identifier"},
	} {
		s := newSite(t, demo)
		p := s.dial()
		tt.send(p)
		if got := p.goAway(); got != http2.ErrCodeProtocol {
			t.Errorf("%s: GOAWAY %v", tt.name, got)
		}
		eventually(t, "it is logged", func() bool { return s.log.String() != "" })
		if log := s.log.String(); !strings.Contains(log, tt.log+" while processing HTTP/2 connection") {
			t.Errorf("%s: logged %q", tt.name, log)
		}
	}
}

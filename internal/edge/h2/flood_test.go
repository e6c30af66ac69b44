package h2

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/request"
)

// fill writes the same again and again, as long as the other side takes it.
func (p *peer) fill(n int, write func(i int) error) {
	for i := range n {
		if write(i) != nil {
			return
		}
	}
}

// Whatever a client does to no purpose ends: with GOAWAY, and with one line in the log.
func TestFloodsEnd(t *testing.T) {
	bomb := func(p *peer) {
		p.buf.Reset()
		_ = p.enc.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("a", 4000)})
		b := append(p.block(get("/")...), p.buf.Bytes()...)
		for range 5000 {
			b = append(b, 0x80|62) // the same once more, for one byte
		}
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: b, EndStream: true, EndHeaders: true})
	}
	const calm = http2.ErrCodeEnhanceYourCalm
	for _, tt := range []struct {
		name string
		send func(p *peer)
		log  string
	}{
		{"rapid reset", func(p *peer) {
			p.fill(2000, func(i int) error {
				id := uint32(2*i + 1)
				p.open(id, true, get("/slow")...)
				return p.WriteRSTStream(id, http2.ErrCodeCancel)
			})
		}, "http2 flood detected|client sent too many refused streams"},
		{"PING", func(p *peer) { p.fill(20000, func(int) error { return p.WritePing(false, [8]byte{}) }) }, "http2 flood detected"},
		{"SETTINGS", func(p *peer) { p.fill(20000, func(int) error { return p.WriteSettings() }) }, "http2 flood detected"},
		{"PRIORITY", func(p *peer) {
			p.fill(20000, func(int) error { return p.WritePriority(3, http2.PriorityParam{StreamDep: 1}) })
		}, "client sent too many PRIORITY frames"},
		{"empty DATA", func(p *peer) {
			p.open(1, false, get("/echo")...)
			p.fill(20000, func(int) error { return p.WriteData(1, false, nil) })
		}, "http2 flood detected"},
		{"unknown frames", func(p *peer) {
			p.fill(20000, func(int) error { return p.WriteRawFrame(0xbe, 0, 0, nil) })
		}, "http2 flood detected"},
		{"CONTINUATION", func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(get("/")...)})
			p.fill(20000, func(int) error { return p.WriteContinuation(1, false, nil) })
		}, "http2 flood detected"},
		{"long CONTINUATION", func(p *peer) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(get("/")...)})
			p.fill(200, func(int) error { return p.WriteContinuation(1, false, p.block("x", strings.Repeat("b", 1000))) })
		}, "client sent too large header"},
		{"bomb", bomb, "client sent too large header"},
		{"large field", func(p *peer) { p.open(1, true, append(get("/"), "x", strings.Repeat("b", 20000))...) }, "client sent too large header field"},
		{"streams beyond the bound", func(p *peer) {
			p.fill(5000, func(i int) error { p.open(uint32(2*i+1), true, get("/slow")...); return nil })
		}, "client sent too many refused streams"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, demo)
			p := s.dial()
			sent := make(chan struct{})
			go func() { defer close(sent); tt.send(p) }()
			if got := p.goAway(); got != calm {
				t.Errorf("GOAWAY %v", got)
			}
			p.nc.Close()
			<-sent
			log := s.log.String()
			if n := regexp.MustCompile(tt.log).FindAllString(log, -1); len(n) != 1 {
				t.Errorf("logged …%q, want once %q", log[max(0, len(log)-400):], tt.log)
			}
		})
	}
}

func TestFieldWithoutName(t *testing.T) {
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, true, append(get("/"), "", "x")...)
	if got := p.goAway(); got != http2.ErrCodeProtocol {
		t.Errorf("GOAWAY %v", got)
	}
	if log := s.log.String(); !strings.Contains(log, "client sent zero header name length") {
		t.Errorf("logged %q", log)
	}
}

// A client that opens its window by nothing keeps a request only as long as send_timeout says, and no other.
func TestClosedWindowEnds(t *testing.T) {
	s := newSite(t, demo, func(s *site) { s.settings.SendTimeout = 50e6 })
	p := s.dial()
	_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	p.open(1, true, get("/large?100")...)
	if got := p.status(1); got != 200 {
		t.Errorf("the head: %d", got)
	}
	if got := p.status(1); got != -int(http2.ErrCodeProtocol) {
		t.Errorf("the end: %d", got)
	}
	if log := s.log.String(); !strings.Contains(log, "client timed out (110: Connection timed out) while sending to client") {
		t.Errorf("logged %q", log)
	}
}

// Unread bytes of bodies stay below the window that was told.
func TestUnreadBodiesAreBounded(t *testing.T) {
	s := newSite(t, func(r *request.Request) {
		if !r.Stream.Sleep(1e10) {
			r.Leave(499)
		}
	})
	p := s.dial()
	p.open(1, false, get("/")...)
	p.fill(5, func(int) error { return p.WriteData(1, false, make([]byte, 16<<10)) })
	if got := p.status(1); got != -int(http2.ErrCodeFlowControl) {
		t.Errorf("81920 bytes into a window of 65536: %d", got)
	}
}

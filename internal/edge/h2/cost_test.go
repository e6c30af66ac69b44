package h2

import (
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// A usual request is served without garbage, but for what the frame's own reader makes.
func TestAllocsOfARequest(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	text, contentType := []byte("hello"), []byte("text/plain")
	s := newSite(t, func(r *request.Request) {
		_ = r.Answer(200, contentType, text)
		_ = r.Finish()
	})
	p := s.dial()
	p.until("the settings' answer", func(f http2.Frame) bool {
		return f.Header().Type == http2.FrameSettings && f.Header().Flags.Has(http2.FlagSettingsAck)
	})
	// As many requests in one write as one read may take, all the same bytes but for their number.
	const n = 100
	var id uint32 = 1
	p.open(id, true, get("/")...)
	id += 2
	block := p.block(get("/")...) // all of it is in the table
	var out []byte
	batch := func() {
		out = out[:0]
		for range n {
			out = append(out, 0, 0, byte(len(block)), byte(http2.FrameHeaders), byte(http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream),
				byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
			out = append(out, block...)
			id += 2
		}
		want := s.served.Load() + n
		if _, err := p.nc.Write(out); err != nil {
			t.Fatal(err)
		}
		for i := 0; s.served.Load() < want; i++ {
			if i == 5000 {
				t.Fatalf("%d requests of %d were served", s.served.Load(), want)
			}
			time.Sleep(time.Millisecond)
		}
		drainPending(p.nc)
	}
	for range 5 {
		batch()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		batch()
	}
	runtime.ReadMemStats(&after)
	if per := float64(after.Mallocs-before.Mallocs) / (20 * n); per > 0.5 {
		t.Errorf("%.2f allocations a request, want less than one in two", per)
	}
}

// drainPending reads what is there.
func drainPending(nc net.Conn) {
	var b [1 << 16]byte
	_ = nc.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	for {
		if _, err := nc.Read(b[:]); err != nil {
			return
		}
	}
}

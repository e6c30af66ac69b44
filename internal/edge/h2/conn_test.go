package h2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/request"
)

func TestUsualClient(t *testing.T) {
	s := newSite(t, demo)
	c := s.client()
	large := strings.Repeat("0123456789", 100000)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/a?b=c", "", 200, "GET /a?b=c of 127.0.0.1"},
		{"HEAD", "/a", "", 200, ""},
		{"POST", "/echo", "some text", 200, "some text"},
		{"POST", "/echo", large, 200, large},
		{"POST", "/ignored", large, 200, "POST /ignored of 127.0.0.1"},
		{"GET", "/204", "", 204, ""},
		{"GET", "/pieces?3", "", 200, "piece 0\npiece 1\npiece 2\n"},
		{"GET", "/large?1000000", "", 200, strings.Repeat("0123456789abcdef", 62500)},
	} {
		r, _ := http.NewRequest(tt.method, s.url(tt.path), strings.NewReader(tt.body))
		resp, err := c.Do(r)
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
			continue
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(b) != tt.want {
			t.Errorf("%s %s: %d, %d bytes, %v", tt.method, tt.path, resp.StatusCode, len(b), err)
		}
		if tt.path == "/pieces?3" && resp.Trailer.Get("X-Sum") != "3" {
			t.Errorf("trailers: %v", resp.Trailer)
		}
	}
	if n := s.serial.Load(); n != 1 {
		t.Errorf("%d connections; log %s", n, s.log.String())
	}
}

func TestStreamsDoNotHoldUpEachOther(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newSite(t, demo)
	c := s.client()
	ctx, cancel := context.WithCancel(context.Background())
	var slow sync.WaitGroup
	for range 20 {
		slow.Add(1)
		go func() {
			defer slow.Done()
			r, _ := http.NewRequestWithContext(ctx, "GET", s.url("/slow"), nil)
			if resp, err := c.Do(r); err == nil {
				resp.Body.Close()
				t.Errorf("a delayed request was answered: %d", resp.StatusCode)
			}
		}()
	}
	var fast sync.WaitGroup
	for i := range 50 {
		fast.Add(1)
		go func() {
			defer fast.Done()
			body := strings.Repeat(fmt.Sprint(i), 20000)
			resp, err := c.Post(s.url("/echo"), "text/plain", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if b, err := io.ReadAll(resp.Body); err != nil || string(b) != body {
				t.Errorf("%d bytes of %d: %v", len(b), len(body), err)
			}
		}()
	}
	fast.Wait()
	if n := s.under.Load(); n != 20 {
		t.Errorf("%d requests are under way, want the 20 delayed", n)
	}
	cancel() // RST_STREAM for each
	slow.Wait()
	for i := 0; s.under.Load() > 0; i++ {
		if i == 500 {
			t.Fatalf("%d requests still hold their place", s.under.Load())
		}
		time.Sleep(time.Millisecond)
	}
	c.CloseIdleConnections()
	s.close()
	settled(t, before)
}

func TestHeadsAreJudged(t *testing.T) {
	s := newSite(t, demo)
	for _, tt := range []struct {
		name   string
		fields []string
		status int
		log    string
	}{
		{"fine", get("/"), 200, ""},
		{"cookies", append(get("/"), "cookie", "a=b", "cookie", "c=d"), 200, ""},
		{"no method", []string{":scheme", "http", ":path", "/", ":authority", "a"}, 400, `client sent no :method header`},
		{"no scheme", []string{":method", "GET", ":path", "/", ":authority", "a"}, 400, `client sent no :scheme header`},
		{"odd scheme", []string{":method", "GET", ":scheme", "http://x", ":path", "/", ":authority", "a"}, 400, `client sent invalid :scheme header: "http://x"`},
		{"scheme of a digit", []string{":method", "GET", ":scheme", "1h", ":path", "/", ":authority", "a"}, 400, `client sent invalid :scheme header: "1h"`},
		{"empty scheme", []string{":method", "GET", ":scheme", "", ":path", "/", ":authority", "a"}, 400, `client sent empty :scheme header`},
		{"other scheme", []string{":method", "GET", ":scheme", "x+y-1.z", ":path", "/", ":authority", "a"}, 200, ""},
		{"no path", []string{":method", "GET", ":scheme", "http", ":authority", "a"}, 400, `client sent no :path header`},
		{"no host", []string{":method", "GET", ":scheme", "http", ":path", "/"}, 400, `client sent neither ":authority" nor "Host" header`},
		{"only host", []string{":method", "GET", ":scheme", "http", ":path", "/", "host", "a"}, 200, ""},
		{"empty authority", []string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", ""}, 400, `client sent invalid host header`},
		{"equal hosts", append(get("/"), "host", "example.com"), 200, ""},
		{"other host", append(get("/"), "host", "example.org"), 400, `client sent ":authority" and "Host" headers with different values`},
		{"twice a path", append(get("/"), ":path", "/b"), 400, `client sent duplicate :path header`},
		{"unknown pseudo", append(get("/"), ":foo", "x"), 400, `client sent unknown pseudo-header ":foo"`},
		{"late pseudo", append([]string{"a", "b"}, get("/")...), 400, `client sent pseudo-header ":method" after regular headers`},
		{"upper case", append(get("/"), "X-Foo", "x"), 400, `client sent invalid header name: "X-Foo"`},
		{"newline in value", append(get("/"), "x", "a\r\nb: c"), 400, `client sent header "x" with invalid value`},
		{"zero in value", append(get("/"), "x", "a\x00"), 400, `client sent header "x" with invalid value`},
		{"newline in name", append(get("/"), "x\ny", "a"), 400, `client sent invalid header name`},
		{"odd name", append(get("/"), "x_y", "a"), 200, `client sent invalid header: "x_y"`},
		{"transfer encoding", append(get("/"), "transfer-encoding", "chunked"), 400, `client sent HTTP/2 request with "Transfer-Encoding" header`},
		{"connection", append(get("/"), "connection", "upgrade", "upgrade", "websocket"), 200, ""},
		{"relative path", get("a"), 400, `client sent invalid :path header: "a"`},
		{"control in path", get("/a\x02"), 400, `client sent invalid :path header`},
		{"space in path", get("/a b"), 400, `client sent invalid :path header`},
		{"climbing path", get("/../a"), 400, `client sent invalid :path header`},
		{"connect", []string{":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "a"}, 405, `client sent CONNECT method`},
		{"trace", []string{":method", "TRACE", ":scheme", "http", ":path", "/", ":authority", "a"}, 405, `client sent TRACE method`},
		{"odd method", []string{":method", "G T", ":scheme", "http", ":path", "/", ":authority", "a"}, 400, `client sent invalid method: "G T"`},
		{"too many lines", append(get("/"), slices.Repeat([]string{"a", ""}, mostLines+1)...), 400, `client sent too many header lines while reading client request headers`},
		{"length without body", append(get("/"), "content-length", "5"), 400, `client prematurely closed stream`},
		{"bad length", append(get("/"), "content-length", "5x"), 400, `client sent invalid "Content-Length" header`},
		{"two lengths", append(get("/"), "content-length", "0", "content-length", "0"), 400, `client sent duplicate header line`},
	} {
		p := s.dial()
		before := len(s.log.String())
		p.open(1, true, tt.fields...)
		if got := p.status(1); got != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.status)
		}
		if got := s.log.String()[before:]; !strings.Contains(got, tt.log) || tt.log == "" && tt.status == 200 && got != "" {
			t.Errorf("%s: logged %q, want %q", tt.name, got, tt.log)
		}
		// The connection goes on.
		p.open(3, true, get("/next")...)
		if got := p.status(3); got != 200 {
			t.Errorf("%s: the next request got %d", tt.name, got)
		}
		p.nc.Close()
	}
}

func TestWhatArrivesOfAHead(t *testing.T) {
	var got string
	s := newSite(t, func(r *request.Request) {
		var b strings.Builder
		fmt.Fprintf(&b, "%s | %s | %s | %s |", r.Line, r.URI, r.Args, r.Host)
		for _, h := range r.Headers {
			fmt.Fprintf(&b, " %s: %s;", h.Name, h.Value)
		}
		got = b.String()
		answerText(r, 200, "")
	})
	p := s.dial()
	p.open(1, true, ":method", "GET", ":scheme", "http", ":path", "/a/../b//%41?x=1", ":authority", "EXAMPLE.com:8080",
		"x-a", " padded ", "cookie", "a=b", "te", "trailers", "keep-alive", "5", "cookie", "c=d")
	p.status(1)
	want := "GET /a/../b//%41?x=1 HTTP/2.0 | /b/A | x=1 | example.com | host: EXAMPLE.com:8080; x-a: padded; te: trailers; cookie: a=b; c=d;"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBodiesAreHeldToTheirLength(t *testing.T) {
	s := newSite(t, demo)
	for _, tt := range []struct {
		name, length string
		pieces       []string
		status       int
	}{
		{"as declared", "5", []string{"abc", "de"}, 200},
		{"not declared", "", []string{"abc", "de"}, 200},
		{"too short", "6", []string{"abc", "de"}, 400},
		{"too long", "4", []string{"abc", "de"}, 400},
		{"empty", "", []string{""}, 200},
	} {
		p := s.dial()
		fields := append([]string{":method", "POST"}, get("/echo")[2:]...)
		if tt.length != "" {
			fields = append(fields, "content-length", tt.length)
		}
		p.open(1, false, fields...)
		for i, piece := range tt.pieces {
			_ = p.WriteDataPadded(1, i == len(tt.pieces)-1, []byte(piece), make([]byte, 7))
		}
		if got := p.status(1); got != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.status)
		}
		p.nc.Close()
	}
}

func TestWindowsHoldBodiesBack(t *testing.T) {
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, true, get("/large?100000")...)
	sum := 0
	count := func(f http2.Frame) {
		if d, ok := f.(*http2.DataFrame); ok {
			sum += len(d.Data())
		}
	}
	p.until("65535 bytes", func(f http2.Frame) bool { count(f); return sum == 65535 })
	_ = p.WritePing(false, [8]byte{1})
	p.until("the PING's answer", func(f http2.Frame) bool { count(f); return f.Header().Type == http2.FramePing })
	_ = p.WriteWindowUpdate(1, 1<<20) // the connection's is closed still
	_ = p.WritePing(false, [8]byte{2})
	p.until("the PING's answer", func(f http2.Frame) bool { count(f); return f.Header().Type == http2.FramePing })
	if sum != 65535 {
		t.Errorf("%d bytes went through a closed window", sum)
	}
	_ = p.WriteWindowUpdate(0, 1<<20)
	p.until("the end", func(f http2.Frame) bool {
		count(f)
		return f.Header().Type == http2.FrameData && f.Header().Flags.Has(http2.FlagDataEndStream)
	})
	if sum != 100000 {
		t.Errorf("%d bytes came, want 100000", sum)
	}
}

func TestSilenceAndPanicsEndAStream(t *testing.T) {
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, true, get("/silent")...)
	if got := p.status(1); got != -int(http2.ErrCodeProtocol) {
		t.Errorf("silence: %d", got)
	}
	p.open(3, true, get("/panic")...)
	if got := p.status(3); got != -int(http2.ErrCodeInternal) {
		t.Errorf("a panic: %d", got)
	}
	p.open(5, true, get("/")...)
	if got := p.status(5); got != 200 {
		t.Errorf("the next request got %d", got)
	}
	if log := s.log.String(); !strings.Contains(log, "panic while serving a request: boom") {
		t.Errorf("logged %q", log)
	}
}

func TestDrainLetsStreamsFinish(t *testing.T) {
	release := make(chan struct{})
	s := newSite(t, func(r *request.Request) {
		if string(r.URI) == "/wait" {
			r.Stream.Await(nothing{})
			<-release
			r.Stream.Await(nil)
		}
		answerText(r, 200, "")
	})
	p := s.dial()
	p.open(1, true, get("/")...)
	p.status(1)
	p.open(3, true, get("/wait")...)
	for s.under.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	s.taken[0].Drain()
	f := p.until("GOAWAY", func(f http2.Frame) bool { return f.Header().Type == http2.FrameGoAway }).(*http2.GoAwayFrame)
	if f.LastStreamID != 3 || f.ErrCode != http2.ErrCodeNo {
		t.Errorf("GOAWAY %v of %d", f.ErrCode, f.LastStreamID)
	}
	p.open(5, true, get("/")...) // is not looked at
	close(release)
	if got := p.status(3); got != 200 {
		t.Errorf("the request under way got %d", got)
	}
	if rest, err := io.ReadAll(p.nc); len(bytes.TrimLeft(rest, "\x00")) > 0 && err != nil {
		t.Errorf("the connection went on: %q, %v", rest, err)
	}
}

type nothing struct{}

func (nothing) Cancel() {}

// A client that waits to be told to send its body is told, when somebody asks for it.
func TestContinue(t *testing.T) {
	s := newSite(t, demo)
	p := s.dial()
	p.open(1, false, append([]string{":method", "POST"}, append(get("/echo")[2:], "expect", "100-continue")...)...)
	if got := p.status(1); got != 100 {
		t.Errorf("got %d first", got)
	}
	_ = p.WriteData(1, true, []byte("text"))
	if got := p.status(1); got != 200 {
		t.Errorf("got %d then", got)
	}
}

// What is not a preface ends the connection, and so does a client that says nothing.
func TestConnectionsThatSayNothing(t *testing.T) {
	s := newSite(t, demo, func(s *site) { s.head.HeaderTimeout, s.head.KeepaliveIdle = 50e6, 50e6 })
	p := s.dial()
	if got := p.goAway(); got != http2.ErrCodeNo {
		t.Errorf("an idle connection ended with %v", got)
	}
	p = s.dial()
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block(get("/")...)})
	if got := p.status(1); got != -int(http2.ErrCodeProtocol) {
		t.Errorf("half a head: %d", got)
	}
	if got := p.goAway(); got != http2.ErrCodeProtocol {
		t.Errorf("half a head ended with %v", got)
	}
}

// A limit_rate of one stream, or a client that takes nothing of one, leaves the others alone.
func TestQueueTakesTurns(t *testing.T) {
	s := newSite(t, demo)
	p := s.dial()
	_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24})
	p.open(1, true, get("/large?3000000")...)
	p.open(3, true, get("/large?300000")...)
	got := map[uint32]int{}
	p.until("the end of the smaller", func(f http2.Frame) bool {
		if d, ok := f.(*http2.DataFrame); ok {
			got[d.StreamID] += len(d.Data())
			_ = p.WriteWindowUpdate(0, uint32(max(1, len(d.Data()))))
		}
		return f.Header().StreamID == 3 && f.Header().Flags.Has(http2.FlagDataEndStream) && f.Header().Type == http2.FrameData
	})
	if got[1] > 2000000 {
		t.Errorf("the smaller answer ended behind %d bytes of the larger", got[1])
	}
}

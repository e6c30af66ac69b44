package upstream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/limitgate/limitgate/internal/grpctest"
	"github.com/limitgate/limitgate/internal/h2"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

// says is a backend that reads a head and says frames. ID in what it says is not needed: it is asked once a connection.
func says(t *testing.T, frames ...[]byte) *backend {
	t.Helper()
	return listen(t, func(c net.Conn, _ int) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(c, c)
		_ = f.WriteSettings()
		for {
			got, err := f.ReadFrame()
			if err != nil {
				return
			}
			if got.Header().Type == http2.FrameHeaders {
				break
			}
		}
		for i, b := range frames {
			if i > 0 {
				time.Sleep(20 * time.Millisecond) // or what follows may spoil the head
			}
			_, _ = c.Write(b)
		}
		for { // until the gateway has closed: it is to see what was said first
			if _, err := f.ReadFrame(); err != nil {
				return
			}
		}
	})
}

// said is a head as a frame; end ends the stream.
func said(end bool, fields ...string) []byte {
	b := h2.AppendStatus(nil, 200)
	for i := 0; i < len(fields); i += 2 {
		b = h2.AppendField(b, 0, fields[i], []byte(fields[i+1]))
	}
	return h2.AppendBlock(nil, b, 1, end, 1<<14)
}

// A server that says it has not begun with a call has not: the next one is asked, if the body is still here.
func TestACallThatWasNotBegunWith(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	for _, c := range []struct {
		name   string
		frame  []byte
		status string
		log    string
	}{
		{"GOAWAY", h2.AppendGoAway(nil, 0, http2.ErrCodeNo), "200 \n", "error: upstream sent goaway with error 0 while reading response header from upstream\n"},
		{"REFUSED_STREAM", h2.AppendReset(nil, 1, http2.ErrCodeRefusedStream), "200 \n", "error: upstream rejected request with error 7 while reading response header from upstream\n"},
		{"another reset", h2.AppendReset(nil, 1, http2.ErrCodeInternal), "", "error: upstream rejected request with error 2 while reading response header from upstream\n"},
	} {
		g := open(t, "upstream u { server "+says(t, c.frame).addr+" max_fails=0; server "+s.Addr+" backup; }"+calling("u"), "/")
		call := caller{g, t}
		r, client, _ := call.call(grpctest.Unary, "", message("x"))
		if head := client.Head(); !strings.HasPrefix(head, c.status) || c.status == "" && (head != "" || r.Response.Status != 502) {
			t.Errorf("%s: head %q, status %d", c.name, head, r.Response.Status)
		}
		if got := g.log.Messages(); got != c.log {
			t.Errorf("%s: log %q, want %q", c.name, got, c.log)
		}
		streamed := &phasetest.Client{Pieces: make(chan []byte)}
		close(streamed.Pieces)
		if r, _, next := call.with(streamed, grpctest.Unary, ""); next != phase.Fail || r.Response.Status != 502 {
			t.Errorf("%s, with a body that is on its way: next %v, status %d", c.name, next, r.Response.Status)
		}
	}
}

// What an upstream does wrong, before its answer has begun and behind that.
func TestACallsFaults(t *testing.T) {
	t.Parallel()
	const reading, behind = " while reading response header from upstream\n", " while reading upstream\n"
	data := append(h2.AppendHeader(nil, 4, http2.FrameData, http2.FlagDataEndStream, 1), "data"...)
	for _, c := range []struct {
		name   string
		frames [][]byte
		status int
		silent bool
		log    string
	}{
		{"a length that is none", [][]byte{said(false, "content-length", "x")}, 502, false, "error: upstream sent invalid \"Content-Length\" header: \"content-length: x\"" + reading},
		{"a value of two lines", [][]byte{said(true, "a", "b\nc")}, 502, false, "error: upstream sent invalid header: \"a: b\\x0ac\"" + reading + "error: upstream sent invalid header" + reading},
		{"a window of nothing", [][]byte{h2.AppendWindowUpdate(nil, 0, 0)}, 502, false, "error: upstream sent zero window update" + reading},
		{"a head that is too large", [][]byte{said(true, "a", strings.Repeat("b", 5000))}, 502, false, "error: upstream sent too large http2 header" + reading + "error: upstream sent invalid header" + reading},
		{"a body that is too long", [][]byte{said(false, "content-length", "3"), data}, 200, true, "error: upstream sent response body larger than indicated content length" + behind},
		{"a body that is too short", [][]byte{said(false, "content-length", "5"), data}, 200, true, "error: upstream prematurely closed stream" + behind},
		{"a reset within the body", [][]byte{said(false), h2.AppendReset(nil, 1, http2.ErrCodeCancel)}, 200, true, "error: upstream rejected request with error 8" + behind},
		{"silence", nil, 504, false, "error: upstream timed out (110: Connection timed out)" + reading},
		{"silence behind the head", [][]byte{said(false)}, 200, true, "error: upstream timed out (110: Connection timed out)" + behind},
	} {
		g := open(t, calling(says(t, c.frames...).addr, "grpc_read_timeout 100ms;"), "/")
		r, _, next := caller{g, t}.call("/a", "")
		if r.Response.Status != c.status || r.Response.Silent != c.silent || (next == phase.Done) != c.silent {
			t.Errorf("%s: next %v, status %d, silent %v", c.name, next, r.Response.Status, r.Response.Silent)
		}
		if got := g.log.Messages(); got != c.log {
			t.Errorf("%s: log %q, want %q", c.name, got, c.log)
		}
	}
}

// A connection carries one call behind the other, and none that its server has left.
func TestKeptCalls(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	g := open(t, "upstream u { server "+s.Addr+"; keepalive 1; }"+calling("u"), "/")
	c := caller{g, t}
	for range 3 {
		if _, client, next := c.call(grpctest.Unary, "", message("x")); next != phase.Done || client.Body() != string(message("x")) {
			t.Fatalf("next %v, body %q, log %s", next, client.Body(), g.log.Messages())
		}
	}
	idle := g.set.groups["u"].idle
	if n := len(idle.conns); n != 1 || idle.conns[0].used != 3 {
		t.Errorf("%d kept", n)
	}
	// An answer before the end of the request leaves a stream that is open: it is cancelled, and the connection kept.
	early := &phasetest.Client{Pieces: make(chan []byte)}
	if _, client, next := c.with(early, grpctest.Chat, "Fail-With: Aborted\r\n"); next != phase.Done || !strings.Contains(client.Head(), "grpc-status: 10") {
		t.Errorf("next %v, head %q, log %s", next, client.Head(), g.log.Messages())
	}
	if n := len(idle.conns); n != 1 || idle.conns[0].used != 4 {
		t.Errorf("%d kept after an early answer", n)
	}
	s.Stop()
	if r, _, next := c.call(grpctest.Unary, "", message("x")); next != phase.Fail || r.Response.Status != 502 || !strings.Contains(g.log.Messages(), "connect() failed (111: Connection refused) while connecting to upstream") {
		t.Errorf("next %v, status %d, log %s", next, r.Response.Status, g.log.Messages())
	}
}

// Fields of a call: what is set, what is hidden, what a connection of HTTP/1 alone has.
func TestFieldsOfACall(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	c := caller{open(t, calling(s.Addr, `grpc_set_header X-Set "a$http_x_in"; grpc_set_header X-None ""; grpc_set_header X-Hidden $arg_none;`), "/"), t}
	c.call(grpctest.Unary, "X-In: 1\r\nX-Set: client\r\nX-None: client\r\nX-Hidden: client\r\nConnection: keep-alive\r\nKeep-Alive: 1\r\nProxy-Connection: x\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nX-Kept-Bin: AA\r\n", message("x"))
	md := s.Metadata()
	for _, name := range []string{"x-none", "x-hidden", "connection", "keep-alive", "proxy-connection", "upgrade", "http2-settings", "transfer-encoding", "host"} {
		if v := md.Get(name); len(v) > 0 {
			t.Errorf("%s: %q", name, v)
		}
	}
	if md.Get("x-set")[0] != "a1" || md.Get("x-kept-bin")[0] != "\x00" || md.Get("content-type")[0] != "application/grpc" {
		t.Errorf("got %v", md)
	}
}

package h2link

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/limitgate/limitgate/internal/h2"
)

// peer is the other end of a link, frame by frame.
type peer struct {
	*http2.Framer
	t  *testing.T
	nc net.Conn
}

// pair returns a link and its peer, which has read the preface already where a stream has begun.
func pair(t *testing.T) (*Link, *peer) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = far.SetDeadline(time.Now().Add(10 * time.Second))
	l := New(near)
	t.Cleanup(func() { l.Close(); far.Close() })
	return l, &peer{http2.NewFramer(far, far), t, far}
}

func (p *peer) preface() {
	p.t.Helper()
	b := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(p.nc, b); err != nil || string(b) != http2.ClientPreface {
		p.t.Fatalf("preface %q, error %v", b, err)
	}
	p.next(http2.FrameSettings)
	p.next(http2.FrameWindowUpdate)
}

// next reads a frame, which must be of a type.
func (p *peer) next(want http2.FrameType) http2.Frame {
	p.t.Helper()
	f, err := p.ReadFrame()
	if err != nil {
		p.t.Fatalf("waiting for %v: %v", want, err)
	}
	if f.Header().Type != want {
		p.t.Fatalf("got %v, want %v", f, want)
	}
	return f
}

// encoded encodes fields: name, value, name, value.
func encoded(fields ...string) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		b = h2.AppendField(b, 0, fields[i], []byte(fields[i+1]))
	}
	return b
}

// raw writes a frame as it is.
func (p *peer) raw(t http2.FrameType, flags http2.Flags, stream uint32, payload string) {
	_, _ = p.nc.Write(append(h2.AppendHeader(nil, len(payload), t, flags, stream), payload...)) // a link that gave up has closed
}

func stays() bool { return false }

const soon = 5 * time.Second

var post = encoded(":method", "POST")

func start(t *testing.T, l *Link, body string, whole bool) int {
	t.Helper()
	n, err := l.Start(Begin{Block: post, Body: []byte(body), Whole: whole, Room: 4096, Limit: soon})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A whole stream, and a second one on the same connection.
func TestStreams(t *testing.T) {
	t.Parallel()
	l, p := pair(t)
	for id := uint32(1); id <= 3; id += 2 {
		if !l.Usable() {
			t.Fatal("not usable")
		}
		start(t, l, "body", true)
		if id == 1 {
			p.preface()
		}
		if h := p.next(http2.FrameHeaders).(*http2.HeadersFrame); h.StreamID != id || h.StreamEnded() || !h.HeadersEnded() {
			t.Errorf("head: %v", h)
		}
		if d := p.next(http2.FrameData).(*http2.DataFrame); string(d.Data()) != "body" || !d.StreamEnded() {
			t.Errorf("data: %v", d)
		}
		p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, string(encoded(":status", "200", "a", "b")))
		h, err := l.Head(soon, stays)
		if err != nil || h.Status != 200 || len(h.Fields) != 1 || h.Fields[0].Value != "b" || h.End {
			t.Fatalf("head %v, error %v", h, err)
		}
		p.raw(http2.FrameData, http2.FlagDataPadded, id, "\x02onepp")
		b, err := l.Data(soon, stays)
		if string(b) != "one" || err != nil {
			t.Fatalf("data %q, error %v", b, err)
		}
		p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, id, string(encoded("grpc-status", "0")))
		if _, err = l.Data(soon, stays); !errors.Is(err, io.EOF) {
			t.Fatalf("end: %v", err)
		}
		if tr := l.Trailers(); len(tr) != 1 || tr[0].Name != "grpc-status" {
			t.Errorf("trailers: %v", tr)
		}
		if !l.End() {
			t.Fatal("the connection is not kept")
		}
	}
	p.raw(http2.FramePing, 0, 0, "12345678") // also where no stream is open
	if f := p.next(http2.FramePing).(*http2.PingFrame); !f.IsAck() || string(f.Data[:]) != "12345678" {
		t.Errorf("ping: %v", f)
	}
	p.raw(http2.FrameGoAway, 0, 0, "\x00\x00\x00\x03\x00\x00\x00\x00")
	for end := time.Now().Add(soon); l.Usable(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("usable after GOAWAY")
		}
	}
	var f *Fault
	if _, err := l.Start(Begin{Block: post, Limit: soon}); !errors.As(err, &f) || !f.Unprocessed {
		t.Errorf("start after GOAWAY: %v", err)
	}
}

// What the peer takes is what goes out, on the stream and on the connection, however it changes its mind.
func TestWindows(t *testing.T) {
	t.Parallel()
	l, p := pair(t)
	body := strings.Repeat("x", 65_535+20)
	if n := start(t, l, body, true); n != 65_535 {
		t.Fatalf("sent %d with the head", n)
	}
	p.preface()
	p.next(http2.FrameHeaders)
	for n := 0; n < 65_535; {
		n += int(p.next(http2.FrameData).Header().Length)
	}
	done := make(chan error, 1)
	// Owned by the test: ends with the body.
	go func() { done <- l.Write([]byte(body[65_535:]), true, soon, stays) }()
	p.raw(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x0a")
	p.raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x0b")
	if d := p.next(http2.FrameData).(*http2.DataFrame); d.Length != 10 || d.StreamEnded() {
		t.Errorf("the connection lets 10: %v", d)
	}
	p.raw(http2.FrameWindowUpdate, 0, 0, "\x00\x01\x00\x00")
	if d := p.next(http2.FrameData).(*http2.DataFrame); d.Length != 1 || d.StreamEnded() {
		t.Errorf("the stream lets 1: %v", d)
	}
	p.raw(http2.FrameSettings, 0, 0, "\x00\x04\x00\x00\xff\xfe") // one less
	p.next(http2.FrameSettings)
	p.raw(http2.FrameWindowUpdate, 0, 1, "\x00\x00\x00\x0a")
	if d := p.next(http2.FrameData).(*http2.DataFrame); d.Length != 9 || !d.StreamEnded() {
		t.Errorf("the rest: %v", d)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A peer sends as far as it was let, and goes on when what it sent was taken; meanwhile its PING is answered.
func TestWhatIsNotTakenIsNotSent(t *testing.T) {
	t.Parallel()
	l, p := pair(t)
	start(t, l, "", true)
	p.preface()
	p.next(http2.FrameHeaders)
	p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, string(encoded(":status", "200")))
	piece := strings.Repeat("x", maxFrame)
	for range streamWindow / maxFrame {
		p.raw(http2.FrameData, 0, 1, piece)
	}
	p.raw(http2.FramePing, 0, 0, "12345678")
	p.next(http2.FramePing)
	n := 0
	for n < streamWindow {
		b, err := l.Data(soon, stays)
		if err != nil {
			t.Fatal(err)
		}
		n += len(b)
	}
	p.raw(http2.FramePing, 0, 0, "12345678") // nothing more came by itself
	if _, err := l.Data(time.Millisecond, stays); !errors.Is(err, ErrTimeout) {
		t.Errorf("an empty window: %v", err)
	}
	if w := p.next(http2.FrameWindowUpdate).(*http2.WindowUpdateFrame); w.StreamID != 1 || w.Increment < streamWindow/4 {
		t.Errorf("got %v", w)
	}
}

// What a peer does wrong is said in nginx's words.
func TestFaults(t *testing.T) {
	t.Parallel()
	ok := string(encoded(":status", "200"))
	const endHead = http2.FlagHeadersEndHeaders
	type frame struct {
		t      http2.FrameType
		flags  http2.Flags
		stream uint32
		p      string
	}
	head := frame{http2.FrameHeaders, endHead, 1, ok}
	fields := func(f ...string) frame { return frame{http2.FrameHeaders, endHead, 1, string(encoded(f...))} }
	for _, c := range []struct {
		frames       []frame
		log, detail  string
		notProcessed bool
	}{
		{[]frame{{http2.FrameData, 0, 1, "x"}}, "upstream sent unexpected http2 frame: 0", "", false},
		{[]frame{{http2.FrameContinuation, 0, 1, "x"}}, "upstream sent unexpected http2 frame: 9", "", false},
		{[]frame{{http2.FrameHeaders, 0, 1, ok}, {http2.FramePing, 0, 0, "12345678"}}, "upstream sent unexpected http2 frame: 6", "", false},
		{[]frame{{http2.FrameHeaders, endHead, 3, ok}}, "upstream sent frame for unknown stream 3", "", false},
		{[]frame{head, {http2.FrameData, 0, 5, "x"}}, "upstream sent data frame for unknown stream 5", "", false},
		{[]frame{{http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x02"}}, "upstream rejected request with error 2", "", false},
		{[]frame{{http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x07"}}, "upstream rejected request with error 7", "", true},
		{[]frame{{http2.FrameRSTStream, 0, 1, "\x00\x00\x00"}}, "upstream sent rst stream frame with invalid length: 3", "", false},
		{[]frame{{http2.FrameGoAway, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x05"}}, "upstream sent goaway with error 5", "", true},
		{[]frame{{http2.FrameGoAway, 0, 1, "\x00\x00\x00\x00\x00\x00\x00\x05"}}, "upstream sent goaway frame with non-zero stream id: 1", "", false},
		{[]frame{{http2.FrameGoAway, 0, 0, "\x00"}}, "upstream sent goaway frame with invalid length: 1", "", false},
		{[]frame{{http2.FramePushPromise, endHead, 1, "\x00\x00\x00\x02"}}, "upstream sent unexpected push promise frame", "", false},
		{[]frame{{http2.FramePing, 0, 1, "12345678"}}, "upstream sent ping frame with non-zero stream id: 1", "", false},
		{[]frame{{http2.FramePing, 0, 0, "1"}}, "upstream sent ping frame with invalid length: 1", "", false},
		{[]frame{{http2.FramePing, http2.FlagPingAck, 0, "12345678"}}, "upstream sent ping frame with ack flag", "", false},
		{[]frame{{http2.FrameSettings, 0, 1, ""}}, "upstream sent settings frame with non-zero stream id: 1", "", false},
		{[]frame{{http2.FrameSettings, 0, 0, "1"}}, "upstream sent settings frame with invalid length: 1", "", false},
		{[]frame{{http2.FrameSettings, http2.FlagSettingsAck, 0, "123456"}}, "upstream sent settings frame with ack flag and non-zero length: 6", "", false},
		{[]frame{{http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"}}, "upstream sent settings frame with too large initial window size: 2147483648", "", false},
		{[]frame{{http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"}}, "upstream sent zero window update", "", false},
		{[]frame{{http2.FrameWindowUpdate, 0, 1, "\x7f\xff\xff\xff"}}, "upstream sent too large window update", "", false},
		{[]frame{{http2.FrameWindowUpdate, 0, 1, "\x00"}}, "upstream sent window update frame with invalid length: 1", "", false},
		{[]frame{{http2.FrameHeaders, endHead | http2.FlagHeadersPadded, 1, "\x09ab"}}, "upstream sent http2 frame with too long padding: 9 in frame 2", "", false},
		{[]frame{{http2.FrameHeaders, endHead | http2.FlagHeadersPriority, 1, "ab"}}, "upstream sent headers frame with invalid length: 2", "", false},
		{[]frame{head, {http2.FrameData, http2.FlagDataPadded, 1, ""}}, "upstream sent too short http2 frame", "", false},
		{[]frame{fields("a", "b")}, "upstream sent no :status header", "", false},
		{[]frame{fields()}, "upstream sent no :status header", "", false},
		{[]frame{fields(":status", "200", ":status", "200")}, "upstream sent duplicate :status header", "", false},
		{[]frame{fields(":status", "20x")}, "upstream sent invalid :status \"20x\"", "", false},
		{[]frame{fields(":status", "20")}, "upstream sent invalid :status \"20\"", "", false},
		{[]frame{fields(":status", "")}, "upstream sent invalid :status \"\"", "", false},
		{[]frame{fields(":status", "100")}, "upstream sent unexpected :status \"100\"", "", false},
		{[]frame{fields(":status", "200", ":path", "/")}, "upstream sent invalid header \":path: /\"", "", false},
		{[]frame{fields(":status", "200", "n:n", "v")}, "upstream sent invalid header", "upstream sent invalid header: \"n:n: v\"", false},
		{[]frame{fields(":status", "200", "n", "v\nv")}, "upstream sent invalid header", "upstream sent invalid header: \"n: v\nv\"", false},
		{[]frame{fields(":status", "200", "n", strings.Repeat("v", 4096))}, "upstream sent invalid header", "upstream sent too large http2 header", false},
		{[]frame{{http2.FrameHeaders, endHead, 1, "\xff\x80\x01"}}, "upstream sent invalid header", "upstream sent invalid http2 table index: 255", false},
		{[]frame{{http2.FrameHeaders, endHead, 1, "\x00"}}, "upstream sent invalid header", "upstream sent truncated http2 header", false},
		{[]frame{{http2.FrameHeaders, endHead, 1, "\x00\x82\xff\xff\x00"}}, "upstream sent invalid header", "upstream sent invalid encoded header", false},
		{[]frame{head, {http2.FrameHeaders, endHead, 1, string(encoded("a", "b"))}}, "upstream sent trailer without end stream flag", "", false},
		{[]frame{head, {http2.FrameHeaders, endHead | http2.FlagHeadersEndStream, 1, ok}}, "upstream sent invalid trailer \":status: 200\"", "", false},
		{[]frame{head, {http2.FrameHeaders, endHead | http2.FlagHeadersEndStream, 1, "\xff\x80\x01"}}, "upstream sent invalid trailer", "upstream sent invalid http2 table index: 255", false},
		{[]frame{head, {http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x00"}}, "upstream rejected request with error 0", "", false},
		{[]frame{fields(":status", "103"), {http2.FrameHeaders, endHead | http2.FlagHeadersEndStream, 1, string(encoded(":status", "103"))}}, "upstream prematurely closed stream", "", false},
		{[]frame{{http2.FrameType(42), 0, 0, "ignored"}, {http2.FramePriority, 0, 1, "12345"}, {http2.FrameData, 0, 0, "x"}}, "upstream sent unexpected http2 frame: 0", "", false},
	} {
		name := c.log + c.detail
		l, p := pair(t)
		start(t, l, "", true)
		var all []byte
		for _, f := range c.frames {
			all = append(h2.AppendHeader(all, len(f.p), f.t, f.flags, f.stream), f.p...)
		}
		_, _ = p.nc.Write(all)
		_, err := l.Head(soon, stays)
		if err == nil {
			_, err = l.Data(soon, stays)
		}
		var f *Fault
		if !errors.As(err, &f) || f.Log != c.log || f.Detail != c.detail || f.Unprocessed != c.notProcessed || f.Kind != Invalid {
			t.Errorf("%s: got %#v", name, err)
		}
	}
}

// What stands behind the end of an answer may be harmless, or spoil it.
func TestBehindTheEnd(t *testing.T) {
	t.Parallel()
	end := append(h2.AppendBlock(nil, encoded(":status", "200"), 1, false, maxFrame), h2.AppendBlock(nil, encoded("grpc-status", "0"), 1, true, maxFrame)...)
	no := h2.AppendReset(nil, 1, http2.ErrCodeNo)
	for _, c := range []struct {
		name  string
		more  []byte
		want  string
		whole bool
		keeps bool
	}{
		{"nothing", nil, "EOF", true, true},
		{"the body is open", nil, "EOF", false, true},
		{"a window", h2.AppendWindowUpdate(nil, 1, 42), "EOF", false, true},
		{"no error", no, "EOF", false, true},
		{"no error, often", append(no, no...), "upstream sent frame for closed stream 1", false, true},
		{"cancelled", h2.AppendReset(nil, 1, http2.ErrCodeCancel), "upstream rejected request with error 8", false, true},
		{"a second end", h2.AppendBlock(nil, encoded("a", "b"), 1, true, maxFrame), "upstream sent frame for closed stream 1", false, false},
	} {
		l, p := pair(t)
		start(t, l, "", c.whole)
		_, _ = p.nc.Write(append(end[:len(end):len(end)], c.more...))
		h, err := l.Head(soon, stays)
		if err == nil {
			_, err = l.Data(soon, stays)
		} else if h != nil {
			t.Errorf("%s: a head and %v", c.name, err)
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if keeps := l.End(); keeps != c.keeps {
			t.Errorf("%s: kept %v, want %v", c.name, keeps, c.keeps)
		}
	}
}

// Who waits can be told to stop, and whose peer has gone hears of it.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	l, p := pair(t)
	start(t, l, "", false)
	p.preface()
	p.next(http2.FrameHeaders)
	if _, err := l.Head(time.Millisecond, stays); !errors.Is(err, ErrTimeout) {
		t.Errorf("nothing came: %v", err)
	}
	done := make(chan error, 1)
	left := make(chan struct{})
	// Owned by the test: ends with Interrupt.
	go func() {
		_, err := l.Head(time.Hour, func() bool {
			select {
			case <-left:
				return true
			default:
				return false
			}
		})
		done <- err
	}()
	close(left)
	l.Interrupt()
	if err := <-done; !errors.Is(err, ErrLeft) {
		t.Errorf("interrupted: %v", err)
	}
	l.InterruptWrite()
	if err := l.Write([]byte("x"), true, time.Hour, stays); !errors.Is(err, ErrHalted) {
		t.Errorf("writing: %v", err)
	}
	p.nc.Close()
	var f *Fault
	if _, err := l.Head(soon, stays); !errors.As(err, &f) || f.Kind != Closed {
		t.Errorf("closed: %v", err)
	}
}

// A stream that this end gives up is cancelled, and what still comes of it disturbs nobody.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	l, p := pair(t)
	start(t, l, "", true)
	p.preface()
	p.next(http2.FrameHeaders)
	if !l.End() {
		t.Fatal("not kept")
	}
	if r := p.next(http2.FrameRSTStream).(*http2.RSTStreamFrame); r.StreamID != 1 || r.ErrCode != http2.ErrCodeCancel {
		t.Errorf("got %v", r)
	}
	var table strings.Builder
	e := hpack.NewEncoder(&table)
	_ = e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = e.WriteField(hpack.HeaderField{Name: "kept", Value: "in the table"})
	p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, table.String())
	p.raw(http2.FrameData, http2.FlagDataEndStream, 1, "late")
	start(t, l, "", true)
	p.next(http2.FrameHeaders)
	table.Reset()
	_ = e.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	_ = e.WriteField(hpack.HeaderField{Name: "kept", Value: "in the table"})
	p.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 3, table.String())
	h, err := l.Head(soon, stays)
	if err != nil || len(h.Fields) != 1 || h.Fields[0].Value != "in the table" {
		t.Errorf("head %v, error %v", h, err)
	}
}

// A peer that asks and reads nothing keeps the goroutine that answers it waiting, and nobody else: neither who looks for a connection
// to use, nor who ends the writing of a body that is not being written.
func TestAPeerThatReadsNothingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe() // takes no byte that is not read
	l := New(near)
	defer far.Close()
	defer l.Close()
	if _, err := far.Write(h2.AppendPing(h2.AppendSettings(nil), false, [8]byte{})); err != nil {
		t.Fatal(err)
	}
	for l.wmu.TryLock() { // until the answer is being written
		l.wmu.Unlock()
		time.Sleep(time.Millisecond)
	}
	looked := make(chan bool)
	// Owned by the test, ends with the link.
	go func() {
		usable := l.Usable()
		l.InterruptWrite()
		looked <- usable
	}()
	select {
	case usable := <-looked:
		if !usable {
			t.Error("it is not usable")
		}
	case <-time.After(2 * time.Second):
		t.Error("they wait")
	}
	far.SetReadDeadline(time.Now().Add(2 * time.Second))
	p := &peer{http2.NewFramer(far, far), t, far}
	p.preface()
	if !p.next(http2.FrameSettings).(*http2.SettingsFrame).IsAck() || !p.next(http2.FramePing).(*http2.PingFrame).IsAck() {
		t.Error("the peer was not answered")
	}
}

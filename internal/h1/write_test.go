package h1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(AppendStatusLine(nil, 200)), "HTTP/1.1 200 OK\r\n"},
		{string(AppendStatusLine(nil, 302)), "HTTP/1.1 302 Moved Temporarily\r\n"},
		{string(AppendStatusLine(nil, 306)), "HTTP/1.1 306 \r\n"},
		{string(AppendHeader(nil, "A", []byte("b"))), "A: b\r\n"},
		{string(AppendInt(nil, "Content-Length", 0)), "Content-Length: 0\r\n"},
		{string(AppendInt(nil, "Content-Length", 1234567890)), "Content-Length: 1234567890\r\n"},
		{string(AppendDate(nil, 784111777)), "Sun, 06 Nov 1994 08:49:37 GMT"},
		{string(AppendChunk(nil, []byte(strings.Repeat("x", 16)))), "10\r\nxxxxxxxxxxxxxxxx\r\n"},
		{string(AppendChunkHead(nil, 1)), "1\r\n"},
		{string(AppendChunkHead(nil, 0xabcdef)), "abcdef\r\n"},
		{string(AppendEnd(AppendLastChunk(nil))), "0\r\n\r\n"},
		{ServerName("1.2.3", true), "limitgate/1.2.3"},
		{ServerName("1.2.3", false), "limitgate"},
		{fmt.Sprint(AnswerStatus(494), AnswerStatus(497), AnswerStatus(499), AnswerStatus(404)), "400 400 499 404"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestChunksComeBack(t *testing.T) {
	var wire []byte
	want := strings.Repeat("0123456789abcdef", 300)
	for i := 0; i < len(want); i += 77 {
		wire = AppendChunk(wire, []byte(want[i:min(i+77, len(want))]))
	}
	wire = AppendEnd(AppendHeader(AppendLastChunk(wire), "T", "u"))
	body := ChunkedBody()
	var got []byte
	for !body.Done() {
		skip, n, err := body.Next(wire)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, wire[skip:skip+n]...)
		wire = wire[skip+n:]
	}
	if string(got) != want || len(wire) > 0 {
		t.Errorf("got %d bytes and %d left", len(got), len(wire))
	}
}

func TestLengthAndCloseBodies(t *testing.T) {
	b := LengthBody(5)
	if skip, n, err := b.Next([]byte("hel")); skip != 0 || n != 3 || err != nil || b.Done() || b.Remaining() != 2 {
		t.Error(skip, n, err, b)
	}
	if skip, n, err := b.Next([]byte("loGET")); skip != 0 || n != 2 || err != nil || !b.Done() {
		t.Error(skip, n, err, b)
	}
	c := CloseBody()
	if skip, n, err := c.Next([]byte("abc")); skip != 0 || n != 3 || err != nil || c.Done() || !c.EndsWithConnection() {
		t.Error(skip, n, err, c)
	}
	if z := LengthBody(0); !z.Done() {
		t.Error("an empty body is not done")
	}
}

func TestWantsPadding(t *testing.T) {
	for agent, want := range map[string]bool{
		"": false, "curl/8": false, "Mozilla/4.0 (compatible; MSIE 6.0; Windows)": true, "x MSIE ": false,
		"Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36": true,
		"Mozilla/5.0 (X11; rv:140.0) Gecko/20100101 Firefox/140.0":                                false,
		"Opera/9.8 MSIE 6.0 x Chrome/1":                                                           false,
	} {
		if got := WantsPadding([]byte(agent)); got != want {
			t.Errorf("%q: got %v", agent, got)
		}
	}
}

// TestPagesAgainstNginx compares status line and page of every code with nginx's, byte for byte but for the signature.
func TestPagesAgainstNginx(t *testing.T) {
	j := startJudge(t)
	for _, agent := range []string{"curl/8", "x Chrome/1 "} {
		for _, code := range pageCodes {
			answer := exchange(t, j.pages, fmt.Sprintf("GET /%d HTTP/1.0\r\nUser-Agent: %s\r\n\r\n", code, agent))
			head, body, _ := strings.Cut(answer, "\r\n\r\n")
			line, _, _ := strings.Cut(head, "\r\n")
			page := AppendPage(nil, code, "nginx")
			if len(page) > 0 && code >= 400 && WantsPadding([]byte(agent)) {
				page = append(page, PagePadding...)
			}
			if want := string(AppendStatusLine(nil, AnswerStatus(code))); line+"\r\n" != want {
				t.Errorf("%d: nginx %q, ours %q", code, line, want)
			}
			if body != string(page) {
				t.Errorf("%d: nginx %q, ours %q", code, body, page)
			}
		}
	}
}

func TestParseLength(t *testing.T) {
	for in, want := range map[string]int64{"0": 0, "007": 7, "9223372036854775807": 9223372036854775807,
		"": -1, "9223372036854775808": -1, "-1": -1, "+1": -1, "1 ": -1, "1.0": -1} {
		n, ok := ParseLength([]byte(in))
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q: got %d, want %d", in, n, want)
		}
	}
}

func TestFind(t *testing.T) {
	raw := []byte("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1\r\nX-Own: 2\r\nx-forwarded-for: 3\r\n(odd): x\r\n\r\n")
	var r Request
	if ok, err := r.Parse(raw, &Rules{}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if h, ok := r.Find(header.XForwardedFor); !ok || string(h.Value.Of(raw)) != "1" {
		t.Errorf("got %v, %v", h, ok)
	}
	if string(r.Value(raw, header.XForwardedFor)) != "1" || r.Value(raw, header.Cookie) != nil || r.Has(header.Cookie) {
		t.Error("values are wrong")
	}
	want := "client sent invalid header line: \"(odd): x\" while reading client request headers"
	if got := r.DropMessage(raw, 0); got != want {
		t.Errorf("got %s", got)
	}
}

func TestRules(t *testing.T) {
	raw := []byte("GET //a HTTP/1.1\r\nHost: a\r\nA_b: c\r\n(odd): x\r\n\r\n")
	var r Request
	if ok, err := r.Parse(raw, &Rules{Underscores: true, KeepInvalid: true, KeepSlashes: true}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if len(r.Lines) != 3 || r.Lines[1].Invalid || !r.Lines[2].Invalid || string(r.Path(raw)) != "//a" {
		t.Errorf("got %v, %s", r.Lines, r.Path(raw))
	}
	r.Reset()
	if _, err := r.Parse(raw, &Rules{MaxHeaders: 1, Underscores: true}); Status(err) != 494 {
		t.Error(err)
	}
	r.Reset()
	if _, err := r.Parse(raw, &Rules{FirstBuffer: 8, LargeBuffer: 12, LargeBuffers: 2}); Status(err) != 414 {
		t.Error(err)
	}
}

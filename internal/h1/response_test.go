package h1

import (
	"fmt"
	"strings"
	"testing"
)

const upstreamHead = "HTTP/1.1 200 OK\r\nServer: backend\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: application/json\r\n" +
	"Content-Length: 1234\r\nConnection: keep-alive\r\nCache-Control: no-store\r\nX-Request-Id: 0123456789abcdef\r\nVary: Accept-Encoding\r\n\r\n"

const whileUpstream = " while reading response header from upstream"

var responseCases = []struct{ name, in, want string }{
	{"typical", upstreamHead, "200 OK length 1234 keep 8 lines"},
	{"no reason", "HTTP/1.1 200\r\n\r\n", "200 close keep 0 lines"},
	{"empty reason", "HTTP/1.1 204 \r\n\r\n", "204  none keep 0 lines"},
	{"status with a point", "HTTP/1.1 403.1 Forbidden\r\nContent-Length: 0\r\n\r\n", "403.1 Forbidden none keep 1 lines"},
	{"LF alone", "HTTP/1.1 200 OK\nContent-Length: 1\n\n", "200 OK length 1 keep 1 lines"},
	{"1.0", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", "200 OK close once 1 lines"},
	{"close", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: Close\r\n\r\n", "200 OK length 2 once 2 lines"},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", "200 OK chunked keep 1 lines"},
	{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304 Not Modified none keep 1 lines"},
	{"continue", "HTTP/1.1 100 Continue\r\n\r\n", "100 Continue none keep 0 lines interim"},
	{"upgrade", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "101 Switching Protocols close keep 1 lines"},
	{"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: x\r\n\r\n", "103 Early Hints none keep 2 lines interim"},
	{"early hints in 1.0", "HTTP/1.0 103 Early Hints\r\n\r\n", "upstream sent HTTP/1.0 response with early hints" + whileUpstream},
	{"no head", "<html>hello", "0.9"},
	{"almost a head", "HTTP/1.1 2x0 OK\r\n", "0.9"},
	{"no version", "HTTP/ 200 OK\r\n", "0.9"},
	{"CR in reason", "HTTP/1.1 200 O\rK\r\n", "0.9"},
	{"unfinished status", "HTTP/1.1 20", "more"},
	{"unfinished", "HTTP/1.1 200 OK\r\nX: y", "more"},
	{"second status line", "HTTP/1.1 200 OK\r\nHTTP/1.1 404 No\r\nX: y\r\n\r\n", "200 OK close keep 1 lines"},
	{"length twice", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n",
		"upstream sent duplicate header line: \"content-length: 1\", previous value: \"Content-Length: 1\"" + whileUpstream},
	{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n", "upstream sent invalid \"Content-Length\" header: \"Content-Length: 1x\"" + whileUpstream},
	{"length and chunked", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"upstream sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time" + whileUpstream},
	{"chunked and length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
		"upstream sent \"Content-Length\" and \"Transfer-Encoding\" headers at the same time" + whileUpstream},
	{"chunked twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
		"upstream sent duplicate header line: \"Transfer-Encoding: chunked\", previous value: \"Transfer-Encoding: chunked\"" + whileUpstream},
	{"unknown encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "upstream sent unknown \"Transfer-Encoding\": \"gzip\"" + whileUpstream},
	{"invalid line", "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n", "upstream sent invalid header: \"Bad\\x20...\"" + whileUpstream},
	{"zero in value", "HTTP/1.1 200 OK\r\nX: a\x00b\r\n\r\n", "upstream sent invalid header: \"X: a\\x00...\"" + whileUpstream},
	{"second Server", "HTTP/1.1 200 OK\r\nServer: a\r\nServer: b\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n", "200 OK close keep 3 lines 1 dropped"},
	{"underscores and odd names", "HTTP/1.1 200 OK\r\nA_b: c\r\n(d): e\r\n\r\n", "200 OK close keep 2 lines"},
	{"too big", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 4096) + "\r\n\r\n", "upstream sent too big header" + whileUpstream},
	{"too big and unfinished", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 4096), "upstream sent too big header" + whileUpstream},
}

func describeResponse(r *Response, raw []byte, ok bool, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !ok:
		return "more"
	case r.HTTP09:
		return "0.9"
	}
	body, framing := r.Body(false), "none"
	switch body.kind {
	case bodyLength:
		framing = fmt.Sprintf("length %d", body.left)
	case bodyChunked:
		framing = "chunked"
	case bodyClose:
		framing = "close"
	}
	s := fmt.Sprintf("%s %s %s %d lines", r.StatusText(raw), framing, map[bool]string{true: "keep", false: "once"}[r.KeepAlive], len(r.Lines))
	if r.Interim() {
		s += " interim"
	}
	if len(r.Dropped) > 0 {
		s += fmt.Sprintf(" %d dropped", len(r.Dropped))
	}
	return s
}

func TestResponse(t *testing.T) {
	for _, c := range responseCases {
		raw := []byte(c.in)
		var r, slow Response
		ok, err := r.Parse(raw, 4096)
		if got := describeResponse(&r, raw, ok, err); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
		ok, err = false, nil
		for n := 0; n <= len(raw) && !ok && err == nil; n++ {
			ok, err = slow.Parse(raw[:n], 4096)
		}
		if got := describeResponse(&slow, raw, ok, err); got != c.want {
			t.Errorf("%s, byte by byte\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestResponseDropMessage(t *testing.T) {
	raw := []byte("HTTP/1.1 200 OK\r\nServer: a\r\nSERVER: b\r\n\r\n")
	var r Response
	if ok, err := r.Parse(raw, 4096); !ok || err != nil {
		t.Fatal(ok, err)
	}
	want := "upstream sent duplicate header line: \"SERVER: b\", previous value: \"Server: a\", ignored" + whileUpstream
	if got := r.DropMessage(raw, 0); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestResponseBody(t *testing.T) {
	raw := []byte(upstreamHead)
	var r Response
	if ok, err := r.Parse(raw, 4096); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if b := r.Body(true); !b.Done() {
		t.Error("the answer to HEAD has a body")
	}
	if b := r.Body(false); b.Remaining() != 1234 {
		t.Errorf("%d bytes remain", b.Remaining())
	}
}

func TestResponseAllocatesNothing(t *testing.T) {
	raw := []byte(upstreamHead)
	var r Response
	if n := testing.AllocsPerRun(100, func() {
		r.Reset()
		r.Parse(raw[:20], 4096)
		if ok, err := r.Parse(raw, 4096); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkResponse(b *testing.B) {
	raw := []byte(upstreamHead)
	var r Response
	for b.Loop() {
		r.Reset()
		if ok, err := r.Parse(raw, 4096); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

package conformance

import (
	"strings"
	"testing"
)

// What judges the smuggling set finds what is wrong: each of these, had it reached the upstream, would fail it.
func TestTheRecorderReadsByTheLetter(t *testing.T) {
	t.Parallel()
	const get = "GET /g HTTP/1.1\r\nHost: h\r\n"
	for _, c := range []struct{ name, bytes, want string }{
		{"one", get + "\r\n", "GET /g, 0 bytes"},
		{"two", get + "\r\n" + hidden, "GET /g, 0 bytes; GET /smuggled, 0 bytes"},
		{"length", postOf("Content-Length: 5", "hello"), "POST /p, 5 bytes"},
		{"length, and another", postOf("Content-Length: 0", hidden), "POST /p, 0 bytes; GET /smuggled, 0 bytes"},
		{"chunks", chunksOf("5\r\nhello\r\n0\r\n\r\n" + hidden), "POST /p, 5 bytes; GET /smuggled, 0 bytes"},
		{"a part", postOf("Content-Length: 9", "hello"), "rest"},
		{"a part of chunks", chunksOf("5\r\nhello\r\n"), "rest"},
		{"length and chunks", postOf("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), "a length and an encoding"},
		{"two lengths", postOf("Content-Length: 5\r\nContent-Length: 5", "hello"), "two of content-length"},
		{"two hosts", get + "host: other\r\n\r\n", "two of host"},
		{"another encoding", postOf("Transfer-Encoding: xchunked", "0\r\n\r\n"), `encoding "xchunked"`},
		{"space before a colon", get + "X : y\r\n\r\n", `field "X : y"`},
		{"fold", get + "X: y\r\n z\r\n\r\n", `field " z"`},
		{"bare LF", get + "X: y\nZ: z\r\n\r\n", `field "X: y\nZ: z"`},
		{"bare CR", get + "X: y\rZ: z\r\n\r\n", `field "X: y\rZ: z"`},
		{"NUL", get + "X: y\x00\r\n\r\n", `field "X: y\x00"`},
		{"signed length", postOf("Content-Length: +5", "hello"), `length "+5"`},
		{"chunk in other digits", chunksOf("0x5\r\nhello\r\n0\r\n\r\n"), `chunk "0x5"`},
		{"extension", chunksOf("5;x\r\nhello\r\n0\r\n\r\n"), `chunk "5;x"`},
		{"no line end behind a chunk", chunksOf("5\r\nhelloXX0\r\n\r\n"), `"XX" behind a chunk`},
		{"space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", `request line "GET /a b HTTP/1.1"`},
		{"HTTP/0.9", "GET /g\r\n\r\n", `request line "GET /g"`},
	} {
		requests, rest, fault := readWhole([]byte(c.bytes))
		got := strings.Join(requests, "; ")
		if rest > 0 && fault == "" {
			got = "rest"
		}
		if fault != "" {
			got = fault
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	smuggled := passage{requests: []string{"POST /p, 0 bytes", "GET /smuggled, 0 bytes"}}
	if wrong := smuggled.judge(false); len(wrong) != 2 {
		t.Errorf("a smuggled request: got %q, want two faults", wrong)
	}
	if wrong := smuggled.judge(true); len(wrong) != 0 {
		t.Errorf("two that were sent as two: got %q, want nothing", wrong)
	}
}

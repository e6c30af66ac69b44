package shape

import (
	"regexp"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/request"
)

var boundary = regexp.MustCompile(`\d{20}`)

func TestRanges(t *testing.T) {
	h := compile(t, "")
	for _, c := range []struct {
		spec, field string
		status      int
		body, part  string
	}{
		{"bytes=1-2", "", 206, "12", "bytes 1-2/37"},
		{"Bytes= 30 - ", "", 206, "uvwxyz\n", "bytes 30-36/37"},
		{"bytes=-2", "", 206, "z\n", "bytes 35-36/37"},
		{"bytes=-99", "", 206, text, "bytes 0-36/37"},
		{"bytes=35-99", "", 206, "z\n", "bytes 35-36/37"},
		{"bytes=37-", "", 416, "", "bytes */37"},
		{"bytes=-0", "", 416, "", "bytes */37"},
		{"bytes=3-1", "", 416, "", "bytes */37"},
		{"bytes=x", "", 416, "", "bytes */37"},
		{"bytes=- 1", "", 416, "", "bytes */37"},
		{"bytes=", "", 200, text, ""},
		{"bytes=99999999999999999999-", "", 416, "", "bytes */37"},
		{"lines=1-2", "", 200, text, ""},
		{"bytes=0-36,1-2", "", 200, text, ""},
		{"bytes=0-0,x", "", 416, "", "bytes */37"},
		{"bytes=0-0,99-", "", 206, "0", "bytes 0-0/37"},
		{"bytes=1-2", "If-Range: " + tag, 206, "12", "bytes 1-2/37"},
		{"bytes=1-2", "If-Range: \"x\"", 200, text, ""},
		{"bytes=1-2", "If-Range: " + at, 206, "12", "bytes 1-2/37"},
		{"bytes=1-2", "If-Range: " + after, 200, text, ""},
	} {
		got := answer(t, h, nil, getRoot, "Range: "+c.spec, c.field)
		part := ""
		for _, f := range got.r.Response.Headers {
			if string(f.Name) == "Content-Range" {
				part = string(f.Value)
			}
		}
		if got.status != c.status || got.body != c.body || part != c.part || (got.err == request.ErrRefused) != (c.status == 416) {
			t.Errorf("%s %s: got %d %q %q %v, want %d %q %q", c.spec, c.field, got.status, got.body, part, got.err, c.status, c.body, c.part)
		}
		if whole := strings.Contains(got.head, "Accept-Ranges: bytes"); whole != (c.status == 200) {
			t.Errorf("%s: got %q; only a whole file says that it has ranges", c.spec, got.head)
		}
	}
}

func TestSeveralRanges(t *testing.T) {
	got := answer(t, compile(t, ""), nil, getRoot, "Range: bytes=5-6, 0-1 ,-2")
	const want = "\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 5-6/37\r\n\r\n56" +
		"\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/37\r\n\r\n01" +
		"\r\n--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 35-36/37\r\n\r\nz\n\r\n--B--\r\n"
	if body := boundary.ReplaceAllString(got.body, "B"); body != want || got.r.Response.Length != int64(len(got.body)) {
		t.Errorf("got %q of %d, said %d; want %q", body, len(got.body), got.r.Response.Length, want)
	}
	if head := boundary.ReplaceAllString(got.head, "B"); !strings.Contains(head, "type: multipart/byteranges; boundary=B\n") {
		t.Errorf("got head %q", head)
	}
}

func TestMaxRanges(t *testing.T) {
	for _, c := range []struct {
		directives, spec string
		status           int
		accepts          bool
	}{
		{"max_ranges 0;", "bytes=1-2", 200, false},
		{"max_ranges 1;", "bytes=1-2", 206, false},
		{"max_ranges 1;", "bytes=1-2,4-5", 200, true},
		{"max_ranges 2;", "bytes=1-2,4-5", 206, false},
		{"max_ranges 1;", "bytes=1-2,99-", 206, false},
	} {
		got := answer(t, compile(t, c.directives), nil, getRoot, "Range: "+c.spec)
		if got.status != c.status || strings.Contains(got.head, "Accept-Ranges") != c.accepts {
			t.Errorf("%s %s: got %d %q, want %d", c.directives, c.spec, got.status, got.head, c.status)
		}
	}
}

// A body that is only passed on has one part cut out of it as it comes.
func TestOneRange(t *testing.T) {
	h := compile(t, "")
	one := func(out *request.Response) { out.Ranges = request.OneRange }
	for _, c := range []struct{ spec, want string }{
		{"bytes=0-0", "0"}, {"bytes=15-17", "fgh"}, {"bytes=16-", text[16:]}, {"bytes=-1", "\n"}, {"bytes=0-36", text}, {"bytes=1-2,4-5", text},
	} {
		if got := answer(t, h, one, getRoot, "Range: "+c.spec); got.body != c.want {
			t.Errorf("%s: got %q, want %q", c.spec, got.body, c.want)
		}
	}
	if got := answer(t, h, one, "HEAD / HTTP/1.1", "Range: bytes=1-2"); got.status != 206 || got.body != "" || got.r.Response.Length != 2 {
		t.Errorf("HEAD: got %d %q, length %d", got.status, got.body, got.r.Response.Length)
	}
	for name, set := range map[string]func(*request.Response){
		"unknown length": func(out *request.Response) { out.Ranges, out.Length = request.OneRange, -1 },
		"no ranges":      func(out *request.Response) { out.Ranges = request.NoRanges },
		"an error":       func(out *request.Response) { out.Status = 404 },
	} {
		if got := answer(t, h, set, getRoot, "Range: bytes=1-2"); got.body != text || strings.Contains(got.head, "Range") {
			t.Errorf("%s: got %q %q, want all", name, got.head, got.body)
		}
	}
}

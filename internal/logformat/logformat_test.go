package logformat

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

func table() *vars.Table {
	wall := time.Date(2026, 11, 30, 0, 43, 57, 0, time.UTC)
	now := limitgate.Time(wall.UnixNano())
	return vars.NewTable(vars.Facts{Now: func() limitgate.Time { return now }, Wall: func() time.Time { return wall }})
}

func sample(agent string) *request.Request {
	r := &request.Request{Conn: &request.Conn{}}
	r.Reset()
	r.ClientAddr = netip.MustParseAddrPort("192.0.2.1:1000")
	r.Line, r.Major, r.Minor = []byte("GET /x HTTP/1.1"), 1, 1
	r.Headers = []request.Header{{Name: []byte("User-Agent"), Value: []byte(agent), ID: header.UserAgent}}
	r.Response.Status = 200
	return r
}

func TestCombined(t *testing.T) {
	f, err := Compile(table(), "combined", Combined, Default)
	if err != nil {
		t.Fatal(err)
	}
	got := string(f.Append(sample("curl/8"), []byte("before ")))
	if want := `before 192.0.2.1 - - [30/Nov/2026:00:43:57 +0000] "GET /x HTTP/1.1" 200 0 "-" "curl/8"` + "\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEscaping(t *testing.T) {
	all := "a\"b\\c\x00\x08\x09\x0a\x0b\x0c\x0d\x1f\x7f\x80\xffüz"
	for _, c := range []struct {
		escape Escape
		in     string
		want   string
	}{
		{Default, all, `a\x22b\x5Cc\x00\x08\x09\x0A\x0B\x0C\x0D\x1F\x7F\x80\xFF\xC3\xBCz`},
		{JSON, all, `a\"b\\c\u0000\b\t\n\u000B\f\r\u001F` + "\x7f\x80\xffüz"},
		{None, all, all},
		{Default, "", ""}, {JSON, "", ""}, {Default, `"`, `\x22`}, {JSON, "\x01", `\u0001`},
	} {
		f, err := Compile(table(), "x", `"$http_user_agent" $http_absent.`, c.escape)
		if err != nil {
			t.Fatal(err)
		}
		missing := ""
		if c.escape == Default {
			missing = "-"
		}
		if got, want := string(f.Append(sample(c.in), nil)), `"`+c.want+`" `+missing+".\n"; got != want {
			t.Errorf("escape %d of %q: got %q, want %q", c.escape, c.in, got, want)
		}
	}
}

func TestCompile(t *testing.T) {
	f, err := Compile(table(), "x", `a ${Status}b$remote_addr`, JSON)
	if err != nil {
		t.Fatal(err)
	}
	want := []Part{{Literal: "a "}, {Variable: "status"}, {Literal: "b"}, {Variable: "remote_addr"}}
	if len(f.Parts) != len(want) {
		t.Fatalf("parts: got %v, want %v", f.Parts, want)
	}
	for i := range want {
		if f.Parts[i] != want[i] {
			t.Errorf("part %d: got %v, want %v", i, f.Parts[i], want[i])
		}
	}
	for _, c := range []struct{ text, want string }{
		{"$1", `unknown "1" variable`}, {"a $", `invalid parameter "$"`}, {"$nosuch", `unknown "nosuch" variable`},
	} {
		_, err := Compile(table(), "x", c.text, Default)
		var e *vars.Error
		if !errors.As(err, &e) || e.Msg != c.want {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestParseEscape(t *testing.T) {
	for name, want := range map[string]Escape{"default": Default, "json": JSON, "none": None} {
		if got, ok := ParseEscape(name); !ok || got != want {
			t.Errorf("%s: got %v, %v", name, got, ok)
		}
	}
	if _, ok := ParseEscape("xml"); ok {
		t.Error("xml is a way of escaping")
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	text := Combined + ` rt=$request_time uht=$upstream_header_time cs=$limit_req_status id=$request_id xff=$http_x_forwarded_for`
	f, err := Compile(table(), "main", text, Default)
	if err != nil {
		t.Fatal(err)
	}
	r := sample(strings.Repeat(`bad"agent\`, 5))
	headers := r.Headers
	dst := make([]byte, 0, 2048)
	if got := testing.AllocsPerRun(100, func() {
		r.Reset()
		r.Headers = headers
		dst = f.Append(r, dst[:0])
	}); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// FuzzEscape: an escaped value can be read back, and a line of the default form has no byte that ends it early.
func FuzzEscape(f *testing.F) {
	f.Add("plain", "\"\\\x00\xff")
	f.Fuzz(func(t *testing.T, front, value string) {
		dst := escapeDefault([]byte(front+value), len(front))
		if string(dst[:len(front)]) != front {
			t.Fatalf("the front changed: %q", dst)
		}
		for _, c := range dst[len(front):] {
			if c < 0x20 || c >= 0x7f || c == '"' {
				t.Fatalf("%q: byte %#x is left", dst, c)
			}
		}
		js := escapeJSON([]byte(front+value), len(front))
		for i := len(front); i < len(js); i++ {
			if js[i] < 0x20 || js[i] == '"' && js[i-1] != '\\' {
				t.Fatalf("%q: byte %#x is left", js, js[i])
			}
			if js[i] == '\\' {
				i++
			}
		}
	})
}

func BenchmarkCombined(b *testing.B) {
	f, err := Compile(table(), "combined", Combined, Default)
	if err != nil {
		b.Fatal(err)
	}
	r := sample("Mozilla/5.0 (X11; Linux x86_64)")
	dst := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		dst = f.Append(r, dst[:0])
	}
}

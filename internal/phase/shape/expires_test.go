package shape

import (
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

func headerOf(name string) header.ID { return header.Lookup([]byte(name)) }

func TestExpires(t *testing.T) {
	const now = 1709210000 // 29 February 2024, 12:33:20
	for _, c := range []struct {
		directive string
		set       func(out *request.Response)
		want      string // Expires and Cache-Control
	}{
		{"expires 1h;", nil, "Thu, 29 Feb 2024 13:33:20 GMT|max-age=3600"},
		{"expires 0;", nil, "Thu, 29 Feb 2024 12:33:20 GMT|max-age=0"},
		{"expires -1;", nil, "Thu, 29 Feb 2024 12:33:19 GMT|no-cache"},
		{"expires epoch;", nil, "Thu, 01 Jan 1970 00:00:01 GMT|no-cache"},
		{"expires max;", nil, "Thu, 31 Dec 2037 23:55:55 GMT|max-age=315360000"},
		{"expires off;", nil, "|"},
		{"expires modified 1h;", nil, "Thu, 29 Feb 2024 13:00:01 GMT|max-age=1601"},
		{"expires modified 1s;", nil, "Thu, 29 Feb 2024 12:00:02 GMT|no-cache"},
		{"expires modified 0;", nil, "Thu, 29 Feb 2024 12:33:20 GMT|max-age=0"},
		{"expires modified 1h;", func(out *request.Response) { out.Dated = false }, "Thu, 29 Feb 2024 13:33:20 GMT|max-age=3600"},
		{"expires $arg_e;", nil, "Thu, 29 Feb 2024 12:34:20 GMT|max-age=60"},
		{"expires modified $arg_e;", nil, "Thu, 29 Feb 2024 12:01:01 GMT|no-cache"},
		{"expires $arg_none;", nil, "|"},
		{"expires $host;", nil, "|"},
		{"expires 1h;", func(out *request.Response) { out.Status = 404 }, "|"},
		{"expires 1h;", func(out *request.Response) {
			for _, f := range []string{"Cache-Control", "X", "Expires", "cache-control"} {
				out.Headers = append(out.Headers, request.Header{Name: []byte(f), Value: []byte("theirs"), ID: headerOf(f)})
			}
		}, "Thu, 29 Feb 2024 13:33:20 GMT|max-age=3600"},
	} {
		h := compile(t, c.directive)
		for _, s := range h.steps {
			if e, is := s.(*expires); is {
				e.now = func() limitgate.Time { return limitgate.Time(now * int64(time.Second)) }
			}
		}
		got := answer(t, h, c.set, "GET /?e=1m HTTP/1.1")
		var found [2][]string
		for _, f := range got.r.Response.Headers {
			switch f.ID {
			case header.Expires:
				found[0] = append(found[0], string(f.Value))
			case header.CacheControl:
				found[1] = append(found[1], string(f.Value))
			}
		}
		if got := strings.Join(found[0], ",") + "|" + strings.Join(found[1], ","); got != c.want {
			t.Errorf("%s: got %s, want %s", c.directive, got, c.want)
		}
	}
}

// A time of the day is the next one, also over midnight and the end of a month.
func TestDaily(t *testing.T) {
	local := func(day, hour, minute int) int64 {
		return time.Date(2024, 2, day, hour, minute, 0, 0, time.Local).Unix()
	}
	for _, c := range []struct {
		now  int64
		of   time.Duration
		want int64
	}{
		{local(29, 12, 0), 15*time.Hour + 30*time.Minute, local(29, 15, 30)},
		{local(29, 12, 0), 11 * time.Hour, local(30, 11, 0)},
		{local(29, 12, 0), 12 * time.Hour, local(30, 12, 0)},
		{local(29, 12, 0), 0, local(30, 0, 0)},
		{local(29, 12, 0), 24 * time.Hour, local(30, 0, 0)},
	} {
		if got := daily(c.now, c.of); got != c.want {
			t.Errorf("%v at %d: got %d, want %d", c.of, c.now, got, c.want)
		}
	}
}

func TestTrailers(t *testing.T) {
	h := compile(t, `add_trailer X-A "$status $host"; add_trailer X-B ""; add_trailer X-C c always; add_trailer X-D $uri;`)
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"GET /p%0ax HTTP/1.1", 200, "X-A: 200 h; X-C: c; X-D: /p x"},
		{getRoot, 404, "X-C: c"},
		{"HEAD / HTTP/1.1", 200, ""},
		{getRoot, 304, ""},
	} {
		got := answer(t, h, func(out *request.Response) { out.Status = c.status }, c.line)
		var list []string
		for _, f := range got.r.Response.Trailers {
			list = append(list, string(f.Name)+": "+string(f.Value))
		}
		if got := strings.Join(list, "; "); got != c.want {
			t.Errorf("%s %d: got %q, want %q", c.line, c.status, got, c.want)
		}
	}
	if got := answer(t, compile(t, "add_trailer X a;"), func(out *request.Response) { out.Status = 404 }, getRoot); got.r.Response.Trailing {
		t.Error("trailers are announced that will not come")
	}
}

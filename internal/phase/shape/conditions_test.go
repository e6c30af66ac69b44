package shape

import (
	"testing"

	"github.com/limitgate/limitgate/internal/request"
)

const getRoot = "GET / HTTP/1.1"

func TestConditions(t *testing.T) {
	handlers := map[string]*Handler{"": compile(t, ""), "before": compile(t, "if_modified_since before;"), "off": compile(t, "if_modified_since off;")}
	for _, c := range []struct {
		since  string
		fields []string
		want   int
	}{
		{"", nil, 200},
		{"", []string{"If-Modified-Since: " + at}, 304},
		{"", []string{"If-Modified-Since: " + after}, 200},
		{"", []string{"If-Modified-Since: " + before}, 200},
		{"", []string{"If-Modified-Since: junk"}, 200},
		{"before", []string{"If-Modified-Since: " + at}, 304},
		{"before", []string{"If-Modified-Since: " + after}, 304},
		{"before", []string{"If-Modified-Since: " + before}, 200},
		{"before", []string{"If-Modified-Since: junk"}, 200},
		{"off", []string{"If-Modified-Since: " + at}, 200},
		{"off", []string{"If-None-Match: " + tag}, 304},
		{"", []string{"If-None-Match: " + tag}, 304},
		{"", []string{"If-None-Match: W/" + tag}, 304},
		{"", []string{"If-None-Match: *"}, 304},
		{"", []string{`If-None-Match: "x","t" ,"y"`}, 304},
		{"", []string{`If-None-Match: "tt", "x"`}, 200},
		{"", []string{`If-None-Match: "t"x`}, 200},
		{"", []string{"If-None-Match: " + tag, "If-Modified-Since: " + before}, 200},
		{"", []string{"If-None-Match: \"x\"", "If-Modified-Since: " + at}, 200},
		{"", []string{"If-None-Match: " + tag, "If-Modified-Since: " + at}, 304},
		{"", []string{"If-Match: " + tag}, 200},
		{"", []string{"If-Match: *"}, 200},
		{"", []string{"If-Match: W/" + tag}, 412},
		{"", []string{`If-Match: "x"`}, 412},
		{"", []string{`If-Match: "x"`, "If-None-Match: *"}, 412},
		{"", []string{"If-Unmodified-Since: " + before}, 412},
		{"", []string{"If-Unmodified-Since: " + at}, 200},
		{"", []string{"If-Unmodified-Since: junk"}, 412},
	} {
		got := answer(t, handlers[c.since], nil, getRoot, c.fields...)
		if got.status != c.want {
			t.Errorf("%s %q: got %d, want %d", c.since, c.fields, got.status, c.want)
		}
		switch {
		case c.want == 412:
			if got.err != request.ErrRefused || got.head != "" || got.r.Response.Close || len(got.r.Response.Headers) > 0 {
				t.Errorf("%q: got %v %q, close %v, %v; want a refusal that leaves nothing behind", c.fields, got.err, got.head, got.r.Response.Close, got.r.Response.Headers)
			}
		case c.want == 304:
			if got.head != "304 \nmodified: 1709208001\nETag: \"t\"\nX-Outer: o\n" || got.body != "" {
				t.Errorf("%q: got %q %q", c.fields, got.head, got.body)
			}
		}
	}
}

// What is not judged: errors, and what an upstream made.
func TestConditionsThatAreNotJudged(t *testing.T) {
	h := compile(t, "")
	for name, set := range map[string]func(*request.Response){
		"an error":    func(out *request.Response) { out.Status = 404 },
		"an upstream": func(out *request.Response) { out.Proxied = true },
	} {
		if got := answer(t, h, set, getRoot, "If-Match: x", "If-None-Match: *"); got.err != nil || got.body != text {
			t.Errorf("%s: got %v %q, want the whole body", name, got.err, got.body)
		}
	}
	plain := func(out *request.Response) { out.Dated, out.Headers = false, nil }
	for _, c := range []struct {
		field string
		want  int
	}{{"If-None-Match: *", 304}, {"If-None-Match: x", 200}, {"If-Match: x", 412}, {"If-Match: *", 200}, {"If-Modified-Since: " + at, 200}, {"If-Unmodified-Since: " + at, 412}} {
		if got := answer(t, h, plain, getRoot, c.field); got.status != c.want {
			t.Errorf("nothing is known, %s: got %d, want %d", c.field, got.status, c.want)
		}
	}
}

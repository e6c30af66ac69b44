package pipeline

import (
	"fmt"
	"testing"
)

// TestLocationStaysOneLine sends line breaks in a path that a Location is made of.
func TestLocationStaysOneLine(t *testing.T) {
	g := start(t, `server { location /ret { return 302 http://other$uri; } location /path { return 301 $uri; } location /rw { rewrite ^ http://other$uri redirect; }
		location /page { error_page 404 http://other$uri; return 404; } }`)
	for path, want := range map[string]string{
		"/ret/%0d%0aX:%20y":  "http://other/ret/%0D%0AX: y",
		"/path/%0d%0aX:%20y": "http://h/path/%0D%0AX: y",
		"/rw/%0a":            "http://other/rw/%0A",
		"/page/%0D":          "http://other/page/%0D",
	} {
		if got := g.get(path).location(); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestScopesOfABlock looks at who serves a request that an if or a limit_except put elsewhere.
func TestScopesOfABlock(t *testing.T) {
	g := start(t, `server { server_name s; root html;
		location / { limit_rate 1k; default_type a/b; if ($arg_v = 1) { limit_rate 2k; } if ($arg_w = 1) { add_header X-W w; } limit_except GET { deny all; } }
		location /in { internal; return 200 in; } location /go { rewrite ^ /in last; } }`)
	for _, c := range []struct {
		line   string
		status int
		kind   string
	}{
		{"GET /x HTTP/1.1", 404, "/"}, {"GET /x?v=1 HTTP/1.1", 404, "if"}, {"GET /x?w=1 HTTP/1.1", 404, "if"}, {"DELETE / HTTP/1.1", 403, "limit_except"}, {"DELETE /?v=1 HTTP/1.1", 403, "limit_except"},
		{"GET /in HTTP/1.1", 404, "/in"}, {"GET /go HTTP/1.1", 200, "/in"},
	} {
		a := g.ask(c.line)
		if a.Response.Status != c.status || g.program.scopes[a.Location].name != c.kind {
			t.Errorf("%s: got %d in %q, want %d in %q", c.line, a.Response.Status, g.program.scopes[a.Location].name, c.status, c.kind)
		}
	}
	two, three := g.ask("GET /x?v=1 HTTP/1.1"), g.ask("GET /x?v=1&w=1 HTTP/1.1")
	if two.Location == three.Location || fmt.Sprint(two.Settings.DefaultType) != fmt.Sprint(three.Settings.DefaultType) {
		t.Errorf("got scopes %d and %d: the last block whose condition held serves, and inherits", two.Location, three.Location)
	}
}

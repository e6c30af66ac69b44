package static

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const etag = `"695735a5-6"`

// The parts that a filter leaves over are sent with their leads, in its order, and nothing else.
type parts []request.Part

func (p parts) ShapeHead(r *request.Request) error {
	if len(p) == 0 {
		r.Fail(412)
		return request.ErrRefused
	}
	r.Response.Parts, r.Response.Tail = p, []byte("|end")
	return nil
}

func (parts) SendBody(r *request.Request, p []byte) error { return r.Stream.SendBody(p) }

func (parts) Settle(*request.Request) {}

func TestParts(t *testing.T) {
	h := compile(t, tree(t), "/", "")
	for _, c := range []struct {
		parts  parts
		method string
		next   phase.Next
		want   string
	}{
		{parts{{From: 4, To: 6, Lead: []byte("a:")}, {From: 0, To: 2, Lead: []byte("|b:")}}, "GET", phase.Done, "a:o\n|b:he|end"},
		{parts{{From: 1, To: 2}}, "GET", phase.Done, "e|end"},
		{parts{{From: 1, To: 2}}, "HEAD", phase.Done, ""},
		{nil, "GET", phase.Fail, ""},
	} {
		client := &phasetest.Client{}
		r := phasetest.Request(t, c.method+" /a.txt HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
		r.Shaper = c.parts
		if next := h.Serve(r); next != c.next || client.Body() != c.want {
			t.Errorf("%s %v: got %v %q, want %v %q", c.method, c.parts, next, client.Body(), c.next, c.want)
		}
	}
}

// tree makes the files of the tests and returns their folder.
func tree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"www/a.txt": "hello\n", "www/noext": "x", "www/b.WEIRD": "w", "www/up.HTML": "u", "www/idx/index.html": "<p>", "www/dir/x": "x",
		"www/sp ace/q?/f": "s", "www/empty": "", "outside": "secret", "wwwx/f": "other",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compile returns the handler of a location in a server whose root is www below dir.
func compile(t testing.TB, dir, location, directives string) *Handler {
	t.Helper()
	http, env := phasetest.Config(t, "server { root "+dir+"/www; location "+location+" { "+directives+" } }")
	fields := strings.Fields(location)
	h := Compile(env, phasetest.Location(t, http, fields[len(fields)-1])).(*Handler)
	phasetest.Good(t, env)
	return h
}

// ask sends a request, by its line and further fields, and returns it with its client, its log and what came next.
func ask(t testing.TB, h *Handler, line string, fields ...string) (*request.Request, *phasetest.Client, *phasetest.Log, phase.Next) {
	t.Helper()
	c, log := &phasetest.Client{}, &phasetest.Log{}
	r := phasetest.Request(t, line+" HTTP/1.1\r\nHost: h\r\n"+strings.Join(append(fields, "\r\n"), "\r\n"), c, log)
	r.Settings.DefaultType = []byte("application/x-d")
	r.Settings.Types = map[string][]byte{"txt": []byte("text/plain"), "html": []byte("text/html")}
	if strings.Contains(line, "/rx/") {
		r.Captures = [][]byte{r.URI, r.URI[len("/rx/"):]}
	}
	return r, c, log, h.Serve(r)
}

// try_files and the like may bring a path that a client had a hand in.
func TestAPathOfVariablesStaysBelowItsRoot(t *testing.T) {
	h := compile(t, tree(t), "/", "")
	log := &phasetest.Log{}
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, log)
	r.URI = []byte("/../outside")
	if next := h.Serve(r); next != phase.Fail || r.Response.Status != 404 || !strings.Contains(log.Text(), `"/../outside" leads out of its root`) {
		t.Errorf("got %v %d and %q, want Fail 404 and a line that says so", next, r.Response.Status, log.Text())
	}
}

func TestFiles(t *testing.T) {
	dir := tree(t)
	const plain = "200 \nlength: 6\ntype: text/plain\nmodified: 1767323045\nETag: " + etag + "\n"
	for _, c := range []struct {
		name, location, directives, line string
		next                             phase.Next
		status                           int
		want                             string // head and body, the new path, or the Location
		log                              string
	}{
		{"a file", "/", "", "GET /a.txt", phase.Done, 200, plain + "hello\n", ""},
		{"HEAD", "/", "", "HEAD /a.txt", phase.Done, 200, plain, ""},
		{"below an alias", "/al/", "alias DIR/www/;", "GET /al/a.txt", phase.Done, 200, plain + "hello\n", ""},
		{"below an alias without slashes", "/al", "alias DIR/www;", "GET /al/a.txt", phase.Done, 200, plain + "hello\n", ""},
		{"alias in an expression", "~ ^/rx/(.*)$", "alias DIR/www/$1;", "GET /rx/a.txt", phase.Done, 200, plain + "hello\n", ""},
		{"root with a variable", "/", "root DIR/$arg_x;", "GET /a.txt?x=www", phase.Done, 200, plain + "hello\n", ""},
		{"no file", "/", "", "GET /nope", phase.Fail, 404, "", `error: open() "DIR/www/nope" failed (2: No such file or directory)`},
		{"below a file", "/", "", "GET /a.txt/x", phase.Fail, 404, "", `error: open() "DIR/www/a.txt/x" failed (20: Not a directory)`},
		{"no file for POST", "/", "", "POST /nope", phase.Fail, 404, "", `error: open() "DIR/www/nope" failed (2: No such file or directory)`},
		{"POST", "/", "", "POST /a.txt", phase.Fail, 405, "", ""},
		{"PUT", "/", "", "PUT /a.txt", phase.Fail, 405, "", ""},
		{"a folder without its slash", "/", "", "GET /dir", phase.Fail, 301, "/dir/", ""},
		{"and with arguments", "/", "", "GET /sp%20ace/q%3F?a=%20", phase.Fail, 301, "/sp%20ace/q%3F/?a=%20", ""},
		{"an alias without its slash", "/al", "alias DIR/www;", "GET /al", phase.Fail, 301, "/al/", ""},
		{"index", "/", "", "GET /idx/?q", phase.Detour, 0, "/idx/index.html", ""},
		{"index below an alias", "/al/", "alias DIR/www/idx/; index nope $arg_n index.html;", "GET /al/?n=none", phase.Detour, 0, "/al/index.html", ""},
		{"an index that comes to nothing is the folder itself, as in nginx", "/idx/", "index $arg_n index.html;", "GET /idx/", phase.Detour, 0, "/idx/", ""},
		{"absolute index", "/", "index nope /a.txt;", "GET /dir/", phase.Detour, 0, "/a.txt", ""},
		{"no index", "/", "", "GET /dir/", phase.Fail, 403, "", `error: directory index of "DIR/www/dir/" is forbidden`},
		{"no index for DELETE", "/", "", "DELETE /idx/", phase.Fail, 405, "", ""},
		{"no folder", "/", "", "GET /no/", phase.Fail, 404, "", `error: "DIR/www/no/index.html" is not found (2: No such file or directory)`},
		{"index below a file", "/", "", "GET /a.txt/", phase.Fail, 404, "", `error: "DIR/www/a.txt/index.html" is not found (20: Not a directory)`},
		{"out of an alias", "/al", "alias DIR/www/;", "GET /al../outside", phase.Fail, 404, "", `error: "/al../outside" leads out of its root`},
		{"beside an alias, as nginx", "/al", "alias DIR/www;", "GET /alx/f", phase.Done, 200, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := compile(t, dir, c.location, strings.ReplaceAll(c.directives, "DIR", dir))
			r, client, log, next := ask(t, h, c.line)
			if next != c.next || r.Response.Status != c.status {
				t.Errorf("got %v %d, want %v %d", next, r.Response.Status, c.next, c.status)
			}
			got := client.Head() + client.Body()
			switch {
			case next == phase.Detour:
				got = string(r.Detour.Path)
			case r.Response.Status == 301:
				got = string(r.Response.Location)
			}
			if got != c.want && c.want+c.log != "" && c.want != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got, want := strings.TrimSpace(log.Messages()), strings.ReplaceAll(c.log, "DIR", dir); got != want {
				t.Errorf("log: got %q, want %q", got, want)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	h := compile(t, tree(t), "/", "")
	for path, want := range map[string]string{"/a.txt": "text/plain", "/up.HTML": "text/html", "/noext": "application/x-d", "/b.WEIRD": "application/x-d"} {
		r, _, _, _ := ask(t, h, "GET "+path)
		if got := string(r.Response.ContentType); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestALongFile(t *testing.T) {
	dir := tree(t)
	text := strings.Repeat("0123456789", 50_000)
	if err := os.WriteFile(filepath.Join(dir, "www/long"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, client, _, _ := ask(t, compile(t, dir, "/", ""), "GET /long")
	if client.Body() != text {
		t.Errorf("got %d bytes, want %d", len(client.Body()), len(text))
	}
}

func TestSendingFails(t *testing.T) {
	h := compile(t, tree(t), "/", "")
	r := phasetest.Request(t, "GET /a.txt HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{Fail: true}, nil)
	if next := h.Serve(r); next != phase.Done || !r.Response.Silent {
		t.Errorf("got %v, silent %v; want Done and silent", next, r.Response.Silent)
	}
}

func TestRoot(t *testing.T) {
	for _, c := range []struct {
		text, want string
		alias      int
	}{
		{"server { location / { } }", "/pre/html", 0},
		{"server { root rel/; location / { } }", "/pre/rel", 0},
		{"root /outer; server { location / { } }", "/outer", 0},
		{"server { root /s; location /a { alias /b/; location / { } } }", "/b/", 2},
		{"server { location / { root $host/x; } }", "/pre/h/x", 0},
		{"server { location / { root /$host; } }", "/h", 0},
		{"server { location / { root /; } }", "", 0},
	} {
		text := c.text
		pattern := "/"
		if strings.Contains(text, "alias") {
			text, pattern = strings.Replace(text, "location / ", "location /a/b ", 1), "/a/b"
		}
		http, env := phasetest.Config(t, text)
		env.Prefix = "/pre"
		var scope *conf.Scope = phasetest.Location(t, http, pattern)
		root := Root(env, scope)
		phasetest.Good(t, env)
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, nil)
		if got := string(root.Append(r, nil)); got != c.want || root.Alias != c.alias {
			t.Errorf("%s: got %q and %d, want %q and %d", c.text, got, root.Alias, c.want, c.alias)
		}
	}
}

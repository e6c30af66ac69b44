package conf

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files is a Disk in memory; names are absolute.
type files map[string]string

func (f files) fs() fs.ReadDirFS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func under(name string) string {
	if name = strings.Trim(name, "/"); name != "" {
		return name
	}
	return "."
}

func (f files) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(f.fs(), under(name)) }
func (f files) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.fs(), under(name)) }
func (f files) Lstat(name string) (fs.FileInfo, error)     { return fs.Stat(f.fs(), under(name)) }

// load reads one text that must be good.
func load(t *testing.T, text string) *Config {
	t.Helper()
	c, errs := Load(Options{Path: "/x.conf", Disk: files{"/x.conf": text}})
	for _, err := range errs.List() {
		t.Errorf("%s: %s", err.Pos, err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return c
}

// location returns the location of a pattern, wherever it stands.
func location(t *testing.T, c *Config, pattern string) *Scope {
	t.Helper()
	var found *Scope
	c.Main.Walk(func(s *Scope) {
		if s.Place != nil && s.Place.Pattern == pattern {
			found = s
		}
	})
	if found == nil {
		t.Fatalf("no location %s", pattern)
	}
	return found
}

func texts(list []*Directive) []string {
	var out []string
	for _, d := range list {
		words := []string{d.Name}
		for _, a := range d.Args {
			words = append(words, a.Text)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func TestInheritance(t *testing.T) {
	c := load(t, `
events {}
error_log main.log;
http {
    limit_req_zone $uri zone=a:1m rate=1r/s;
    limit_req_zone $uri zone=b:1m rate=1r/s;
    limit_req zone=a;
    limit_req zone=b burst=2;
    allow 10.0.0.1;
    send_timeout 1s;
    index a.html;
    index b.html;
    server {
        send_timeout 2s;
        root r;
        location / {
            limit_req zone=b;
            deny all;
            allow 10.0.0.2;
            proxy_pass http://127.0.0.1;
            location /in { send_timeout 3s; }
        }
        location /other { }
    }
}`)
	for _, test := range []struct {
		at    string
		names []string
		want  []string
	}{
		{"/", []string{"limit_req"}, []string{"limit_req zone=b"}},
		{"/in", []string{"limit_req"}, []string{"limit_req zone=b"}},
		{"/other", []string{"limit_req"}, []string{"limit_req zone=a", "limit_req zone=b burst=2"}},
		{"/", []string{"send_timeout"}, []string{"send_timeout 2s"}},
		{"/in", []string{"send_timeout"}, []string{"send_timeout 3s"}},
		{"/in", []string{"allow", "deny"}, []string{"deny all", "allow 10.0.0.2"}},
		{"/other", []string{"allow", "deny"}, []string{"allow 10.0.0.1"}},
		{"/in", []string{"index"}, []string{"index a.html", "index b.html"}},
		{"/", []string{"proxy_pass"}, []string{"proxy_pass http://127.0.0.1"}},
		{"/in", []string{"proxy_pass"}, nil},
		{"/in", []string{"limit_req_zone"}, nil},
		{"/in", []string{"error_log"}, []string{"error_log main.log"}},
		{"/in", []string{"add_header"}, nil},
	} {
		got := texts(location(t, c, test.at).All(test.names...))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", test.at, test.names, diff)
		}
	}
	d, ok := location(t, c, "/in").Get("root")
	if !ok || d.Arg(0) != "r" || d.Scope.Kind != Server {
		t.Errorf("root: got %v %v, want the server's", d, ok)
	}
	if _, ok := location(t, c, "/in").Get("alias"); ok {
		t.Error("alias: there is none")
	}
	if s := location(t, c, "/in").Enclosing(Server | HTTP); s.Kind != Server {
		t.Errorf("enclosing: got %s, want server", s.Kind)
	}
	if c.HTTP() == nil || len(c.HTTP().Own("limit_req_zone")) != 2 {
		t.Error("http: want its two zones")
	}
}

func TestScopeTree(t *testing.T) {
	c := load(t, `
events { worker_connections 10; }
http {
    map $uri $x { default 0; "a b" 1; include none*.inc; }
    geo $y { 10.0.0.0/8 z; }
    types { text/html html; }
    upstream u { server 127.0.0.1; keepalive 2; }
    server { location ^~ /a { } location ~* "\.X$" { } location = /b { } location @c { } }
}`[1:]+"\n")
	var got []string
	c.Main.Walk(func(s *Scope) {
		line := s.Kind.String()
		if s.Place != nil {
			line += " " + s.Place.Pattern
		}
		got = append(got, line+": "+strings.Join(texts(s.Directives), ", "))
	})
	want := []string{
		"main: events, http",
		"events: worker_connections 10",
		"http: map $uri $x, geo $y, types, upstream u, server",
		"map: default 0, a b 1",
		"geo: 10.0.0.0/8 z",
		"types: text/html html",
		"upstream: server 127.0.0.1, keepalive 2",
		`server: location ^~ /a, location ~* \.X$, location = /b, location @c`,
		"location /a: ", `location \.X$: `, "location /b: ", "location @c: ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if re := location(t, c, `\.X$`).Place; re.Modifier != RegexpFold || !re.Regexp.MatchString("a.x") {
		t.Errorf("expression: %+v", re)
	}
}

func TestErrorsAreSortedAndCountedOnce(t *testing.T) {
	var e Errors
	at := func(order int) Pos { return Pos{File: "f", Line: order, Order: order} }
	e.httpEnd = 50
	e.Late(AtStart, Pos{}, "start", "")
	e.Late(AtHTTPEnd, at(3), "http end", "")
	e.Add(at(60), "behind http", "")
	e.Add(at(9), "second", "")
	e.Add(at(4), "first", "")
	e.Add(at(9), "second", "said again")
	e.Note(at(2), "note b", "")
	e.Note(at(1), "note a", "")
	e.Note(at(1), "note a", "")
	messages := func(list []*Error) []string {
		var out []string
		for _, err := range list {
			out = append(out, err.Msg)
		}
		return out
	}
	if diff := cmp.Diff([]string{"first", "second", "http end", "behind http", "start"}, messages(e.List())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"note a", "note b"}, messages(e.Notices())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file that is one fault after the other is read in a time that grows with it, no faster.
func TestManyFaults(t *testing.T) {
	const n = 100_000
	began := time.Now()
	_, errs := Load(Options{Path: "/x.conf", Disk: files{"/x.conf": "events {}" + strings.Repeat("}", n)}})
	if got := len(errs.List()); got != n {
		t.Errorf("got %d faults, want %d", got, n)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%d faults took %v", n, took)
	}
}

func TestGlobals(t *testing.T) {
	disk := files{"/x.conf": "events {}\npid b;\n", "/g.inc": "daemon on;"}
	for _, test := range []struct {
		globals string
		want    []string
	}{
		{"daemon off; user root;", nil},
		{"pid a;", []string{`"pid" directive is duplicate in /x.conf:2`}},
		{"nonsense 1;", []string{`unknown directive "nonsense" in command line`}},
		{"daemon off", []string{`unexpected end of parameter, expecting ";" in command line`}},
		{"http { }", []string{"block directives are not supported in -g option in command line"}},
		{"daemon off; }", []string{`unexpected "}" in command line`}},
		{"include /g.inc; daemon on;", []string{`"daemon" directive is duplicate in command line`}},
	} {
		_, errs := Load(Options{Path: "/x.conf", Disk: disk, Globals: test.globals})
		var got []string
		for _, err := range errs.List() {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.globals, diff)
		}
	}
}

func TestMissingMainFile(t *testing.T) {
	_, errs := Load(Options{Path: "/none.conf", Disk: files{}})
	got := errs.List()
	if len(got) != 1 || got[0].Error() != `open() "/none.conf" failed (2: No such file or directory)` {
		t.Errorf("got %v", got)
	}
}

package match

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// site is the locations of one server and how the tests name them.
type site struct {
	locations *Locations
	labels    []string // by the index of a scope: modifier and pattern; the server is "-"
}

// build compiles the inside of a server.
func build(t testing.TB, text string) *site {
	t.Helper()
	http, env := phasetest.Config(t, "server {\n"+text+"\n}")
	env.Vars.Define(http, env.Errors)
	s := &site{}
	index := map[*conf.Scope]int{}
	server := http.Children[0]
	server.Walk(func(scope *conf.Scope) {
		index[scope] = len(s.labels)
		label := "-"
		if scope.Place != nil {
			label = strings.TrimSpace([]string{"", "=", "^~", "~", "~*", ""}[scope.Place.Modifier] + " " + scope.Place.Pattern)
		}
		s.labels = append(s.labels, label)
	})
	s.locations = Compile(env, server, index)
	phasetest.Good(t, env)
	return s
}

// where says which location a path belongs to, or where it is sent.
func (s *site) where(path string) (string, *request.Request) {
	r := &request.Request{Conn: &request.Conn{}}
	r.Reset()
	uri, args, _ := strings.Cut(path, "?")
	r.URI, r.Args = []byte(uri), []byte(args)
	if s.locations.Serve(r) == phase.Fail {
		return fmt.Sprintf("%d %s", r.Response.Status, r.Response.Location), r
	}
	return s.labels[r.Location], r
}

func TestPrecedence(t *testing.T) {
	cases := map[string]struct {
		locations string
		want      map[string]string
	}{
		"nothing fits": {`location /a { }`, map[string]string{"/b": "-", "/": "-", "/a": "/a", "/ab": "/a"}},
		"exact over all": {`location ~ a { } location ^~ /a { } location = /a { }`,
			map[string]string{"/a": "= /a", "/ab": "^~ /a", "/ba": "~ a"}},
		"expressions over prefixes, in their order": {`location /a { } location ~ b$ { } location ~* B { } location ^~ /ab/c { }`,
			map[string]string{"/a": "/a", "/ab": "~ b$", "/abx": "~* B", "/aBx": "~* B", "/ab/cb": "^~ /ab/c"}},
		"the longest prefix": {`location / { } location /a { } location /a/b { } location /a/b/c { } location /a.x { }`,
			map[string]string{"/": "/", "/a": "/a", "/a/": "/a", "/a/bb": "/a/b", "/a/b/cd": "/a/b/c", "/a/c": "/a", "/a.x": "/a.x", "/b": "/"}},
		"exact and prefix of one name": {`location /a { } location = /a { } location /a/b { }`,
			map[string]string{"/a": "= /a", "/ab": "/a", "/a/b": "/a/b"}},
		"nested prefix": {`location /a { location /a/b { } location = /a/b/c { } }`,
			map[string]string{"/a": "/a", "/a/b": "/a/b", "/a/b/c": "= /a/b/c", "/a/b/cd": "/a/b"}},
		"nested expression beats outer one": {`location ~ x { } location /a { location ~ x$ { } }`,
			map[string]string{"/ax": "~ x$", "/axy": "~ x", "/x": "~ x"}},
		"^~ inside keeps only its own block's expressions away": {`location ~ y { } location /a { location ^~ /a/b { } location ~ x { } }`,
			map[string]string{"/a/b/x": "^~ /a/b", "/a/b/y": "~ y", "/a/x": "~ x"}},
		"^~ outside lets nested expressions be tried": {`location ~ y { } location ^~ /a { location ~ x { } }`,
			map[string]string{"/a/x": "~ x", "/a/y": "^~ /a"}},
		"nested in an expression are expressions only": {`location ~ /u/ { location /u/a { } location ~ b$ { location ~ ab$ { } } }`,
			map[string]string{"/u/a": "~ /u/", "/u/cb": "~ b$", "/u/ab": "~ ab$", "/u/c": "~ /u/"}},
		"case": {`location /A { } location ~ B { } location ~* c { }`,
			map[string]string{"/a": "-", "/A": "/A", "/b": "-", "/B": "~ B", "/C": "~* c"}},
		"missing slash": {`location /a/ { proxy_pass http://127.0.0.1:9; } location /b/ { } location = /c/ { proxy_pass http://127.0.0.1:9; } location ~ a$ { }`,
			map[string]string{"/a": "301 /a/", "/a?x=1": "301 /a/?x=1", "/a/": "/a/", "/b": "-", "/c": "301 /c/", "/c/d": "-", "/aa": "~ a$"}},
		"missing slash, but there is such a location": {`location /a/ { proxy_pass http://127.0.0.1:9; } location = /a { } location /b/ { proxy_pass http://127.0.0.1:9; } location /b { }`,
			map[string]string{"/a": "= /a", "/b": "/b", "/bc": "/b", "/b/c": "/b/"}},
		"missing slash of a name that needs quotes": {`location "/ä b/" { proxy_pass http://127.0.0.1:9; }`,
			map[string]string{"/ä b": "301 /%C3%A4%20b/"}},
		"missing slash inside a prefix": {`location / { location /u/ { proxy_pass http://127.0.0.1:9; } } location ~ u { }`,
			map[string]string{"/u": "301 /u/", "/u/": "~ u"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := build(t, c.locations)
			for path, want := range c.want {
				if got, _ := s.where(path); got != want {
					t.Errorf("%s: got %s, want %s", path, got, want)
				}
			}
		})
	}
}

func TestCaptures(t *testing.T) {
	s := build(t, `location ~ ^/(?<kind>u)/(\d+)(x)?$ { } location ~ plain { }`)
	_, r := s.where("/u/12")
	want := []string{"/u/12", "u", "12", ""}
	if len(r.Captures) != len(want) {
		t.Fatalf("got %d captures, want %d", len(r.Captures), len(want))
	}
	for i, w := range want {
		if got := string(r.Captures[i]); got != w {
			t.Errorf("$%d: got %q, want %q", i, got, w)
		}
	}
	if len(r.Slots) != 1 || string(r.Slots[0].Value) != "u" {
		t.Errorf("$kind: got %v, want u", r.Slots)
	}
	if _, r := s.where("/plain"); len(r.Captures) != 0 {
		t.Errorf("got %d captures of an expression without groups, want none", len(r.Captures))
	}
}

func TestNamed(t *testing.T) {
	s := build(t, `location / { } location @a { }`)
	if scope, found := s.locations.Named([]byte("@a")); !found || s.labels[scope] != "@a" {
		t.Errorf("@a: got %d, %v", scope, found)
	}
	if _, found := s.locations.Named([]byte("@b")); found {
		t.Error("@b was found")
	}
	if got, _ := s.where("/@a"); got != "/" {
		t.Errorf("/@a: got %s, want /", got)
	}
}

// TestLongestAgainstASimpleTwin compares the look-up in the sorted table with trying every prefix.
func TestLongestAgainstASimpleTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	path := func() string {
		b := []byte{'/'}
		for range random.IntN(7) {
			b = append(b, "ab/."[random.IntN(4)])
		}
		return string(b)
	}
	for range 300 {
		l := &level{}
		names := map[string]bool{}
		for range random.IntN(12) {
			if n := path(); !names[n] {
				names[n] = true
				l.add(n, false, &target{})
			}
		}
		l.seal()
		for range 60 {
			uri, want := path(), ""
			for n := range names {
				if strings.HasPrefix(uri, n) && len(n) > len(want) {
					want = n
				}
			}
			got := ""
			if p := l.longest([]byte(uri)); p != nil {
				got = p.name
			}
			if got != want {
				t.Fatalf("%q among %v: got %q, want %q", uri, names, got, want)
			}
		}
	}
}

func TestNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("expressions take memory from a pool, which forgets under the race detector")
	}
	s := build(t, `location / { } location /api/ { location /api/v1/ { } location ~ ^/api/v2/ { } }
		location = /exact { } location ~ \.php$ { } location /p/ { proxy_pass http://127.0.0.1:9; }`)
	r := &request.Request{Conn: &request.Conn{}}
	for _, path := range []string{"/", "/api/v1/users/1", "/api/v2/users", "/exact", "/x.php", "/nothing/here"} {
		r.URI = []byte(path)
		if n := testing.AllocsPerRun(100, func() { s.locations.Serve(r) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", path, n)
		}
	}
}

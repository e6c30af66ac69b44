package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// entered notes the scopes that a request is put into.
type entered struct{ scopes *[]int }

func (e entered) Enter(_ *request.Request, scope int) { *e.scopes = append(*e.scopes, scope) }

// compiled compiles the location / of a server, whose if blocks are numbered in their order.
func compiled(t *testing.T, env *phase.Env, http *conf.Scope) phase.Handler {
	t.Helper()
	index := map[*conf.Scope]int{}
	location := phasetest.Location(t, http, "/")
	location.Walk(func(s *conf.Scope) { index[s] = len(index) })
	return Compile(env, location, entered{new([]int)}, index)
}

// run compiles the location / of a server and serves a request there.
func run(t *testing.T, directives, target string) (string, *request.Request) {
	t.Helper()
	http, env := phasetest.Config(t, "map $uri $never { default x; }\nserver { location / { "+directives+" } }")
	env.Vars.Define(http, env.Errors)
	h := compiled(t, env, http)
	phasetest.Good(t, env)
	var client phasetest.Client
	r := phasetest.Request(t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n", &client, nil)
	r.Settings = &request.Settings{DefaultType: []byte("text/plain"), Types: map[string][]byte{"html": []byte("text/html")}}
	if h == nil {
		return "none", r
	}
	next := h.Serve(r)
	switch next {
	case phase.Continue:
		return "goes on", r
	case phase.Fail:
		return fmt.Sprintf("fails %d %q", r.Response.Status, r.Response.Location), r
	}
	return strings.ReplaceAll(client.Head()+client.Body(), "\n", "|"), r
}

func TestReturn(t *testing.T) {
	cases := []struct{ directives, target, want string }{
		{``, "/", "none"},
		{`return 200 ok;`, "/", "200 |length: 2|type: text/plain|ok"},
		{`return 200 "$uri $args";`, "/a.html?b", "200 |length: 9|type: text/html|/a.html b"},
		{`return 200;`, "/", "200 |length: 0|type: text/plain|"},
		{`return 404;`, "/", `fails 404 ""`},
		{`return 404 "";`, "/", `fails 404 ""`},
		{`return 404 text;`, "/", "404 |length: 4|type: text/plain|text"},
		{`return 301 /x$uri;`, "/a", `fails 301 "/x/a"`},
		{`return 308;`, "/a", `fails 308 ""`},
		{`return 204;`, "/a", "204 |type: text/plain|"},
		{`return http://a/$host;`, "/", `fails 302 "http://a/h"`},
		{`return $scheme://x;`, "/", `fails 302 "http://x"`},
		{`set $a 1; return 200 $a; set $a 2; return 500;`, "/", "200 |length: 1|type: text/plain|1"},
	}
	for _, c := range cases {
		if got, _ := run(t, c.directives, c.target); got != c.want {
			t.Errorf("%s on %s: got %s, want %s", c.directives, c.target, got, c.want)
		}
	}
}

func TestSetInOrder(t *testing.T) {
	got, _ := run(t, `set $a "$uri"; set $b "$a$a"; set $a ""; return 200 "$b,$a,$c"; set $c late;`, "/x")
	if want := "200 |length: 6|type: text/plain|/x/x,,"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSetLimitRate(t *testing.T) {
	got, r := run(t, `set $limit_rate 2k;`, "/")
	if got != "goes on" || !r.LimitRate.Set || r.LimitRate.BytesPerSec != 2048 {
		t.Errorf("got %s, rate %+v; want 2048 bytes a second", got, r.LimitRate)
	}
}

func TestAnswersBelow100AreSilence(t *testing.T) {
	_, r := run(t, `return 0 x;`, "/")
	if !r.Response.Silent || r.Response.Status != 0 {
		t.Errorf("silent %v, status %d", r.Response.Silent, r.Response.Status)
	}
}

func TestFaults(t *testing.T) {
	cases := map[string]string{
		`return 1000;`:             `invalid return code "1000"`,
		`return abc;`:              `invalid return code "abc"`,
		`return 200 $nosuch;`:      `unknown "nosuch" variable`,
		`set host x;`:              `invalid variable name "host"`,
		`set $host x;`:             `the duplicate "host" variable`,
		`set $x $nosuch;`:          `unknown "nosuch" variable`,
		`if ($nosuch) { }`:         `unknown "nosuch" variable`,
		`if (${host}) { }`:         `unknown "{host}" variable`,
		`if ($host=x) { }`:         `unknown "host=x" variable`,
		`rewrite ^ /x$;`:           `invalid variable name`,
		`rewrite ^ /${x;`:          `the closing bracket in "x" variable is missing`,
		`if ($1 = x) { }`:          `unknown "1" variable`,
		`if ($host = $nosuch) { }`: `unknown "nosuch" variable`,
		`if (-f $nosuch) { }`:      `unknown "nosuch" variable`,
		`rewrite ^ $nosuch;`:       `unknown "nosuch" variable`,
		`rewrite ^ /x?$nosuch;`:    `unknown "nosuch" variable`,
		`rewrite (?<host>) /x;`:    `the duplicate "host" variable`,
	}
	for directives, want := range cases {
		http, env := phasetest.Config(t, "server { location / { "+directives+" } }")
		env.Vars.Define(http, env.Errors)
		http.Walk(func(s *conf.Scope) { Compile(env, s, entered{}, nil) })
		list := env.Errors.List()
		if len(list) != 1 || list[0].Msg != want {
			t.Errorf("%s: got %v, want %s", directives, list, want)
		}
	}
}

func TestNoGarbage(t *testing.T) {
	http, env := phasetest.Config(t, `server { location / { set $a "$remote_addr-$uri"; rewrite ^/p /inside?x=$a; rewrite ^/other /never last;
		if ($request_method = POST) { return 405; } if ($args ~* never) { return 404; } if ($uri = "/$arg_x") { return 403; } if ($a) { set $b "$a$uri"; } return 200 "hello $b"; } }`)
	env.Vars.Define(http, env.Errors)
	h := compiled(t, env, http)
	phasetest.Good(t, env)
	r := phasetest.Request(t, "GET /path HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, nil)
	conn, uri, addr := r.Conn, r.URI, r.ClientAddr
	var stream request.Stream = quiet{r.Stream}
	settings := &request.Settings{DefaultType: []byte("text/plain")}
	serve := func() {
		r.Reset()
		r.Conn, r.URI, r.ClientAddr, r.Settings, r.Stream = conn, uri, addr, settings, stream
		h.Serve(r)
	}
	serve()
	if n := testing.AllocsPerRun(100, serve); n != 0 && !racing.Detector {
		t.Errorf("%v allocations, want 0", n)
	}
}

// quiet is a client that records nothing.
type quiet struct{ request.Stream }

func (quiet) SendHead(*request.Request) error { return nil }
func (quiet) SendBody([]byte) error           { return nil }

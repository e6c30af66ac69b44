package upstream

import (
	"net"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

func TestFieldNames(t *testing.T) {
	var s fieldNames
	for _, n := range []string{"X-Own", "Set-Cookie", "x-another"} {
		s.add(n)
	}
	s.remove("X-ANOTHER")
	s.remove("Server")
	for name, want := range map[string]bool{"x-own": true, "X-OWN": true, "set-COOKIE": true, "X-Another": false, "Server": false, "X-Owm": false} {
		f := request.Header{Name: []byte(name), ID: header.Lookup([]byte(name))}
		if got := s.has(&f); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestRedirects(t *testing.T) {
	for _, c := range []struct{ pass, directives, location, want string }{
		{"http://BACKEND", "", "http://BACKEND/x", "/x"},
		{"http://BACKEND", "", "http://BACKEND", "http://BACKEND"},
		{"http://BACKEND/base/", "", "http://BACKEND/base/x", "/x"},
		{"http://BACKEND/base/", "", "http://BACKEND/x", "http://BACKEND/x"},
		{"http://BACKEND", "proxy_redirect off;", "http://BACKEND/x", "http://BACKEND/x"},
		{"http://BACKEND", "proxy_redirect http://a/ http://b/; proxy_redirect default;", "http://BACKEND/x", "/x"},
		{"http://BACKEND", "proxy_redirect http://a/ http://b/; proxy_redirect default;", "http://a/x", "http://b/x"},
		{"http://BACKEND", "proxy_redirect http://a/ http://b/;", "http://BACKEND/x", "http://BACKEND/x"},
		{"http://BACKEND", "proxy_redirect http://$arg_v/ http://$host/;", "http://w/x", "http://h/x"},
		{"http://BACKEND", `proxy_redirect ~^http://([a-z]+)/(.*)x$ /$1/$2;`, "http://one/two/x", "/one/two/"},
		{"http://BACKEND", `proxy_redirect ~ONE /no; proxy_redirect ~*ONE /yes;`, "http://one/two", "/yes"},
		{"http://BACKEND", `proxy_redirect /a ""; proxy_redirect "" /b;`, "/c", "/b/c"},
		{"http://$wanted", "", "http://BACKEND/x", "http://BACKEND/x"},
	} {
		var b *backend
		b = listen(t, func(nc net.Conn, _ int) {
			if _, err := readRequest(nc); err == nil {
				_, _ = nc.Write([]byte("HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: " + strings.ReplaceAll(c.location, "BACKEND", b.addr) + "\r\n\r\n"))
			}
		})
		g := open(t, strings.ReplaceAll("map $http_x $wanted { default BACKEND; }"+simple(c.pass, c.directives), "BACKEND", b.addr), "/")
		r, _, _ := g.get(t, "/?v=w")
		got := string(r.Response.Location)
		for _, h := range r.Response.Headers {
			if h.ID == header.Location {
				got = string(h.Value)
			}
		}
		got = strings.TrimPrefix(got, "http://h/")
		want := strings.TrimPrefix(strings.ReplaceAll(c.want, "BACKEND", b.addr), "http://h/")
		if strings.TrimPrefix(got, "/") != strings.TrimPrefix(want, "/") {
			t.Errorf("%s %s %s: got %q, want %q; log %s", c.pass, c.directives, c.location, got, want, g.log.Text())
		}
	}
}

func TestInterceptedErrorsKeepTheConnection(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		conns        int
	}{
		{"no body", "HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n", 1},
		{"a body that nobody reads", "HTTP/1.1 404 N\r\nContent-Length: 3\r\n\r\nabc", 3},
		{"a body still to come", "HTTP/1.1 404 N\r\nContent-Length: 300\r\n\r\n", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			conns := make(chan int, 9)
			b := listen(t, func(nc net.Conn, n int) {
				conns <- n
				replies(c.answer)(nc, n)
			})
			g := open(t, "upstream u { server "+b.addr+"; keepalive 4; }"+
				simple("http://u", `proxy_http_version 1.1; proxy_set_header Connection ""; proxy_intercept_errors on; error_page 404 /x;`), "/")
			for range 3 {
				r, _, next := g.get(t, "/")
				if next != phase.Fail || r.Response.Status != 404 || len(r.Response.Headers) != 0 {
					t.Fatalf("got %v %d %v", next, r.Response.Status, r.Response.Headers)
				}
			}
			if got := len(conns); got != c.conns {
				t.Errorf("got %d connections, want %d", got, c.conns)
			}
		})
	}
}

func TestOnlyNamedErrorsAreIntercepted(t *testing.T) {
	b := listen(t, once("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nWWW-Authenticate: x\r\nX-A: b\r\n\r\n"))
	for directives, want := range map[string]phase.Next{
		"proxy_intercept_errors on; error_page 503 /x;":     phase.Fail,
		"proxy_intercept_errors on; error_page 500 404 /x;": phase.Done,
		"proxy_intercept_errors on;":                        phase.Done,
		"error_page 503 /x;":                                phase.Done,
	} {
		g := open(t, simple("http://"+b.addr, directives), "/")
		r, _, next := g.get(t, "/")
		if next != want || r.Response.Status != 503 {
			t.Errorf("%s: got %v %d, want %v", directives, next, r.Response.Status, want)
		}
		if v := r.Upstream; len(v) != 3 || string(v[2].Value) != "b" {
			t.Errorf("%s: the answer's fields: got %v", directives, v)
		}
	}
}

func TestLimitRateOfAnAnswer(t *testing.T) {
	for directives, want := range map[string]request.RateSetting{
		"": {Set: true, BytesPerSec: 700},
		"proxy_ignore_headers X-Accel-Limit-Rate;": {},
		"proxy_hide_header X-Accel-Limit-Rate;":    {Set: true, BytesPerSec: 700},
	} {
		b := listen(t, once("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Accel-Limit-Rate: 700\r\n\r\n"))
		g := open(t, simple("http://"+b.addr, directives), "/")
		r, _, _ := g.get(t, "/")
		if r.LimitRate != want {
			t.Errorf("%q: got %+v, want %+v", directives, r.LimitRate, want)
		}
	}
}

func TestMethodAndBodyOfTheUpstreamsOwn(t *testing.T) {
	for _, c := range []struct{ directives, method, want string }{
		{"proxy_method head;", "GET", "head / HTTP/1.0\r\nHost: BACKEND\r\nConnection: close\r\n\r\n"},
		{"proxy_method $arg_m;", "PUT", " /?x HTTP/1.0\r\nHost: BACKEND\r\nConnection: close\r\n\r\n"},
		{`proxy_set_body "";`, "GET", "GET / HTTP/1.0\r\nHost: BACKEND\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"},
		{"proxy_pass_request_headers off;", "GET", "GET / HTTP/1.0\r\nHost: BACKEND\r\nConnection: close\r\n\r\n"},
	} {
		seen := make(chan string, 1)
		b := listen(t, func(nc net.Conn, _ int) {
			request, _ := readRequest(nc)
			seen <- request
			_, _ = nc.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"))
		})
		g := open(t, simple("http://"+b.addr, c.directives), "/")
		target := "/"
		if strings.Contains(c.want, "/?x") {
			target = "/?x"
		}
		r := phasetest.Request(t, c.method+" "+target+" HTTP/1.1\r\nX-Client: c\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
		g.serve["/"].Serve(r)
		want := strings.ReplaceAll(c.want, "BACKEND", b.addr)
		got := strings.ReplaceAll(<-seen, "X-Client: c\r\n", "")
		if got != want {
			t.Errorf("%s: got %q, want %q", c.directives, got, want)
		}
	}
}

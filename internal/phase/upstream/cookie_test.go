package upstream

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/phase/phasetest"
)

// setCookie returns what directives make of a Set-Cookie.
func setCookie(t *testing.T, directives, cookie string) string {
	t.Helper()
	b := listen(t, once("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: "+cookie+"\r\n\r\n"))
	g := open(t, simple("http://"+b.addr, directives), "/")
	r, _, _ := g.get(t, "/x?v=w")
	for _, h := range r.Response.Headers {
		if string(h.Name) == "Set-Cookie" {
			return string(h.Value)
		}
	}
	t.Fatalf("no cookie; log %s", g.log.Text())
	return ""
}

// What nginx 1.22.1 makes of them.
func TestCookies(t *testing.T) {
	const full = "a=b; Path=/; SameSite=None; secure ;HttpOnly"
	for _, c := range []struct{ directives, cookie, want string }{
		{"", full, full},
		{"proxy_cookie_flags ~ secure samesite=lax;", full, "a=b; Path=/; SameSite=Lax; secure; HttpOnly"},
		{"proxy_cookie_flags ~ secure samesite=lax;", "a=b", "a=b; Secure; SameSite=Lax"},
		{"proxy_cookie_flags ~ secure samesite=lax;", "a=;Samesite;x=y; z", "a=; SameSite=Lax; x=y; z; Secure"},
		{"proxy_cookie_flags ~ secure samesite=lax;", "a", "a"},
		{"proxy_cookie_flags a secure nosecure samesite=strict;", full, "a=b; Path=/; SameSite=Strict; secure; HttpOnly"},
		{"proxy_cookie_flags A nosecure httponly nosamesite;", full, "a=b; Path=/; HttpOnly"},
		{"proxy_cookie_flags A nosecure httponly nosamesite;", "a=b", "a=b; HttpOnly"},
		{"proxy_cookie_flags a nosamesite samesite=none bogus;", "a=b", "a=b; SameSite=None"},
		{"proxy_cookie_flags a samesite=lax samesite=strict;", full, "a=b; Path=/; SameSite=Strict; secure; HttpOnly; SameSite=Lax"},
		{"proxy_cookie_flags b secure;", full, full},
		{"proxy_cookie_flags off;", full, full},
		{"proxy_cookie_flags $arg_v secure; proxy_cookie_flags ~^A nohttponly;", full, "a=b; Path=/; SameSite=None; secure"},
		{"proxy_cookie_domain .Example.org new.test;", "a=1; domain=example.ORG", "a=1; domain=new.test"},
		{"proxy_cookie_domain example.org .new.test;", "a=1; domain = .example.org", "a=1; domain=.new.test"},
		{"proxy_cookie_domain example.org new.test;", "a=1; domain=www.example.org;x", "a=1; domain=www.example.org;x"},
		{`proxy_cookie_domain ~\.?([a-z]+)\.net$ $1.$arg_v;`, "a=1; domain=.Foo.NET", "a=1; domain=Foo.w"},
		{"proxy_cookie_path /one /$arg_v;", "a=1; path=/one/two", "a=1; path=/w/two"},
		{"proxy_cookie_path /no /x; proxy_cookie_path ~*^/ONE(.*) $1; proxy_cookie_path / /never;", "a=1; path=/one/two", "a=1; path=/two"},
		{"proxy_cookie_path /one /x;", "a=1; ; path; PATH = /one ;;", "a=1; ; path; PATH=/x; ; "},
		{"proxy_cookie_path /one /x; proxy_cookie_domain d e;", "a; path=/one; domain=d", "a; path=/one; domain=d"},
	} {
		if got := setCookie(t, c.directives, c.cookie); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.directives, c.cookie, got, c.want)
		}
	}
}

func TestAClientWritesNoFieldsOfItsOwnIntoAnAnswer(t *testing.T) {
	b := listen(t, once("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b; path=/x\r\n\r\n"))
	g := open(t, simple("http://"+b.addr, "proxy_cookie_path /x $uri; proxy_set_header X $uri; proxy_method $uri;"), "/")
	client := &phasetest.Client{}
	r := phasetest.Request(t, "GET /%0d%0aX-Evil:%201 HTTP/1.1\r\nHost: h\r\n\r\n", client, g.log)
	g.serve["/"].Serve(r)
	for _, h := range r.Response.Headers {
		if strings.ContainsAny(string(h.Value), "\r\n") {
			t.Errorf("got %s: %q, want no line ends", h.Name, h.Value)
		}
	}
}

func TestATargetOfVariablesStaysOne(t *testing.T) {
	seen := make(chan string, 1)
	b := listen(t, func(c net.Conn, _ int) {
		head, _ := readRequest(c)
		seen <- head
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	g := open(t, simple("http://"+b.addr+"$uri"), "/")
	r := phasetest.Request(t, "GET /a%20b%0d%0aX-Evil:%201%7f?c HTTP/1.1\r\nHost: h\r\n\r\n", &phasetest.Client{}, g.log)
	g.serve["/"].Serve(r)
	const want = "GET /a%20b%0D%0AX-Evil:%201%7F HTTP/1.0\r\n"
	if got := <-seen; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

package upstream

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// patience is how long a request may take on a machine that has other work.
const patience = 10 * time.Second

// judged are configurations whose requests to the backend must be nginx's, byte for byte. BACKEND is its address.
var judged = []struct {
	name, http, location, directives string
	requests                         []string
}{
	{name: "plain", location: "/", directives: "proxy_pass http://BACKEND;", requests: []string{
		"GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nX-One:  1 \r\nx-ONE: 2\r\nTE: trailers\r\nKeep-Alive: 1\r\nConnection: X-One\r\nUpgrade: u\r\nExpect: \r\nX-Empty:\r\nCookie: a\r\nCookie: b\r\n\r\n",
		"GET /a%20b/../c?d=%20 HTTP/1.0\r\n\r\n",
		"HEAD /x HTTP/1.1\r\nHost: H:81\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Type: t\r\n\r\nabc",
		"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"GET http://other/abs?q HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://other?q HTTP/1.1\r\nHost: h\r\n\r\n",
		"PURGE //a//b HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "path", location: "/in/", directives: "proxy_pass http://BACKEND/base/;", requests: []string{
		"GET /in/x?y HTTP/1.1\r\nHost: h\r\n\r\n", "GET /in/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /in/p%2fq%20r%3Fs%23%25%e4%22%3c%3e%5c%5e%60%7b%7c%7d%7e%7f%01'()*+,;=:@!$& HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /in/../in//x{|}^` HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /in/x? HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "path without slash", location: "/in", directives: "proxy_pass http://BACKEND/;", requests: []string{
		"GET /in HTTP/1.1\r\nHost: h\r\n\r\n", "GET /inside/x HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "exact with query", location: "= /in", directives: "proxy_pass http://BACKEND/to?k=v;", requests: []string{
		"GET /in?x HTTP/1.1\r\nHost: h\r\n\r\n", "GET /in HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "set headers", location: "/", directives: `proxy_pass http://BACKEND; proxy_set_header X-Real-IP $remote_addr; proxy_set_header HOST $host;
		proxy_set_header x-forwarded-for $proxy_add_x_forwarded_for; proxy_set_header User-Agent ""; proxy_set_header X-Maybe $http_x_maybe;
		proxy_set_header X-Fixed "a b"; proxy_set_header X-Ph "$proxy_host|$proxy_port|$scheme|$http_host";`, requests: []string{
		"GET / HTTP/1.1\r\nHost: h\r\nUser-Agent: u\r\nX-Maybe: m\r\nx-fixed: mine\r\nX-Forwarded-For: 1.1.1.1\r\nX-Real-IP: 9.9.9.9\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab",
	}},
	{name: "kept", http: "upstream up { server BACKEND; keepalive 4; }", location: "/", directives: `proxy_pass http://up; proxy_http_version 1.1;
		proxy_set_header Connection "";`, requests: []string{
		"GET /k HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "POST /k HTTP/1.0\r\nContent-Length: 1\r\n\r\nx",
	}},
	{name: "upgrade", location: "/", directives: `proxy_pass http://BACKEND; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade;
		proxy_set_header Connection "upgrade";`, requests: []string{
		"GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n", "GET /ws HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "host with variable", location: "/", directives: "set $b BACKEND; proxy_pass http://$b;", requests: []string{
		"GET /v%41?x HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "path with variable", location: "/", directives: "set $b BACKEND; proxy_pass http://$b/x$uri; proxy_set_header X-Ph $proxy_host;", requests: []string{
		"GET /v?x HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "query with variable", location: "/", directives: "set $b BACKEND; proxy_pass http://$b?a=$arg_x;", requests: []string{
		"GET /v?x=1 HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "upstream by variable", http: "upstream Pool { server BACKEND; }", location: "/", directives: "set $b pool; proxy_pass http://$b;", requests: []string{
		"GET /v?x=1 HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "expression", location: "~ ^/(.*)$", directives: `proxy_pass http://BACKEND; proxy_set_header X-Tail "$1";`, requests: []string{
		"GET /tail%20x HTTP/1.1\r\nHost: h\r\n\r\n",
	}},
	{name: "inherited", http: "proxy_set_header X-A a; proxy_set_header X-B b; proxy_http_version 1.1;", location: "/", directives: "proxy_pass http://BACKEND;", requests: []string{
		"GET / HTTP/1.1\r\nHost: h\r\nx-b: client\r\nX-C: c\r\n\r\n",
	}},
	{name: "content length set away", location: "/", directives: `proxy_pass http://BACKEND; proxy_set_header Content-Length ""; proxy_set_header Accept-Encoding "";`, requests: []string{
		"GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n",
	}},
}

func TestRequestsAreNginxs(t *testing.T) {
	seen := make(chan string, 1)
	dump := listen(t, func(c net.Conn, _ int) {
		b, err := readRequest(c)
		if err != nil {
			return
		}
		if strings.Contains(b, "Content-Length: ") && !strings.Contains(b, "Content-Length: 0") && strings.HasSuffix(b, "\r\n\r\n") {
			p := make([]byte, 100) // nginx sends a body by itself
			n, _ := c.Read(p)
			b += string(p[:n])
		}
		seen <- b
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	})
	addresses, errorLog := startNginx(t, dump.addr)
	for i, j := range judged {
		t.Run(j.name, func(t *testing.T) {
			text := j.http + " server { location " + j.location + " { " + j.directives + " } }"
			text = strings.ReplaceAll(text, "BACKEND", dump.addr)
			pattern := strings.TrimLeft(j.location, "=~ ")
			http, env := phasetest.Config(t, text)
			set, err := env.Vars.Setter("b") // the rewrite phase's part
			if err != nil {
				t.Fatal(err)
			}
			groups := Open(env, http)
			defer groups.Close()
			h := groups.Compile(env, phasetest.Location(t, http, pattern))
			phasetest.Good(t, env)
			for _, raw := range j.requests {
				want := askNginx(t, addresses[i], raw, seen, errorLog)
				head, body, _ := strings.Cut(raw, "\r\n\r\n")
				c := &phasetest.Client{}
				if body != "" {
					c.First = [][]byte{[]byte(strings.TrimSuffix(strings.TrimPrefix(body, "3\r\n"), "\r\n0\r\n\r\n"))}
				}
				log := &phasetest.Log{}
				r := phasetest.Request(t, head+"\r\n\r\n", c, log)
				r.Slots = make([]request.Slot, env.Vars.Slots())
				if _, value, ok := strings.Cut(j.directives, "set $b "); ok {
					value, _, _ = strings.Cut(value, ";")
					set(r, []byte(strings.ReplaceAll(value, "BACKEND", dump.addr)))
				}
				if pattern[0] == '^' {
					r.Captures = [][]byte{r.URI, r.URI[1:]}
				}
				h.Serve(r)
				select {
				case got := <-seen:
					if got != want {
						t.Errorf("request %q:\ngot  %q\nwant %q", raw, got, want)
					}
				case <-time.After(patience):
					t.Errorf("request %q: nothing reached the backend; log %s", raw, log.Text())
				}
			}
		})
	}
}

// askNginx sends raw bytes to nginx and returns what its backend saw.
func askNginx(t *testing.T, addr, raw string, seen chan string, errorLog string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-seen:
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = c.Read(make([]byte, 4096))
		return s
	case <-time.After(patience):
		log, _ := os.ReadFile(errorLog)
		t.Fatalf("nginx passed nothing on of %q; its log: %s", raw, log)
		return ""
	}
}

// startNginx runs one server for each judged configuration and returns their addresses and its error log.
func startNginx(t *testing.T, backend string) (addresses []string, errorLog string) {
	t.Helper()
	dir := t.TempDir()
	var blocks, servers strings.Builder
	for i, j := range judged {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := ln.Addr().String()
		ln.Close()
		addresses = append(addresses, addr)
		block, own := j.http, ""
		if !strings.HasPrefix(block, "upstream") {
			block, own = "", j.http
		}
		blocks.WriteString(block + "\n")
		fmt.Fprintf(&servers, "server { listen %s; %s location %s { %s } }\n", addresses[i], own, j.location, j.directives)
	}
	text := "daemon off; master_process off; pid " + dir + "/pid; error_log " + dir + "/error.log info; events {}\nhttp { access_log off;\n"
	for _, p := range [...]string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		text += p + "_temp_path " + filepath.Join(dir, p) + ";\n"
	}
	text += blocks.String() + servers.String() + "}\n"
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(strings.ReplaceAll(text, "BACKEND", backend)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(gatewaytest.Nginx(t).Path, "-p", dir, "-c", conf, "-e", dir+"/error.log")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 100 {
		if c, err := net.Dial("tcp", addresses[len(addresses)-1]); err == nil {
			c.Close()
			return addresses, dir + "/error.log"
		}
		time.Sleep(20 * time.Millisecond)
	}
	log, _ := os.ReadFile(dir + "/error.log")
	t.Fatalf("nginx did not start: %s", log)
	return nil, ""
}

package pipeline

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// judgedCase is a configuration that nginx and a program both run: the inside of http but for listen directives.
type judgedCase struct {
	servers  string
	requests []string // METHOD PATH HOST
}

var judged = map[string]judgedCase{
	"locations": {
		servers: `server { LISTEN
			location / { return 200 "root $1"; }
			location = / { return 200 "exact root"; }
			location /a { return 200 "a";
				location /a/b { return 200 "a/b"; location ~ c$ { return 200 "a/b ~c"; } location = /a/b/x { return 200 "= a/b/x"; } }
				location ^~ /a/n { return 200 "a ^~ n"; location ~ in$ { return 200 "a ^~n ~in"; } }
				location ~ \.js$ { return 200 "a ~js"; } }
			location ^~ /static/ { return 200 "static"; location ~ \.js$ { return 200 "static ~js"; } }
			location ~ \.(js|css)$ { return 200 "asset $1"; }
			location ~* \.PNG$ { return 200 "png"; }
			location ~ ^/users/(?<id>\d+)/(?<what>.*)$ { return 200 "user $id $what $1 $2"; location ~ /posts$ { return 200 "posts $id"; } }
			location /p/ { proxy_pass http://127.0.0.1:9; location = /p/x { return 200 "p x"; } }
			location /q/ { return 200 "q"; }
			location = /e { return 200 "= e"; }
			location /e { return 200 "e"; }
			location "/sp ace/" { proxy_pass http://127.0.0.1:9; }
			location ~ ^/p$ { return 200 never; }
			location /Case { return 200 "Case"; }
			location ~ /nest/ { return 200 "nest"; location /nest/p { return 200 "nest p"; } location /nest/s/ { proxy_pass http://127.0.0.1:9; return 200 "nest s"; } }
		}`,
		requests: []string{
			"GET / h", "GET /? h", "GET /x h", "GET /a h", "GET /a/ h", "GET /ab h", "GET /a/b h", "GET /a/b/c h", "GET /a/b/x h", "GET /a/b/xx h", "GET /a/n h",
			"GET /a/n.js h", "GET /a/n/in h", "GET /a/x.js h", "GET /a/b.js h", "GET /a/x.css h", "GET /static/a.js h", "GET /static/a.css h", "GET /static h",
			"GET /x.js h", "GET /x.css h", "GET /x.JS h", "GET /x.png h", "GET /x.pNg h", "GET /users/12/name h", "GET /users/12/posts h", "GET /users/a/posts h",
			"GET /p h", "GET /p?a=b&c h", "GET /p/x h", "GET /q h", "GET /q/ h", "GET /e h", "GET /ee h", "GET /e/ h", "GET /%73tatic/x h", "GET /x/../a/b h",
			"GET /sp%20ace h", "GET /case h", "GET /Cases h", "GET //a//b h", "GET /nest/p h", "GET /nest/ h", "GET /x/nest/ h", "GET /nest/s h", "HEAD /a h", "GET /a%2Fb h",
		},
	},
	"names": {
		servers: `
			server { LISTEN default_server; server_name _; return 200 "default"; }
			server { LISTEN; server_name example.org www.example.org; return 200 "exact $server_name"; }
			server { LISTEN; server_name *.example.org; return 200 "star"; }
			server { LISTEN; server_name *.b.example.org; return 200 "star b"; }
			server { LISTEN; server_name .dot.net; return 200 "dot $server_name"; }
			server { LISTEN; server_name www.* mail.example.*; return 200 "tail"; }
			server { LISTEN; server_name ~^(?<user>[a-z]+)\.users\.com$; return 200 "user $user $1 $server_name"; location /l { return 200 never; } }
			server { LISTEN; server_name ~^(.*)\.Caps\.com$; return 200 "caps $1"; }
			server { LISTEN; server_name ""; return 200 "nobody"; }`,
		requests: []string{
			"GET / example.org", "GET / EXAMPLE.org:81", "GET / www.example.org.", "GET / a.example.org", "GET / a.b.example.org", "GET / b.example.org",
			"GET / c.a.b.example.org", "GET / dot.net", "GET / x.dot.net", "GET / xdot.net", "GET / www.org", "GET / www", "GET / www.a.b", "GET / mail.example.com",
			"GET / mail.org", "GET / joe.users.com", "GET / JOE.users.com", "GET / joe1.users.com", "GET / a.b.caps.com", "GET / other", "GET / -", "GET / www.example.com",
		},
	},
	"answers": {
		servers: `server { LISTEN
			set $where server; server_name in.server;
			location /set { set $a "$uri"; set $b "$a-$where"; return 200 $b; set $a never; }
			location /shadow { set $where here; return 200 $where; }
			location /301 { return 301 /x; } location /302 { return 302 http://a.b/$uri?$args; } location /303 { return 303 y; }
			location /307 { return 307 /z; } location /308 { return 308 /z; } location /url { return http://u.r/l; } location /scheme { return $scheme://$host/; }
			location /empty { return 301; }
			location /200 { return 200; } location /201 { return 201 created; } location /204 { return 204; } location /304 { return 304; }
			location /404 { return 404; } location /404t { return 404 text; } location /405 { return 405; } location /410 { return 410; } location /429 { return 429; }
			location /430 { return 430; } location /494 { return 494; } location /495 { return 495; } location /497 { return 497; } location /499t { return 499 text; }
			location /500 { return 500; } location /502 { return 502; } location /503 { return 503; } location /504 { return 504; } location /599 { return 599; } location /600 { return 600 x; }
			location /444 { return 444; } location /408 { return 408; } location /499 { return 499; } location /zero { return 0; }
			location /a.html { return 200 html; } location /a.gif { return 200 gif; } location /type { default_type x/y; return 200 t; }
			location /deny { deny all; } location /allow { allow all; deny all; } location /unix { deny unix:; } location /unixok { allow unix:; deny all; }
			location /v4 { deny 127.0.0.1; deny ::1; allow 10.0.0.0/8; }
		}`,
		requests: []string{
			"GET /set?q h", "GET /shadow h", "GET /301 h", "GET /302?a=b h", "GET /303 h", "GET /307 h", "GET /308 h", "GET /url h", "GET /scheme h", "GET /empty h",
			"GET /200 h", "GET /201 h", "GET /204 h", "GET /304 h", "GET /404 h", "GET /404t h", "GET /405 h", "GET /410 h", "GET /429 h", "GET /430 h", "GET /494 h", "GET /495 h", "GET /497 h",
			"GET /499t h", "GET /500 h", "GET /502 h", "GET /503 h", "GET /504 h", "GET /599 h", "GET /600 h", "GET /444 h", "GET /408 h", "GET /499 h", "GET /zero h",
			"GET /a.html h", "GET /a.gif h", "GET /a.html/b h", "GET /type h", "GET /deny h", "GET /unix h", "HEAD /404 h", "HEAD /404t h", "GET /301 -", "POST /404 h",
		},
	},
	"redirects inside": {
		servers: `server { LISTEN root /nowhere; set $round "$round+";
			location / { index /a/b; } location /a/b { return 200 "$uri $round $args"; }
			location /loop/ { index /loop/; }
			location /err/ { error_page 404 /ok; error_page 500 /ok; index /err/; } location /ok { return 200 never; }
			location /none { } location /none/paged { error_page 404 /a/b; }
			location /deny/ { index /denied; } location /denied { deny all; error_page 403 =401 /a/b; }
			location /body/ { client_max_body_size 1; } }`,
		requests: []string{"GET /x/ h", "GET /x/?q h", "GET /loop/ h", "GET /err/ h", "GET /none h", "GET /none/paged h", "GET /deny/ h", "POST /none h", "GET /x/?q -"},
	},
	"error pages": {
		servers: `server { LISTEN
			error_page 403 /403.html; error_page 500 502 =503 /50x.html; error_page 410 @gone;
			location = /403.html { return 200 "page $status $uri"; }
			location = /50x.html { return 200 "50x $request_method $args"; }
			location @gone { return 200 "gone $uri $args $request_uri"; }
			location /deny { deny all; }
			location /500 { return 500; } location /502 { return 502; } location /503 { return 503; } location /410 { return 410; }
			location /own { error_page 404 /own.html; return 404; } location /own403 { error_page 404 /x; deny all; }
			location /own.html { return 404; }
			location /same { error_page 404 = /ok; return 404; } location /to200 { error_page 404 =200 /ok; return 404; } location /ok { return 200 "ok $uri"; } 
			location /to500 { error_page 404 =500 /ok; return 404; }
			location /url { error_page 404 http://u/r?l; return 404; } location /url301 { error_page 404 =301 http://u/$uri; return 404; } location /url307 { error_page 404 =307 /ok; return 404; }
			location /url200 { error_page 404 =200 http://u/; return 404; }
			location /rel { error_page 404 other; return 404; }
			location /vars { error_page 404 /ok$uri?a=$arg_a; return 404; } location /fixed { error_page 404 /50x.html?x=1&y; return 404; }
			location /nowhere { error_page 404 @nowhere; return 404; }
			location /301 { error_page 301 /ok; return 301 /r; }
			location /302 { error_page 302 http://other/; return 302 http://a/; } location /302b { error_page 302 =307 /ok; return 302 /a; }
			location /loop { error_page 404 /loop; return 404; }
			location /494 { error_page 494 /ok; return 494; } location /494n { error_page 400 /ok; return 494; }
			location /named { error_page 404 @own; return 404; } location @own { error_page 405 /ok; return 405; }
			location /first { error_page 404 /ok; error_page 404 /50x.html; return 404; }
			location /text { error_page 404 /ok; return 404 text; }
			location /denyok { error_page 404 /deny; return 404; }
		}
		server { LISTEN; server_name all; return 404; error_page 404 /x; location /x { return 200 never; } }
		server { LISTEN; server_name some; error_page 404 /x; location = /y { return 404; } location /x { return 200 "x $status"; } }`,
		requests: []string{
			"GET /deny h", "GET /500 h", "POST /500?q=1 h", "HEAD /500 h", "GET /502 h", "GET /503 h", "GET /410?a h", "GET /own h", "GET /own403 h", "GET /same h", "GET /to200 h", "GET /to500 h",
			"GET /url h", "GET /url301 h", "GET /url307 h", "GET /url200 h", "GET /rel h", "GET /vars?a=1 h", "GET /fixed?z h", "GET /nowhere h", "GET /301 h", "GET /302 h", "GET /302b h", "GET /loop h", "GET /494 h",
			"GET /494n h", "GET /named h", "GET /first h", "GET /text h", "GET /denyok h", "GET / all", "GET /y some", "POST /deny h",
		},
	},
}

// differ are the answers that are not nginx's, each with the reason.
var differ = map[string]string{
	"GET /204 h":  "that a 204 has no Content-Type is the edge's business",
	"GET /zero h": "a status below 100 is no answer that a client could read: the connection is closed without one",
}

// TestAgainstNginx asks both the same.
func TestAgainstNginx(t *testing.T) {
	cases := maps.Clone(judged)
	maps.Copy(cases, judgedRewrites)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			servers := strings.ReplaceAll(c.servers, "LISTEN;", "LISTEN")
			socket := startNginx(t, servers)
			g := start(t, listening(servers, "unix:/s"))
			g.conn.LocalAddr, g.conn.PeerAddr, g.conn.UnixPath = netip.AddrPort{}, netip.AddrPort{}, "/s"
			for _, ask := range c.requests {
				want, got := askNginx(t, socket, ask), g.askOurs(ask)
				if why, known := differ[ask]; known != (got != want) {
					t.Errorf("%s: %s\n got %s\nwant %s", ask, why, got, want)
				}
			}
		})
	}
}

// listening puts a listen directive in the place of each LISTEN.
func listening(servers, address string) string {
	return strings.ReplaceAll(strings.ReplaceAll(servers, "LISTEN default_server;", "listen "+address+" default_server;"), "LISTEN", "listen "+address+";")
}

// startNginx runs the machine's nginx on a unix socket until the test ends. Without nginx the test is skipped; in CI it fails.
func startNginx(t *testing.T, servers string) (socket string) {
	t.Helper()
	bin := gatewaytest.Nginx(t).Path
	dir, err := os.MkdirTemp("", "lg") // short: a socket's path has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	text := strings.ReplaceAll(`daemon off; master_process off; pid DIR/pid; error_log DIR/error.log; events { }
		http { access_log off; client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/g;
		`+listening(servers, "unix:DIR/s")+" }", "DIR", dir)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(bin, "-p", dir, "-c", filepath.Join(dir, "conf"), "-e", filepath.Join(dir, "error.log"))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 300 {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return socket
		}
		time.Sleep(10 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(dir, "error.log"))
	t.Fatalf("nginx does not listen: %s%s", out.Bytes(), log)
	return ""
}

// lines are the header of a request; the host "-" is none.
func lines(ask string) (first, host string) {
	parts := strings.Fields(ask)
	if parts[2] == "-" {
		return parts[0] + " " + parts[1] + " HTTP/1.0", ""
	}
	return parts[0] + " " + parts[1] + " HTTP/1.1", "Host: " + parts[2]
}

// askNginx returns the answer as answer.String has it.
func askNginx(t *testing.T, socket, ask string) string {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	first, host := lines(ask)
	if host != "" {
		host += "\r\n"
	}
	fmt.Fprintf(c, "%s\r\n%sConnection: close\r\n\r\n", first, host)
	raw, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) == 0 {
		return "silent"
	}
	method, _, _ := strings.Cut(ask, " ")
	a, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(raw)), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{a.Status[:3], a.Header.Get("Content-Type"), strings.ReplaceAll(a.Header.Get("Location"), socket, "/s"),
		fmt.Sprint(max(0, a.ContentLength)), strings.ReplaceAll(string(body), "nginx/1.22.1", "SERVER")}, " | ")
}

// askOurs is askNginx of the program.
func (g *gateway) askOurs(ask string) string {
	g.t.Helper()
	first, host := lines(ask)
	r := g.request(first)
	if host != "" {
		r = g.request(first, host)
	} else {
		r.Host = nil
	}
	a := g.serve(r)
	if a.Response.Silent {
		return "silent"
	}
	length := max(0, a.Response.Length)
	signed := strings.ReplaceAll(a.body, "limitgate/1.2.3", "SERVER")
	if a.Response.Status == 204 || a.Response.Status == 304 {
		length = 0
	}
	// The two signatures have different lengths; HEAD shows the length alone.
	if strings.Contains(signed, "SERVER") || string(r.Method) == "HEAD" && length > 100 {
		length -= int64(len("limitgate/1.2.3") - len("nginx/1.22.1"))
	}
	return strings.Join([]string{fmt.Sprintf("%03d", a.Response.Status), string(a.Response.ContentType), a.location(), fmt.Sprint(length), signed}, " | ")
}

package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// siteLimits is a site with a limit of its own in each place, so that the log tells which one counted a request, and by
// which key.
const siteLimits = `
	map $request_method$uri $writes { default ""; ~^(POST|PUT) $binary_remote_addr; }
	limit_req_zone $binary_remote_addr zone=root:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=login:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=images:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=php:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=nested:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=renamed:1m rate=1r/m;
	limit_req_zone $writes zone=writes:1m rate=1r/m;
	limit_req_zone $request_uri zone=targets:1m rate=1r/m;
	limit_req_zone $args zone=arguments:1m rate=1r/m;
	limit_req_status 429;`

const sitePlaces = `
		location / { limit_req zone=root; @content@ }
		location = /login { limit_req zone=login; @content@ }
		location ^~ /images/ { limit_req zone=images; @content@ }
		location ~* \.php$ { limit_req zone=php; @content@ }
		location /api/ { limit_req zone=writes; @content@
			location /api/v1/ { limit_req zone=nested; @content@ } }
		location /old/ { rewrite ^/old/(.*)$ /new/$1 last; }
		location /new/ { limit_req zone=renamed; @content@ }
		location /exact { limit_req zone=targets; @content@ }
		location /args { limit_req zone=arguments; @content@ }
		location /moved/ { return 301 /; }`

// What nginx counts of a request itself, limitgate counts for it when it is asked: the same requests are refused, with the same
// status and body at the client, and the same lines in the error log, whatever the path looks like.
func TestForwardAuthCountsWhatNginxCounts(t *testing.T) {
	const content = `proxy_pass http://app;`
	alone := gatewaytest.Start(t, gatewaytest.Nginx(t), "error_log logs/error.log info;\nevents {}\nhttp {"+siteLimits+`
	upstream app { server 127.0.0.1:@9000@; }
	server { listen 127.0.0.1:@9000@; location / { return 200 served; } }
	server { listen 127.0.0.1:@8080@; server_name site; `+strings.ReplaceAll(sitePlaces, "@content@", content)+`
	}
}
`)
	limits := gatewaytest.Start(t, gatewaytest.Limitgate(t), "error_log logs/error.log info;\nevents {}\nhttp {"+siteLimits+`
	limit_arithmetic nginx;
	set_real_ip_from 127.0.0.1;
	upstream app { server 127.0.0.1:1; }
	server { listen 127.0.0.1:@9180@; server_name site; limit_decision from=original header; `+strings.ReplaceAll(sitePlaces, "@content@", content)+`
	}
}
`)
	asking := gatewaytest.Start(t, gatewaytest.Nginx(t), `events {}
http {
	upstream app { server 127.0.0.1:@9000@; }
	upstream limits { server `+limits.Addr(9180)+`; keepalive 4; }
	server { listen 127.0.0.1:@9000@; location / { return 200 served; } }
	server { listen 127.0.0.1:@8080@; server_name site;
		auth_request /_limit;
		auth_request_set $verdict $upstream_http_x_limit_verdict;
		location = /_limit { internal; auth_request off; proxy_pass http://limits; proxy_http_version 1.1; proxy_set_header Connection "";
			proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header Host $host;
			proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Original-Method $request_method; }
		location @refused { if ($verdict = REJECTED) { return 429; } return 403; }
		location / { error_page 403 = @refused; proxy_pass http://app; }
		location ~ ^/old/ { error_page 403 = @refused; proxy_pass http://app; }
		location /moved/ { return 301 /; }
	}
}
`)
	var raw []string
	for _, target := range []string{
		"/", "/login", "/login?user=a", "/LOGIN", "//login", "/./login", "/a/../login", "/l%6fgin", "/login/", "/login%20", "/login%3fa", "/login%2f..%2flogin", "/login#x",
		"/images/a", "/images/a.php", "/images/../images/b", "/%69mages/c", "/a.php", "/b.PHP?x", "/a.php/b", "/d%2ephp",
		"/api/x", "/api/v1/x", "/api//v1///y", "/old/a", "/old/b?c", "/new/x",
		"/exact?1", "/exact?1", "/exac%74?1", "/exact?2", "/exact%2B+", "/args?a=1", "/args?a=1", "/args?", "/args", "/args?a=%31", "/moved/x", "/\xc3\xa9", "/%c3%a9",
	} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			body := ""
			if method == "POST" {
				body = "Content-Length: 4\r\n"
			}
			raw = append(raw, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: Site:80\r\nConnection: close\r\nIf-None-Match: x\r\nIf-Match: y\r\nRange: bytes=1-\r\n%s\r\n%s", method, target, body, strings.Repeat("b", len(body)/19*4)))
		}
	}
	raw = append(raw, "PROPFIND /api/z HTTP/1.0\r\n\r\n", "GET http://site/login HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n", "PUT /api/z HTTP/1.0\r\n\r\n")
	refused := 0
	for _, r := range raw {
		want, got := exchange(t, alone.Addr(8080), r, nil), exchange(t, asking.Addr(8080), r, nil)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: nginx alone (-) and nginx that asks (+) differ:\n%s", r, d)
		}
		if strings.Contains(want, " 429 ") {
			refused++
		}
	}
	if len(raw) != 123 || refused < 60 {
		t.Errorf("%d requests, %d refused: not what was meant", len(raw), refused)
	}
	want, got := limitLines(alone.ErrorLog()), limitLines(limits.ErrorLog())
	if d := cmp.Diff(want, got); d != "" || len(want) != refused {
		t.Errorf("%d lines of refusals, for %d; nginx's (-) and limitgate's (+) differ:\n%s", len(want), refused, d)
	}
}

var askedOtherwise = regexp.MustCompile(`, host: "[^"]*"|HTTP/1\.[01]|http://site`)

// limitLines are the lines of an error log that tell of limits, without what nginx does not pass on of its client: how the
// name was written, and the version.
func limitLines(log string) (out []string) {
	for _, l := range lines(log) {
		if strings.Contains(l, "limiting requests") {
			out = append(out, askedOtherwise.ReplaceAllString(l, ""))
		}
	}
	return out
}

// A question is answered whatever its head says of a body: nginx leaves Content-Length in and the body out unless it is told
// otherwise. The connection ends behind it: what a proxy sends next would be taken for the body.
func TestQuestionsNeedNoBody(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), `error_log logs/error.log info;
events {}
http {
	set_real_ip_from 127.0.0.1;
	log_format f '$request_method $request_uri $status';
	access_log logs/access.log f;
	client_max_body_size 10;
	server { listen 127.0.0.1:@8080@; limit_decision; }
}
`)
	ask := func(raw string, statuses ...int) {
		t.Helper()
		c, err := net.Dial("tcp", g.Addr(8080))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		const about = "POST /decide HTTP/1.1\r\nHost: h\r\nX-Original-Method: PUT\r\nX-Original-URI: "
		if _, err := io.WriteString(c, about+raw); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(c)
		for _, want := range statuses {
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%q: %v", raw, err)
			}
			if resp.StatusCode != want || want == 200 && resp.ContentLength != 0 {
				t.Errorf("%q: got %d of length %d, want %d", raw, resp.StatusCode, resp.ContentLength, want)
			}
		}
		if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
			t.Errorf("%q: got %q, %v behind the answer, want the end", raw, rest, err)
		}
	}
	const behind = "GET /behind HTTP/1.1\r\nHost: h\r\n\r\n"
	ask("/here\r\nContent-Length: 4\r\n\r\nbody"+behind, 200)
	ask("/large\r\nContent-Length: 40\r\n\r\n"+strings.Repeat("b", 40), 200)
	ask("/chunks\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"+behind, 200)
	ask("/told\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", 100, 200)
	ask("/missing\r\nContent-Length: 40\r\n\r\n", 200)
	ask("/missing\r\nContent-Length: 40\r\n\r\n"+behind, 200)
	want := "PUT /here 200\nPUT /large 200\nPUT /chunks 200\nPUT /told 200\nPUT /missing 200\nPUT /missing 200\n"
	gatewaytest.Eventually(t, 5*time.Second, "all are logged", func() bool { return g.Read("logs/access.log") == want })
}

// A limit that delays holds the answer back, and with it nginx's own client; what is asked about is then served.
func TestAQuestionWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	limits := gatewaytest.Start(t, gatewaytest.Limitgate(t), `error_log logs/error.log info;
events {}
http {
	set_real_ip_from 127.0.0.1;
	log_format f '$remote_addr $request_uri $status $limit_req_status $request_time';
	access_log logs/access.log f;
	limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/s;
	server { listen 127.0.0.1:@9180@; limit_decision from=original header; limit_req zone=slow burst=1; }
}
`)
	asking := gatewaytest.Start(t, gatewaytest.Nginx(t), `events {}
http {
	upstream app { server 127.0.0.1:@9000@; }
	server { listen 127.0.0.1:@9000@; location / { return 200 served; } }
	server { listen 127.0.0.1:@8080@;
		location / { auth_request /_limit; auth_request_set $verdict $upstream_http_x_limit_verdict; add_header X-Verdict $verdict always; proxy_pass http://app; }
		location = /_limit { internal; proxy_pass http://`+limits.Addr(9180)+`; proxy_pass_request_body off; proxy_set_header Content-Length "";
			proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Original-Method $request_method; }
	}
}
`)
	begun := time.Now()
	for _, verdict := range []string{"PASSED", "DELAYED"} {
		got := exchange(t, asking.Addr(8080), httpGet("/"+verdict), []string{"X-Verdict"})
		if want := "HTTP/1.1 200 OK\nX-Verdict: " + verdict + "\nserved"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if took := time.Since(begun); took < 990*time.Millisecond {
		t.Errorf("two requests at 1r/s took %v", took)
	}
}

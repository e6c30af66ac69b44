package pipeline

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

const decisionConf = `
	limit_req_zone $binary_remote_addr zone=login:1m rate=1r/m;
	limit_req_zone $request_method$scheme$host$uri?$args zone=all:1m rate=1r/m;
	limit_req_status 429;
	set_real_ip_from 127.0.0.1;
	real_ip_header X-Forwarded-For;
	log_format asked '$remote_addr "$request" $request_method $request_uri $scheme $host $http_host $server_name $status $limit_req_status';
	access_log acc asked;
	server { listen 80; server_name front; limit_decision;
		location /login { limit_req zone=login; proxy_pass http://127.0.0.1:1; }
		location /moved { return 301 /elsewhere; }
		location /denied { deny all; }
		location /slash/ { proxy_pass http://127.0.0.1:1; }
		location /files { try_files /nothing =404; }
		location /post { limit_except GET { deny all; } }
		location / { limit_req zone=all; }
	}
	server { listen 80; server_name shop.example; limit_decision;
		location / { limit_req zone=all; } }
	server { listen 80; server_name closed.example; limit_decision; set_real_ip_from 192.0.2.1;
		location / { return 403; } }
	server { listen 80; server_name plain.example; return 402; }`

// A question is what it asks about, for variables, locations, servers, the log and its client.
func TestADecisionIsForTheRequestThatIsAskedAbout(t *testing.T) {
	cases := []struct {
		name  string
		lines []string
		want  string // the line of the access log
	}{
		{"nginx", []string{"GET /decide HTTP/1.0", "X-Original-URI: /a%20b//c?x=1", "X-Original-Method: POST", "X-Forwarded-For: 203.0.113.7"},
			`203.0.113.7 "POST /a%20b//c?x=1 HTTP/1.0" POST /a%20b//c?x=1 http front front front 200 PASSED`},
		{"ingress-nginx", []string{"GET /decide HTTP/1.1", "X-Original-URL: https://Shop.example:8443/a?b", "X-Original-Method: PUT", "X-Forwarded-For: 203.0.113.7"},
			`203.0.113.7 "PUT /a?b HTTP/1.1" PUT /a?b https shop.example Shop.example:8443 shop.example 200 PASSED`},
		{"traefik, caddy", []string{"GET / HTTP/1.1", "X-Forwarded-Uri: /b", "X-Forwarded-Method: DELETE", "X-Forwarded-Proto: https", "X-Forwarded-Host: shop.example", "X-Forwarded-For: 2001:db8::1"},
			`2001:db8::1 "DELETE /b HTTP/1.1" DELETE /b https shop.example shop.example shop.example 200 PASSED`},
		{"websocket", []string{"GET / HTTP/1.1", "X-Forwarded-Uri: /ws", "X-Forwarded-Proto: wss"},
			`127.0.0.1 "GET /ws HTTP/1.1" GET /ws https front front front 200 PASSED`},
		{"a scheme that is none", []string{"GET / HTTP/1.1", "X-Forwarded-Uri: /s", "X-Forwarded-Proto: ftp"},
			`127.0.0.1 "GET /s HTTP/1.1" GET /s http front front front 200 PASSED`},
		{"for itself", []string{"POST /itself?q HTTP/1.1", "X-Forwarded-For: 203.0.113.8"},
			`203.0.113.8 "POST /itself?q HTTP/1.1" POST /itself?q http front front front 200 PASSED`},
		{"a method alone says nothing", []string{"GET /m HTTP/1.1", "X-Original-Method: POST", "X-Forwarded-Method: PUT", "X-Forwarded-Host: shop.example"},
			`127.0.0.1 "GET /m HTTP/1.1" GET /m http front front front 200 PASSED`},
		{"fields of the other family say nothing", []string{"GET / HTTP/1.1", "X-Original-URI: /f", "X-Forwarded-Method: PUT", "X-Forwarded-Host: shop.example", "X-Forwarded-Host: other", "X-Forwarded-Proto: https"},
			`127.0.0.1 "GET /f HTTP/1.1" GET /f http front front front 200 PASSED`},
		{"both families, of one mind", []string{"GET / HTTP/1.1", "X-Original-URI: /both", "X-Forwarded-Uri: /both", "X-Original-URI: /both"},
			`127.0.0.1 "GET /both HTTP/1.1" GET /both http front front front 200 PASSED`},
		{"another server that trusts others", []string{"GET / HTTP/1.1", "X-Forwarded-Uri: /c", "X-Forwarded-Host: closed.example"},
			`127.0.0.1 "GET /c HTTP/1.1" GET /c http closed.example closed.example front 200 PASSED`},
		{"another server that answers no questions", []string{"GET / HTTP/1.1", "X-Forwarded-Uri: /p", "X-Forwarded-Host: plain.example"},
			`127.0.0.1 "GET /p HTTP/1.1" GET /p http plain.example plain.example front 200 PASSED`},
		{"a redirect is no refusal", []string{"GET / HTTP/1.1", "X-Original-URI: /moved"}, `127.0.0.1 "GET /moved HTTP/1.1" GET /moved http front front front 200 `},
		{"a slash is no refusal", []string{"GET / HTTP/1.1", "X-Original-URI: /slash"}, `127.0.0.1 "GET /slash HTTP/1.1" GET /slash http front front front 200 `},
		{"files are not looked for", []string{"GET / HTTP/1.1", "X-Original-URI: /files"}, `127.0.0.1 "GET /files HTTP/1.1" GET /files http front front front 200 `},
		{"access rules hold", []string{"GET / HTTP/1.1", "X-Original-URI: /denied"}, `127.0.0.1 "GET /denied HTTP/1.1" GET /denied http front front front 403 `},
		{"limit_except, GET", []string{"PUT / HTTP/1.1", "X-Original-URI: /post", "X-Original-Method: GET"}, `127.0.0.1 "GET /post HTTP/1.1" GET /post http front front front 200 `},
		{"limit_except, PUT", []string{"GET / HTTP/1.1", "X-Original-URI: /post", "X-Original-Method: PUT"}, `127.0.0.1 "PUT /post HTTP/1.1" PUT /post http front front front 403 `},
		{"conditions are not for us", []string{"GET / HTTP/1.1", "X-Original-URI: /cond", "If-Match: x", "If-Unmodified-Since: Mon, 30 Nov 2026 13:00:00 GMT", "Range: bytes=9-"},
			`127.0.0.1 "GET /cond HTTP/1.1" GET /cond http front front front 200 PASSED`},
		{"bodies may be large", []string{"POST / HTTP/1.1", "X-Original-URI: /large", "Content-Length: 99999999"},
			`127.0.0.1 "POST /large HTTP/1.1" POST /large http front front front 200 PASSED`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := start(t, decisionConf)
			a := g.ask(append(c.lines, "Host: front")...)
			if got := strings.TrimSuffix(g.files.file("acc").Text(), "\n"); strings.TrimSuffix(got, "-") != strings.TrimSuffix(c.want, "-") {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if a.Response.Status == 200 && (a.body != "" || a.Response.Length != 0) {
				t.Errorf("an answer of yes has the body %q of length %d", a.body, a.Response.Length)
			}
		})
	}
}

// What a question says does not read, or not in one way: nobody guesses.
func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	const unread, contradicts = "is not as a request could have it", "is there twice, and differs"
	cases := []struct {
		field []string
		what  string
	}{
		{[]string{"X-Original-URI: a"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URI:"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URI: /%zz"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URI: /../a"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URI: *"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URI: /a b"}, "path of what is asked about " + unread},
		{[]string{"X-Original-URL: /a"}, "x-original-url of what is asked about " + unread},
		{[]string{"X-Original-URL: ftp://h/a"}, "x-original-url of what is asked about " + unread},
		{[]string{"X-Original-URL: http://h"}, "x-original-url of what is asked about " + unread},
		{[]string{"X-Original-URL: http://h/a", "X-Original-URI: /b"}, "x-original-url of what is asked about " + contradicts},
		{[]string{"X-Original-URI: /a", "X-Original-Method: get"}, "method of what is asked about " + unread},
		{[]string{"X-Original-URI: /a", "X-Original-Method:"}, "method of what is asked about " + unread},
		{[]string{"X-Original-URI: /a", "X-Original-Method: TRACE"}, "method of what is asked about " + unread},
		{[]string{"X-Forwarded-Uri: /a", "X-Forwarded-Host: a b"}, "host of what is asked about " + unread},
		{[]string{"X-Original-URI: /a", "X-Original-URI: /b"}, "x-original-uri of what is asked about " + contradicts},
		{[]string{"X-Original-URI: /a", "X-Original-Method: GET", "X-Original-Method: PUT"}, "x-original-method of what is asked about " + contradicts},
		{[]string{"X-Forwarded-Uri: /a", "X-Original-URI: /b"}, "x-forwarded-uri of what is asked about " + contradicts},
		{[]string{"X-Forwarded-Proto: http", "X-Forwarded-Proto: https", "X-Forwarded-Uri: /b"}, "x-forwarded-proto of what is asked about " + contradicts},
	}
	const ambiguous = " of what is asked about is not the same in two families of fields: limit_decision needs from= to name one"
	for _, c := range []struct{ own, forged, what string }{
		// Traefik or Caddy, and a client that sends the path again.
		{"X-Forwarded-Uri: /l, X-Forwarded-Method: DELETE", "X-Original-URI: /l", "method"},
		{"X-Forwarded-Uri: /l, X-Forwarded-Method: DELETE", "X-Original-URI: /l, X-Original-Method: POST", "method"},
		{"X-Forwarded-Uri: /l, X-Forwarded-Host: named", "X-Original-URL: http://other/l", "host"},
		{"X-Forwarded-Uri: /l, X-Forwarded-Host: h.example", "X-Original-URI: /l", "host"},
		{"X-Forwarded-Uri: /l, X-Forwarded-Proto: https", "X-Original-URI: /l", "scheme"},
		// nginx, and such a client.
		{"X-Original-URI: /l, X-Original-Method: PUT", "X-Forwarded-Uri: /l", "method"},
		{"X-Original-URI: /l", "X-Forwarded-Uri: /l, X-Forwarded-Host: other", "host"},
		{"X-Original-URI: /l", "X-Forwarded-Uri: /l, X-Forwarded-Proto: https", "scheme"},
	} {
		cases = append(cases, struct {
			field []string
			what  string
		}{strings.Split(c.own+", "+c.forged, ", "), c.what + ambiguous})
	}
	for _, c := range cases {
		for mode, status := range map[string]int{"": 400, " header": 403} {
			g := start(t, `set_real_ip_from 127.0.0.1; server { limit_decision`+mode+`; } server { server_name named; location /l { limit_decision`+mode+`; } }`)
			for _, host := range []string{"Host: h", "Host: named"} {
				a := g.ask(append([]string{"GET /l HTTP/1.1", host}, c.field...)...)
				if a.Response.Status != status {
					t.Errorf("%q, limit_decision%s, %s: got %d, want %d", c.field, mode, host, a.Response.Status, status)
				}
			}
			if got, want := g.log.Messages(), "warn: limit_decision: the "+c.what+"\n"; got != want+want {
				t.Errorf("%q: log: got %q, want twice %q", c.field, got, want)
			}
		}
	}
}

// Who is not trusted is asked nothing, whatever it says.
func TestStrangersAskForThemselves(t *testing.T) {
	forged := []string{"GET /mine HTTP/1.1", "Host: front", "X-Original-URI: /login", "X-Forwarded-Uri: /other", "X-Original-Method: get", "X-Forwarded-Host: shop.example", "X-Forwarded-For: 203.0.113.9"}
	for _, peer := range []string{"198.51.100.1:5", "127.0.0.2:5"} {
		g := start(t, decisionConf)
		g.conn.PeerAddr = netip.MustParseAddrPort(peer)
		g.ask(forged...)
		want := g.conn.PeerAddr.Addr().String() + ` "GET /mine HTTP/1.1" GET /mine http front front front 200 PASSED` + "\n"
		if got := g.files.file("acc").Text(); got != want {
			t.Errorf("%s: got %s, want %s", peer, got, want)
		}
	}
	// A balancer that is trusted says of whom it brings, by the PROXY protocol, that it is a stranger.
	g := start(t, decisionConf)
	g.conn.ProxySource = netip.MustParseAddrPort("198.51.100.1:5")
	g.ask(forged...)
	if got, want := g.files.file("acc").Text(), `"GET /mine HTTP/1.1" GET /mine`; !strings.Contains(got, want) {
		t.Errorf("behind a PROXY line: got %s, want %s", got, want)
	}
	// Who comes over a unix socket is trusted as unix:, and not otherwise.
	for from, want := range map[string]string{"127.0.0.1": `"GET /mine `, "unix:": `"GET /other `} {
		g := start(t, strings.Replace(decisionConf, "limit_decision;", "limit_decision from=forwarded; set_real_ip_from "+from+";", 1))
		g.conn.PeerAddr = netip.AddrPort{}
		g.ask("GET /mine HTTP/1.1", "Host: front", "X-Forwarded-Uri: /other")
		if got := g.files.file("acc").Text(); !strings.Contains(got, want) {
			t.Errorf("a unix socket, set_real_ip_from %s: got %s, want %s", from, got, want)
		}
	}
	// Without set_real_ip_from nobody is trusted.
	g = start(t, strings.Replace(decisionConf, "set_real_ip_from 127.0.0.1;", "", 1))
	g.ask(forged...)
	if got, want := g.files.file("acc").Text(), `127.0.0.1 "GET /mine HTTP/1.1" GET /mine`; !strings.HasPrefix(got, want) {
		t.Errorf("without trust: got %s, want %s", got, want)
	}
}

// from= says which fields are read, so that those of the others may say what they like.
func TestOneFamilyIsRead(t *testing.T) {
	for from, want := range map[string]string{"from=original": "POST own /original", "from=ingress": "POST ingress /ingress", "from=forwarded": "PUT own /forwarded", "from=request": "GET own /request"} {
		for _, text := range []string{"server { limit_decision " + from + "; access_log acc f; }", "server { location / { limit_decision " + from + "; access_log acc f; } }"} {
			g := start(t, `set_real_ip_from 127.0.0.1; log_format f "$request_method $host $request_uri";`+text)
			a := g.ask("GET /request HTTP/1.1", "Host: own", "X-Original-URL: https://ingress/ingress", "X-Original-URI: /original", "X-Original-Method: POST", "X-Forwarded-Uri: /forwarded", "X-Forwarded-Method: PUT")
			if got := g.files.file("acc").Text(); got != want+"\n" || a.Response.Status != 200 {
				t.Errorf("%s: got %d %s, want 200 %s", text, a.Response.Status, got, want)
			}
		}
	}
}

// In a location the path of the question chooses, and keys and rules there see what is asked about.
func TestALocationOfDecisions(t *testing.T) {
	g := start(t, `
		map $request_uri $tier { default slow; /fast fast; }
		limit_req_zone $request_method$request_uri zone=z:1m rate=1r/m;
		set_real_ip_from 127.0.0.1;
		log_format f "$request_method $request_uri $uri?$args $tier $before $after $status";
		server { access_log acc f; set $before $tier;
			location = /decide { set $after $tier; limit_except GET { deny all; } limit_decision; limit_req zone=z; limit_req_status 429; }
			location / { return 404; } }`)
	var want strings.Builder
	for _, c := range []struct{ uri, method, want string }{
		{"/fast", "GET", "GET /fast /fast?- fast slow fast 200"},
		{"/fast", "GET", "GET /fast /fast?- fast slow fast 429"},
		{"/f%61st?a", "GET", "GET /f%61st?a /fast?a slow slow slow 200"},
		{"/fast", "PUT", "PUT /fast /fast?- fast slow  403"},
	} {
		g.ask("POST /decide HTTP/1.1", "X-Original-URI: "+c.uri, "X-Original-Method: "+c.method)
		want.WriteString(c.want + "\n")
	}
	if got := g.files.file("acc").Text(); got != want.String() {
		t.Errorf("got\n%swant\n%s", got, want.String())
	}
}

// What a refusal says: its status, or 403 and the rest in fields.
func TestRefusalsOfDecisions(t *testing.T) {
	const text = `
		limit_req_zone $host zone=r:1m rate=1r/m;
		limit_count_zone $host zone=c:1m limit=1 window=1m algorithm=fixed;
		set_real_ip_from 127.0.0.1; limit_headers legacy; limit_req_status 429;
		server { limit_decision MODE;
			location /req { limit_req zone=r; }
			location /delay { limit_req zone=r burst=5; }
			location /dry { limit_req zone=r; limit_req_dry_run on; }
			location /count { limit_count zone=c; }
			location /page { limit_req zone=r; error_page 429 /sorry; }
			location /sorry { return 200 sorry; }
			location /there { limit_req zone=r; error_page 429 =302 http://there/; }
			location /json { limit_req zone=r; limit_error_body json; }
			location /none { }
			location /deny { deny all; limit_req zone=r burst=9 nodelay; }
			location /auth { auth_basic closed; auth_basic_user_file nobody; }
			location /404 { return 404; }
			location /500 { return 500; }
			location /444 { return 444; }
			location /499 { limit_req zone=r; limit_req_status 499; }
			location /silent { limit_req zone=r; error_page 429 /444; }
		}`
	cases := []struct{ path, plain, header string }{
		{"/req", "429 [60] text/html <429 Too Many Requests>", "403 [60] REJECTED 429 "},
		{"/delay", "200 [] ", "200 [] DELAYED  "},
		{"/dry", "200 [] ", "200 [] REJECTED_DRY_RUN  "},
		{"/count", "503 [60] text/html <503 Service Temporarily Unavailable>", "403 [60] REJECTED 503 "},
		{"/page", "429 [60] text/plain sorry", "403 [60] REJECTED 429 "},
		{"/there", "302 [60] text/html to http://there/ <302 Found>", "403 [60] REJECTED 429 "},
		{"/json", `429 [60] application/problem+json {"type":"about:blank","title":"Too Many Requests","status":429,"limit":"r","retry_after":60} `, "403 [60] REJECTED 429 "},
		{"/none", "200 [] ", "200 []   "},
		{"/deny", "403 [] text/html <403 Forbidden>", "403 [] PASSED 403 "},
		{"/auth", "401 [] text/html <401 Authorization Required>", "401 []   text/html <401 Authorization Required>"},
		{"/404", "404 [] text/html <404 Not Found>", "403 []  404 "},
		{"/500", "500 [] text/html <500 Internal Server Error>", "500 []   text/html <500 Internal Server Error>"},
		// A proxy takes silence for a service that is away: nginx makes 502 of it.
		{"/444", "403 [] text/html <403 Forbidden>", "403 []  444 "},
		{"/499", "403 [60] text/html <403 Forbidden>", "403 [60] REJECTED 499 "},
		{"/silent", "403 [60] text/html <403 Forbidden>", "403 [60] REJECTED 429 "},
	}
	field := func(a answer, name string) string {
		for _, h := range a.Response.Headers {
			if string(h.Name) == name {
				return string(h.Value)
			}
		}
		return ""
	}
	for _, c := range cases {
		for mode, want := range map[string]string{"from=original": c.plain, "from=original header": c.header} {
			g := start(t, strings.Replace(text, "MODE", mode, 1))
			question := []string{"GET /q HTTP/1.0", "X-Original-URI: " + c.path}
			if c.path == "/count" {
				g.now = g.now - g.now%limitgate.Time(time.Minute) // a window is as long as a refusal says
			}
			if first := g.ask(question...); first.Response.Status == 429 {
				t.Fatalf("%s: the first was refused", c.path)
			}
			a := g.ask(question...)
			status, rest, _ := strings.Cut(a.String(), " ")
			got := status + " [" + field(a, "Retry-After") + "] "
			if strings.HasSuffix(mode, "header") {
				got += field(a, "X-Limit-Verdict") + " " + field(a, "X-Limit-Status") + " "
			}
			if got += rest; got != want {
				t.Errorf("%s, %s: got %q, want %q", c.path, mode, got, want)
			}
			if limited := c.path == "/req"; limited && field(a, "X-RateLimit-Limit") == "" {
				t.Errorf("%s, %s: no fields of limit_headers: %s", c.path, mode, a.head)
			}
			if delayed := c.path == "/delay"; delayed && g.slept != time.Minute || !delayed && g.slept != 0 {
				t.Errorf("%s, %s: waited %v", c.path, mode, g.slept)
			}
		}
	}
}

// The answer has a body where the question may have one, whatever the request that is asked about may have.
func TestHeadAndPostQuestions(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "sorry.html"), []byte("sorry"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, `limit_req_zone $host zone=r:1m rate=1r/m; set_real_ip_from 127.0.0.1; limit_req_status 429;
		server { limit_decision; limit_req zone=r; error_page 429 /sorry.html; root `+root+`; }`)
	g.ask("GET / HTTP/1.1", "X-Original-URI: /")
	for _, c := range []struct{ asked, about, want string }{
		{"GET", "HEAD", "sorry"}, {"HEAD", "GET", ""}, {"POST", "GET", "sorry"}, {"GET", "POST", "sorry"}, {"HEAD", "HEAD", ""},
	} {
		a := g.ask(c.asked+" / HTTP/1.1", "X-Original-URI: /", "X-Original-Method: "+c.about)
		if a.body != c.want || a.Response.Length != 5 {
			t.Errorf("%s asks about %s: got %q of length %d, want %q", c.asked, c.about, a.body, a.Response.Length, c.want)
		}
	}
}

// What comes behind a question that has a body is not taken for another question.
func TestQuestionsWithABodyAreTheLast(t *testing.T) {
	for from, trusted := range map[string]bool{"127.0.0.1": true, "192.0.2.1": false} {
		g := start(t, `set_real_ip_from `+from+`; server { limit_decision from=original; location /no { deny all; } }`)
		for _, path := range []string{"/yes", "/no"} {
			for field, body := range map[string]bool{"Content-Length: 9": true, "Transfer-Encoding: chunked": true, "Content-Length: 0": false, "X: y": false} {
				a := g.ask("POST /no HTTP/1.1", "X-Original-URI: "+path, field)
				if got, want := a.Response.Close, body && trusted; got != want {
					t.Errorf("peers %s, %s, %s: the connection ends: %v, want %v", from, path, field, got, want)
				}
			}
		}
	}
}

// A place of decisions that an error of another place leads to asks nothing, and has its page.
func TestAPageAmongDecisions(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "page"), []byte("sorry"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, `set_real_ip_from 127.0.0.1; server { root `+root+`; location / { return 403; } error_page 403 /page; location = /page { limit_decision; } }`)
	for method, want := range map[string]string{"GET": "sorry", "HEAD": ""} {
		if a := g.ask(method+" /x HTTP/1.1", "X-Original-URI: /y", "X-Original-Method: POST"); a.Response.Status != 403 || a.body != want || string(a.Target) != "/x" {
			t.Errorf("%s: got %d %q for %s, want 403 %q", method, a.Response.Status, a.body, a.Target, want)
		}
	}
}

// limit_conn holds nothing there, and says so when the configuration is read; elsewhere it holds as ever.
func TestPlacesAndDecisions(t *testing.T) {
	g := start(t, `limit_conn_zone $host zone=c:1m; server { limit_conn c 1; location /d { limit_decision; } location /d2 { limit_decision; limit_conn c 2; } location / { return 404; } }`)
	var got []string
	for _, n := range g.env.Errors.Notices() {
		got = append(got, n.Msg)
	}
	const note = `"limit_conn" counts nothing where "limit_decision" answers`
	if len(got) != 2 || got[0] != note || got[1] != note {
		t.Errorf("notices: got %q, want %q for each of two lines", got, note)
	}
	if a := g.get("/d"); a.Response.Status != 200 || a.ConnStatus != request.LimitUnset {
		t.Errorf("got %d, $limit_conn_status %q", a.Response.Status, a.ConnStatus)
	}
}

// A question makes no garbage, answered yes or no.
func TestDecisionsMakeNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("pools forget under the race detector")
	}
	g := start(t, `
		map $request_uri $key { default $remote_addr; ~^/never never; }
		limit_req_zone $key zone=r:1m rate=1000r/s;
		set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For; limit_req_log_level info; error_log discard error;
		server { limit_decision header; location / { limit_req zone=r burst=100 nodelay; } location /never { limit_req zone=r; } }`)
	for path, status := range map[string]int{"/a//b?c=d": 200, "/never": 403} {
		r := g.request("GET / HTTP/1.1", "Host: h", "X-Forwarded-Uri: "+path, "X-Forwarded-Method: POST", "X-Forwarded-Host: Shop.example:1", "X-Forwarded-Proto: https", "X-Forwarded-For: 203.0.113.7")
		saved := *r
		var stream request.Stream = nothing{&g.client}
		headers := append([]request.Header(nil), saved.Headers...)
		if status == 403 {
			g.ask("GET / HTTP/1.1", "X-Forwarded-Uri: "+path)
		}
		now := g.now
		serve := func() {
			r.Reset()
			r.Conn, r.Stream, r.Headers, r.Line = saved.Conn, stream, append(r.Headers[:0], headers...), saved.Line
			r.Method, r.Target, r.URI, r.Args, r.Host = saved.Method, saved.Target, saved.URI, saved.Args, saved.Host
			r.Major, r.Minor, r.ClientAddr = 1, 1, saved.ClientAddr
			if status == 200 {
				now = now.Add(1e6)
			}
			r.Now, r.Start = now, now
			g.program.Serve(r)
			if r.Response.Status != status {
				t.Fatalf("%s: got %d, want %d", path, r.Response.Status, status)
			}
		}
		for range 10 {
			serve()
		}
		if n := testing.AllocsPerRun(100, serve); n != 0 {
			t.Errorf("%s: %v allocations, want 0", path, n)
		}
	}
}

package conformance

import (
	"crypto/md5"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// witness is a backend that answers as X-Want of the request says, with the fields that matter to an access check, and remembers
// what it was asked.
type witness struct {
	*httptest.Server
	mu    sync.Mutex // guards asked
	asked []string
}

func newWitness(t *testing.T) *witness {
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(w.answer))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) addr() string { return w.Listener.Addr().String() }

func (w *witness) answer(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if len(body) > 100 {
		body = fmt.Appendf(nil, "%d bytes with the sum %x", len(body), md5.Sum(body))
	}
	w.mu.Lock()
	w.asked = append(w.asked, seenRequest(r, body, err))
	w.mu.Unlock()
	h := out.Header()
	h.Set("Content-Type", "text/plain")
	h["Date"] = nil
	if !strings.HasPrefix(r.URL.Path, "/auth") {
		fmt.Fprintf(out, "content of %s\n", r.URL)
		return
	}
	h.Set("X-User", "user of "+r.URL.Path)
	want := r.Header.Get("X-Want")
	switch want {
	case "cut":
		panic(http.ErrAbortHandler)
	case "accel":
		h.Set("X-Accel-Redirect", r.Header.Get("X-To"))
		want = "200"
	case "mute":
		want = "401"
	default:
		h.Add("WWW-Authenticate", `Bearer realm="a"`)
	}
	status, _ := strconv.Atoi(want)
	if status == 0 {
		status = 204
	}
	h.Set("Location", "http://elsewhere/")
	h.Set("Set-Cookie", "a=b")
	out.WriteHeader(status)
	if status != 204 && status != 304 {
		fmt.Fprintf(out, "what %d is\n", status)
	}
}

// seenRequest is a request as a backend got it, without the addresses of a run.
func seenRequest(r *http.Request, body []byte, err error) string {
	var fields []string
	for name, values := range r.Header {
		for _, v := range values {
			fields = append(fields, name+": "+v)
		}
	}
	slices.Sort(fields)
	return mask(fmt.Sprintf("%s %s %s length %d %v %q %v %s", r.Method, r.RequestURI, r.Proto, r.ContentLength, r.TransferEncoding, body, err, strings.Join(fields, " | ")))
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked)
}

// take returns what was asked since the last call, in order.
func (w *witness) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.asked
	w.asked = nil
	return list
}

// witnessed is a configuration with the directives of http, in which BACKEND is a witness, and what is sent to it.
type witnessed struct {
	http      string
	raw       []string
	loose     bool // of what is said of an unexpected status it does not matter what was being done
	unordered bool // requests go on side by side
}

// told is what came of one request.
type told struct {
	Request, Answer string
	Asked           []string
}

var (
	sentDates = regexp.MustCompile(`Date: [^\r\n]*`)
	// doing is what nginx's connection did last, whoever writes the line.
	doing = regexp.MustCompile(` while (sending to client|reading response header from upstream)`)
)

// run sends the requests to one gateway, one after the other, and returns what came of each, with the logs. like is what came of
// them on another one: what mirrors ask comes when it comes.
func (a *witnessed) run(t *testing.T, b gatewaytest.Binary, like []told) (list []told, logs seen) {
	t.Helper()
	w := newWitness(t)
	g := gatewaytest.Prepare(t, b, "error_log logs/error.log info;\nevents {}\nhttp {\n"+strings.ReplaceAll(a.http, "BACKEND", w.addr())+"\n}\n")
	for name, text := range tree {
		g.Write("html/"+name, text)
	}
	g.Write("users", "u:{PLAIN}p\n")
	g.Run()
	for i, raw := range a.raw {
		answer := exchange(t, g.Addr(8080), raw, []string{"X-User", "X-Auth-Status", "X-Page", "WWW-Authenticate", "Set-Cookie", "Location", "Content-Length", "Connection"})
		answer = sentDates.ReplaceAllString(answer, "Date: D")
		if strings.HasPrefix(raw, "HEAD ") {
			answer = pageLength.ReplaceAllString(answer, "Content-Length: PAGE")
		}
		if like != nil {
			for end := time.Now().Add(3 * time.Second); w.count() < len(like[i].Asked) && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
		list = append(list, told{raw, answer, w.take()})
	}
	time.Sleep(50 * time.Millisecond) // logs are written after the answer
	logs.Access = lines(g.Read("logs/access.log"))
	for _, l := range lines(g.ErrorLog()) {
		if strings.Contains(l, ", client: ") && !strings.Contains(l, "while waiting for request") {
			if !strings.Contains(l, "unexpected status") || a.loose {
				l = doing.ReplaceAllString(l, "")
			}
			logs.Errors = append(logs.Errors, l)
		}
	}
	return list, logs
}

// compare runs the requests on nginx and on limitgate.
func (a *witnessed) compare(t *testing.T) {
	t.Helper()
	want, wantLogs := a.run(t, gatewaytest.Nginx(t), nil)
	got, gotLogs := a.run(t, gatewaytest.Limitgate(t), want)
	if a.unordered {
		for _, l := range [][]told{want, got} {
			for _, one := range l {
				slices.Sort(one.Asked)
			}
		}
		for _, l := range []*seen{&wantLogs, &gotLogs} {
			slices.Sort(l.Access)
			slices.Sort(l.Errors)
		}
	}
	for i := range want {
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Errorf("nginx (-) and limitgate (+) differ:\n%s", d)
		}
	}
	if d := cmp.Diff(wantLogs, gotLogs); d != "" {
		t.Errorf("logs: nginx (-) and limitgate (+) differ:\n%s", d)
	}
}

const asksLog = `
	log_format f '$request_uri $uri $status $request_method $user|$level|$args|$limit_req_status|$upstream_status|$upstream_addr|$request_length|$request_completion';
	map $request_method $any_user { default $user; }
	access_log logs/access.log f; lingering_timeout 100ms;
	auth_request_set $user $upstream_http_x_user;
	auth_request_set $level "$upstream_status of $uri, $request_method $request_uri";
	add_header X-User $user always;
	add_header X-Auth-Status $level always;
	proxy_set_header X-Origin "$request_method $request_uri $uri $args $is_args $content_length";
`

// authPlaces are locations with auth_request, alone and beside the other checks.
const authPlaces = `
	location /all/ { auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /file/ { auth_request /auth; alias html/; }
	location /any/allowed/ { satisfy any; allow all; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /any/denied/ { satisfy any; deny all; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /any/basic/ { satisfy any; auth_basic r; auth_basic_user_file users; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /all/denied/ { deny all; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /all/basic/ { auth_basic r; auth_basic_user_file users; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /page/ { error_page 401 403 500 /error-page; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /named/ { error_page 401 = @named; error_page 403 =402 @named; error_page 500 =503 @named; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /away/ { error_page 401 403 =303 http://login/?to=$request_uri; auth_request /auth; proxy_pass http://BACKEND/content/; }
	location /covered/ { auth_request /auth-covered; proxy_pass http://BACKEND/content/; }
	location = /error-page { add_header X-Page "$user $level" always; return 200 "page for $uri $any_user\n"; }
	location @named { add_header X-Page "$user $level" always; return 200 "named for $uri\n"; }
	location = /auth { internal; proxy_pass http://BACKEND; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
	location = /auth-covered { proxy_pass http://BACKEND; proxy_intercept_errors on; proxy_hide_header WWW-Authenticate; error_page 404 =200 /error-page; error_page 500 =403 @named; error_page 403 = @yes; }
	location @yes { return 200; }
`

// TestAuthRequestSideBySide compares every kind of place with every status: 190 requests and their logs.
func TestAuthRequestSideBySide(t *testing.T) {
	t.Parallel()
	a := witnessed{http: asksLog + `server { listen 127.0.0.1:@8080@; server_name localhost;` + authPlaces + `}`}
	places := []string{"/all/", "/file/", "/any/allowed/", "/any/denied/", "/any/basic/", "/all/denied/", "/all/basic/", "/page/", "/named/", "/away/", "/covered/"}
	statuses := []string{"200", "204", "299", "300", "302", "304", "400", "401", "403", "404", "407", "418", "500", "503", "cut", "mute"}
	for _, p := range places {
		for _, s := range statuses {
			a.raw = append(a.raw, httpGet(p+"a.txt?q=1", "X-Want: "+s))
		}
	}
	for _, s := range []string{"200", "401", "403", "500"} {
		a.raw = append(a.raw, strings.Replace(auth("/any/basic/a.txt", "u:p"), "Host:", "X-Want: "+s+"\r\nHost:", 1),
			strings.Replace(auth("/all/basic/a.txt", "u:p"), "Host:", "X-Want: "+s+"\r\nHost:", 1),
			strings.Replace(auth("/all/basic/a.txt", "u:wrong"), "Host:", "X-Want: "+s+"\r\nHost:", 1))
	}
	a.raw = append(a.raw, httpGet("/auth", "X-Want: 200"), httpGet("/auth-covered", "X-Want: 200"))
	a.compare(t)
}

// TestAuthRequestInheritedAndInside compares what the location that is asked can be, and what is inherited.
func TestAuthRequestInheritedAndInside(t *testing.T) {
	t.Parallel()
	a := witnessed{loose: true, http: strings.Replace(asksLog, "|$request_length|$request_completion", "", 1) + `log_subrequest on;
	limit_req_zone $binary_remote_addr zone=in:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=out:1m rate=1r/m;
	limit_req_status 403;
	server { listen 127.0.0.1:@8080@; server_name localhost; auth_request /auth-in; set $mark server;
		location / { proxy_pass http://BACKEND/content/; }
		location /off { auth_request off; auth_request_set $user never; proxy_pass http://BACKEND/content/; }
		location /own { auth_request /auth-own; auth_request_set $args "a=$upstream_status&b=$args"; proxy_pass http://BACKEND/content; }
		location /none { auth_request /nowhere; proxy_pass http://BACKEND/content; }
		location /question { auth_request /auth?a=b; proxy_pass http://BACKEND/content; }
		location /expression { auth_request /e/123; auth_request_set $user "$1 $mark"; proxy_pass http://BACKEND/content; add_header X-User "$user $mark" always; }
		location ~ ^/e/(\d+)$ { set $mark "by $1"; proxy_pass http://BACKEND/auth/$1; }
		location /returns { auth_request /returns-401; proxy_pass http://BACKEND/content; }
		location = /returns-401 { return 401; }
		location /says { auth_request /says-200; proxy_pass http://BACKEND/content; }
		location = /says-200 { return 200 yes; }
		location /closes { auth_request /closes-444; proxy_pass http://BACKEND/content; }
		location = /closes-444 { return 444; }
		location /file { auth_request /a.txt; proxy_pass http://BACKEND/content; }
		location /folder { auth_request /sub; proxy_pass http://BACKEND/content; }
		location /index { auth_request /sub/; proxy_pass http://BACKEND/content; }
		location ~ \.txt$ { root html; }
		location /sub { root html; index i.html; }
		location /rewritten { auth_request /rewrite; proxy_pass http://BACKEND/content; }
		location = /rewrite { rewrite ^ /auth-own?r=1 last; }
		location /tried { auth_request /try; proxy_pass http://BACKEND/content; }
		location = /try { try_files /nothing @tried; }
		location @tried { proxy_pass http://BACKEND; }
		location /unlimited { auth_request /limited; proxy_pass http://BACKEND/content; }
		location = /limited { limit_req zone=in; proxy_pass http://BACKEND/auth; }
		location /bounded { limit_req zone=out burst=3 nodelay; auth_request /limited; proxy_pass http://BACKEND/content; }
		location /nested { auth_request /auth-nested; proxy_pass http://BACKEND/content; }
		location = /auth-nested { auth_request /auth-own; deny all; auth_basic r; auth_basic_user_file users; mirror /auth-own; proxy_pass http://BACKEND/auth; }
		location /twice { auth_request /auth-own; error_page 404 /twice-page; root html; }
		location /twice-page { auth_request /auth-in; proxy_pass http://BACKEND/content; }
		location /except { auth_request /except-get; proxy_pass http://BACKEND/content; }
		location = /except-get { limit_except POST { proxy_pass http://BACKEND; } proxy_pass http://BACKEND/auth-post; }
		location /upgrade { auth_request /auth-own; proxy_pass http://BACKEND/content; }
		location /auth { internal; proxy_pass http://BACKEND; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header X-Origin "$request_method $request_uri $uri $args"; }
	}`}
	for _, path := range []string{"/", "/off", "/own?x=y", "/none", "/question", "/expression", "/returns", "/says", "/closes", "/file", "/folder", "/index", "/rewritten?q", "/tried", "/nested",
		"/twice", "/except", "/bounded", "/bounded", "/unlimited", "/unlimited", "/bounded"} {
		a.raw = append(a.raw, httpGet(path), httpGet(path, "X-Want: 403"))
	}
	a.raw = append(a.raw,
		httpGet("/", "X-Want: accel", "X-To: /says-200"), httpGet("/", "X-Want: accel", "X-To: /returns-401"), httpGet("/", "X-Want: accel", "X-To: @tried"), httpGet("/", "X-Want: accel", "X-To: /../x"),
		"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HEAD / HTTP/1.1\r\nHost: localhost\r\nX-Want: 401\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nX-Want: 403\r\n\r\n", "GET /\r\n",
		"PUT /own HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody", "PUT /own HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nX-Want: 401\r\nConnection: close\r\n\r\nbody",
		"POST /own HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"POST /except HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		httpGet("/", "If-None-Match: *", "If-Match: x", "Range: bytes=0-1", "If-Modified-Since: Thu, 29 Feb 2024 12:00:01 GMT"),
		httpGet("/file", "Range: bytes=0-1", "If-Match: x"),
		// Kept connections: behind a refusal the next request is read, whatever the body was.
		"PUT / HTTP/1.1\r\nHost: localhost\r\nX-Want: 403\r\nContent-Length: 4\r\n\r\nbodyGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: localhost\r\nX-Want: 403\r\nExpect: 100-continue\r\nContent-Length: 4\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX-Want: 401\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nX-Want: 500\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
	)
	a.compare(t)
}

// TestMirrorSideBySide compares what mirrors are shown, and that nothing of it reaches the client.
func TestMirrorSideBySide(t *testing.T) {
	t.Parallel()
	a := witnessed{unordered: true, loose: true, http: `
	log_format f '$request_uri $uri $status $request_method $args';
	access_log logs/access.log f; log_subrequest on; lingering_timeout 100ms; client_body_temp_path body;
	limit_req_zone $binary_remote_addr zone=in:1m rate=1r/m;
	limit_req_zone $binary_remote_addr zone=out:1m rate=1r/m;
	limit_req_status 429;
	proxy_set_header X-Origin "$request_method $request_uri $uri $args $http_host $content_length";
	server { listen 127.0.0.1:@8080@; server_name localhost; mirror /m/server; client_body_buffer_size 8k;
		location / { proxy_pass http://BACKEND/content/; }
		location /off { mirror off; proxy_pass http://BACKEND; }
		location /two { mirror /m/one; mirror /m/two; proxy_pass http://BACKEND; }
		location /bare { mirror /m-bare; mirror_request_body off; proxy_pass http://BACKEND; }
		location /stream { proxy_request_buffering off; proxy_http_version 1.1; proxy_pass http://BACKEND; }
		location /denied { deny all; proxy_pass http://BACKEND; }
		location /asked { auth_request /auth; proxy_pass http://BACKEND; }
		location /limited { limit_req zone=out; proxy_pass http://BACKEND; }
		location /bounded { limit_req zone=out burst=9 nodelay; mirror /m-limited; proxy_pass http://BACKEND; }
		location /unbounded { mirror /m-limited; proxy_pass http://BACKEND; }
		location /returns { return 204; }
		location /file/ { alias html/; }
		location /missing { error_page 404 = /found; root html; }
		location /found { mirror /m/found; return 200 found; }
		location /got { mirror /m/got; proxy_pass http://BACKEND; }
		location /tries { try_files /none /got; }
		location /small { mirror /m-small; proxy_pass http://BACKEND; }
		location /nested { mirror /m-nested; proxy_pass http://BACKEND; }
		location /rewritten { mirror /m-rewritten; proxy_pass http://BACKEND; }
		location /says { mirror /m-says; mirror /m-none; proxy_pass http://BACKEND; }
		location /except { mirror /m-except; proxy_pass http://BACKEND; }
		location /auth { proxy_pass http://BACKEND; proxy_pass_request_body off; proxy_set_header Content-Length ""; }
		location /m { proxy_pass http://BACKEND; }
		location /m-bare { proxy_pass http://BACKEND; proxy_pass_request_body off; proxy_set_header Content-Length ""; proxy_set_header X-Length $http_content_length; }
		location /m-limited { limit_req zone=in; proxy_pass http://BACKEND; }
		location /m-small { client_max_body_size 3; proxy_pass http://BACKEND; }
		location /m-nested { mirror /m/never; auth_request /auth; deny all; proxy_pass http://BACKEND; }
		location /m-rewritten { rewrite ^ /m/rewritten?by=rewrite break; proxy_pass http://BACKEND; }
		location /m-says { return 403; }
		location /m-none { root html; }
		location /m-except { limit_except POST { proxy_pass http://BACKEND; } proxy_method PUT; proxy_pass http://BACKEND; }
	}`}
	large := strings.Repeat("0123456789abcdef", 4000)
	for _, path := range []string{"/", "/x?a=b&c", "/off", "/two?q", "/bare", "/stream", "/denied", "/asked", "/limited", "/limited", "/bounded", "/unbounded", "/unbounded", "/returns", "/file/a.txt",
		"/missing", "/found", "/tries", "/small", "/nested", "/rewritten?own", "/says", "/except", "/%7Ea%20b?c=%20"} {
		a.raw = append(a.raw, httpGet(path))
		if path == "/missing" || path == "/bounded" || path == "/unbounded" || path == "/limited" {
			continue
		}
		post := "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\nX-Want: 200\r\nConnection: close\r\n"
		a.raw = append(a.raw, post+"Content-Length: 4\r\n\r\nbody", post+"Content-Length: 0\r\n\r\n")
		if !slices.Contains([]string{"/", "/two?q", "/bare", "/stream", "/asked", "/small", "/file/a.txt"}, path) {
			continue
		}
		a.raw = append(a.raw, post+"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", post+"Content-Length: "+strconv.Itoa(len(large))+"\r\n\r\n"+large)
	}
	a.raw = append(a.raw, "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
		"DELETE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nbroken\r\n",
		"GET /two HTTP/1.1\r\nHost: localhost\r\n\r\nPOST /two HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbodyGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	a.compare(t)
}

// A request has one $request_id, whoever asks for it first: the location that auth_request asks, a mirror, the upstream, the answer
// or the log.
func TestRequestIDIsOne(t *testing.T) {
	t.Parallel()
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		for name, add := range map[string]string{"asked first": `auth_request /auth;`, "mirrored first": `mirror /mirror;`, "both": `auth_request /auth; mirror /mirror;`} {
			a := witnessed{http: `log_format f '$request_id'; access_log logs/access.log f; log_subrequest on; proxy_set_header X-Origin $request_id;
				server { listen 127.0.0.1:@8080@; add_header X-User $request_id;
					location / { ` + add + ` proxy_hide_header X-User; proxy_pass http://BACKEND; }
					location /auth { proxy_pass http://BACKEND; } location /mirror { proxy_pass http://BACKEND; } }`,
				raw: []string{httpGet("/a"), httpGet("/b")}}
			n := 2 + strings.Count(add, "auth_request") + strings.Count(add, "mirror /") // requests with the one of the client, and lines
			list, logs := a.run(t, b, []told{{Asked: make([]string, n-1)}, {Asked: make([]string, n-1)}})
			var ids []string
			for _, one := range list {
				id := requestIDs.FindString(one.Answer)
				ids = append(ids, id)
				if len(one.Asked) != n-1 || id == "" {
					t.Fatalf("%s, %s: %d asked, answer %q", b.Name, name, len(one.Asked), one.Answer)
				}
				for _, asked := range one.Asked {
					if got := requestIDs.FindString(asked); got != id {
						t.Errorf("%s, %s: %q asks with the id %s, the answer has %s", b.Name, name, asked, got, id)
					}
				}
			}
			if counts := countOf(logs.Access); ids[0] == ids[1] || counts[ids[0]] != n-1 || counts[ids[1]] != n-1 {
				t.Errorf("%s, %s: logged %q, answered %q", b.Name, name, logs.Access, ids)
			}
		}
	}
}

var requestIDs = regexp.MustCompile(`\b[0-9a-f]{32}\b`)

// countOf is how often each text is there.
func countOf(list []string) map[string]int {
	counts := map[string]int{}
	for _, s := range list {
		counts[s]++
	}
	return counts
}

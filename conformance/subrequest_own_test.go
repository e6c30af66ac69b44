package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const authPlace = `location = /auth { internal; proxy_pass http://BACKEND; proxy_pass_request_body off; proxy_set_header Content-Length ""; }`

// gatewayBefore starts a gateway in front of a handler, whose address stands for BACKEND.
func gatewayBefore(t *testing.T, b gatewaytest.Binary, backend http.Handler, http string) *gatewaytest.Gateway {
	t.Helper()
	s := httptest.NewServer(backend)
	t.Cleanup(s.Close)
	return gatewaytest.Start(t, b, "error_log logs/error.log info;\nevents {}\nhttp {\n"+strings.ReplaceAll(http, "BACKEND", s.Listener.Addr().String())+"\n}\n")
}

// A 429 of the service that is asked is the client's answer, with what it says of limits; nginx makes 500 of it. A 503 is an error
// for both.
func TestAuthRequest429(t *testing.T) {
	t.Parallel()
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Retry-After", "7")
		h.Set("RateLimit", `"l";r=0;t=7`)
		h.Set("RateLimit-Policy", `"l";q=1;w=7`)
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-Other", "no")
		w.WriteHeader(map[string]int{"503": 503, "429": 429}[r.Header.Get("X-Want")])
	})
	const conf = `server { listen 127.0.0.1:@8080@; auth_request_set $seen $upstream_http_retry_after; add_header X-Seen $seen always;
		location / { auth_request /auth; proxy_pass http://BACKEND; }
		location /any { satisfy any; deny all; auth_request /auth; proxy_pass http://BACKEND; }
		location /page { auth_request /auth; error_page 429 /sorry; proxy_pass http://BACKEND; }
		location = /sorry { return 200 sorry; } ` + authPlace + `}`
	fields := []string{"Retry-After", "RateLimit", "RateLimit-Policy", "X-RateLimit-Remaining", "X-Other", "X-Seen"}
	nginx, own := gatewayBefore(t, gatewaytest.Nginx(t), backend, conf), gatewayBefore(t, gatewaytest.Limitgate(t), backend, conf)
	const told = "\nRatelimit: \"l\";r=0;t=7\nRatelimit-Policy: \"l\";q=1;w=7\nRetry-After: 7\nX-Ratelimit-Remaining: 0\nX-Seen: 7\n"
	for path, want := range map[string]string{"/": told, "/any": told, "/page": told + "sorry"} {
		ask := httpGet(path, "X-Want: 429")
		if a := exchange(t, nginx.Addr(8080), ask, fields); !strings.HasPrefix(a, "HTTP/1.1 500 Internal Server Error\nX-Seen: 7\n") {
			t.Errorf("%s: nginx: got %s", path, a)
		}
		if a := exchange(t, own.Addr(8080), ask, fields); !strings.HasPrefix(a, "HTTP/1.1 429 Too Many Requests"+want) {
			t.Errorf("%s: got %s", path, a)
		}
		ask = httpGet(path, "X-Want: 503")
		want, got := exchange(t, nginx.Addr(8080), ask, fields), exchange(t, own.Addr(8080), ask, fields)
		if want != got || !strings.HasPrefix(got, "HTTP/1.1 500 ") {
			t.Errorf("%s: 503 of the service: nginx %s, limitgate %s", path, want, got)
		}
	}
}

// A limitgate that asks another one passes on what it decides: status and fields, without any header of X-Limit-….
func TestAuthRequestAsksADecision(t *testing.T) {
	t.Parallel()
	limits := gatewaytest.Start(t, gatewaytest.Limitgate(t), `events {}
http {
	set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP; limit_headers draft; limit_req_status 429;
	limit_req_zone $binary_remote_addr zone=login:1m rate=6r/m;
	server { listen 127.0.0.1:@9181@; limit_decision from=original; location / { } location = /login { limit_req zone=login burst=1 nodelay; } }
}
`)
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "served ", r.Method) })
	g := gatewayBefore(t, gatewaytest.Limitgate(t), backend, `server { listen 127.0.0.1:@8080@; auth_request /_limit; proxy_set_header Host $host;
		location / { proxy_pass http://BACKEND; }
		location = /_limit { internal; proxy_pass http://`+limits.Addr(9181)+`; proxy_pass_request_body off; proxy_set_header Content-Length "";
			proxy_set_header X-Real-IP $arg_ip; proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Original-Method $request_method; } }`)
	post := "POST /login HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: 9.9.9.9\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
	fields := []string{"Retry-After", "RateLimit", "X-Limit-Verdict"}
	var got []string
	for range 3 {
		got = append(got, exchange(t, g.Addr(8080), post, fields))
	}
	if got[0] != "HTTP/1.1 200 OK\nserved POST" || got[1] != got[0] {
		t.Errorf("admitted: got %q", got[:2])
	}
	if !strings.HasPrefix(got[2], "HTTP/1.1 429 Too Many Requests\nRetry-After: 10\nRatelimit: \"login\";r=0;t=10\n") &&
		!strings.HasPrefix(got[2], "HTTP/1.1 429 Too Many Requests\nRateLimit: \"login\";r=0;t=10\nRetry-After: 10\n") {
		t.Errorf("refused: got %q", got[2])
	}
	if a := exchange(t, g.Addr(8080), httpGet("/other"), nil); a != "HTTP/1.1 200 OK\nserved GET" {
		t.Errorf("another path: got %q", a)
	}
}

// A client that leaves while the service is asked ends the question: 499 is logged, the upstream's connection is closed, and the
// place of limit_conn is free.
func TestAuthRequestClientLeaves(t *testing.T) {
	t.Parallel()
	asked, ended := make(chan struct{}, 8), make(chan struct{}, 8)
	backend := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		if r.Header.Get("X-Stay") == "" {
			<-r.Context().Done()
			ended <- struct{}{}
		}
	})
	g := gatewayBefore(t, gatewaytest.Limitgate(t), backend, `limit_conn_zone $server_name zone=c:1m; log_format f '$status $uri $limit_conn_status'; access_log logs/access.log f;
		server { listen 127.0.0.1:@8080@; server_name s; limit_conn c 1; location / { auth_request /auth; return 204; } location /x { auth_request /auth; root html; } `+authPlace+`}`)
	c, err := net.Dial("tcp", g.Addr(8080))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab"); err != nil {
		t.Fatal(err)
	}
	<-asked
	if a := exchange(t, g.Addr(8080), httpGet("/x", "X-Stay: 1"), nil); !strings.HasPrefix(a, "HTTP/1.1 503") {
		t.Errorf("while the service is asked the place is taken: got %q", a)
	}
	c.Close()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the question goes on")
	}
	gatewaytest.Eventually(t, 5*time.Second, "499 in the log", func() bool { return strings.Contains(g.Read("logs/access.log"), "499 /x PASSED\n") })
	if a := exchange(t, g.Addr(8080), httpGet("/x", "X-Stay: 1"), nil); !strings.HasPrefix(a, "HTTP/1.1 404") {
		t.Errorf("the place is not free: got %q", a)
	}
}

// A mirror that takes its time delays nothing: not the answer, not the next request on the connection, not the place of
// limit_conn. nginx keeps the connection until the mirror has answered.
func TestSlowMirrorHoldsNothing(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	var mirrored atomic.Int64
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/mirror") {
			mirrored.Add(1)
			<-release
			return
		}
		fmt.Fprint(w, "served")
	})
	const conf = `limit_conn_zone $server_name zone=c:1m;
		server { listen 127.0.0.1:@8080@; server_name s; location / { limit_conn c 1; mirror /mirror/1; mirror /mirror/2; proxy_pass http://BACKEND; } location /mirror { proxy_pass http://BACKEND; } }`
	both := func(b gatewaytest.Binary) (second string) {
		g := gatewayBefore(t, b, backend, conf)
		t.Cleanup(let)
		c, err := net.Dial("tcp", g.Addr(8080))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for i := range 2 {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(time.Duration(10-i*9) * time.Second))
			resp, err := http.ReadResponse(in, nil)
			switch {
			case err != nil && i == 1:
				return "none"
			case err != nil:
				t.Fatal(err)
			}
			second = resp.Status
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		return second
	}
	if got := both(gatewaytest.Nginx(t)); got != "none" {
		t.Errorf("nginx: the second request on the connection: got %q", got)
	}
	before := mirrored.Load()
	if got := both(gatewaytest.Limitgate(t)); got != "200 OK" {
		t.Errorf("the second request on the connection: got %q", got)
	}
	gatewaytest.Eventually(t, 5*time.Second, "both mirrors of both requests at once", func() bool { return mirrored.Load() == before+4 })
}

// Mirrors are bounded: behind 1024 that do not answer further ones are left out, the requests are served, and the log says it.
// Once they have answered, mirrors go on.
func TestMirrorsAreBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	let := sync.OnceFunc(func() { close(release) })
	var mirrored atomic.Int64
	backend := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mirrored.Add(1)
		<-release
	})
	g := gatewayBefore(t, gatewaytest.Limitgate(t), backend, `keepalive_requests 2000; server { listen 127.0.0.1:@8080@; location / { mirror /m; root html; } location /m { proxy_pass http://BACKEND; } }`)
	t.Cleanup(let)
	g.Write("html/a", "served")
	c, err := net.Dial("tcp", g.Addr(8080))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	ask := func(n int) {
		t.Helper()
		for range n {
			if _, err := io.WriteString(c, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(resp, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	ask(1024)
	gatewaytest.Eventually(t, 10*time.Second, "all mirrors", func() bool { return mirrored.Load() == 1024 })
	ask(3)
	if n := strings.Count(g.ErrorLog(), `[warn] `); n != 3 || !strings.Contains(g.ErrorLog(), `1024 mirrors are under way, "/m" is left out, client: 127.0.0.1`) {
		t.Errorf("%d warnings:\n%s", n, g.ErrorLog())
	}
	let()
	gatewaytest.Eventually(t, 10*time.Second, "room", func() bool { ask(1); return mirrored.Load() > 1024 })
}

// A process that ends waits for its mirrors, a configuration that was replaced as well; an immediate end cuts them off.
func TestMirrorsOutliveTheirConfiguration(t *testing.T) {
	t.Parallel()
	release, ended := make(chan struct{}), make(chan error, 4)
	asked := make(chan struct{}, 4)
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
			ended <- nil
		case <-r.Context().Done():
			ended <- r.Context().Err()
		}
	})
	start := func() *gatewaytest.Gateway {
		g := gatewayBefore(t, gatewaytest.Limitgate(t), backend, `log_format f '$uri $status'; access_log logs/access.log f; log_subrequest on;
			server { listen 127.0.0.1:@8080@; location / { mirror /m; root html; } location /m { proxy_pass http://BACKEND; } }`)
		exchange(t, g.Addr(8080), httpGet("/a"), nil)
		<-asked
		return g
	}
	let := sync.OnceFunc(func() { close(release) })
	replaced, quits, ends := start(), start(), start()
	t.Cleanup(let)
	replaced.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "the reload", func() bool { return strings.Contains(replaced.ErrorLog(), "gracefully shutting down") })
	quits.Signal(syscall.SIGQUIT)
	ends.Signal(syscall.SIGTERM)
	if err := <-ended; err == nil {
		t.Error("SIGTERM waits for mirrors")
	}
	let()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("a mirror was cut off: %v", err)
		}
	}
	for _, g := range []*gatewaytest.Gateway{replaced, quits} {
		gatewaytest.Eventually(t, 5*time.Second, "the mirror in the log", func() bool { return strings.Contains(g.Read("logs/access.log"), "/m 200\n") })
	}
	gatewaytest.Eventually(t, 5*time.Second, "the end of the old configuration", func() bool { return strings.Contains(replaced.ErrorLog(), "exited with code 0") })
}

package examples

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// forwardAuth is the example's site: an application, limitgate, and a proxy that asks it.
type forwardAuth struct {
	t     *testing.T
	gate  *gatewaytest.Gateway
	hits  atomic.Int64 // of the application
	proxy string       // its address
	app   string
}

// forwardAuthProxies are the proxies of the example: each starts one in front of a site.
var forwardAuthProxies = map[string]func(*forwardAuth){
	"nginx":   (*forwardAuth).nginx,
	"caddy":   (*forwardAuth).caddy,
	"haproxy": (*forwardAuth).haproxy,
	"traefik": (*forwardAuth).traefik,

	"limitgate": (*forwardAuth).limitgate,
}

func startForwardAuth(t *testing.T, proxy func(*forwardAuth)) *forwardAuth {
	t.Helper()
	f := &forwardAuth{t: t}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.hits.Add(1)
		if r.URL.Path == "/forbidden" {
			w.WriteHeader(403)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.RequestURI(), body)
	})}
	// owned by the test; ends when the server is closed
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	f.app = ln.Addr().String()
	conf := strings.Replace(read(t, "forward-auth/limitgate.conf", "9180", "9181"), "pid        logs/limitgate.pid;", "", 1)
	f.gate = gatewaytest.Prepare(t, gatewaytest.Limitgate(t), conf)
	f.gate.Write("locations.conf", read(t, "forward-auth/locations.conf"))
	f.gate.Run()
	proxy(f)
	return f
}

// filled is a file of the example with the addresses of this site.
func (f *forwardAuth) filled(name string) string {
	return strings.NewReplacer("127.0.0.1:9180", f.gate.Addr(9180), "127.0.0.1:9181", f.gate.Addr(9181), "127.0.0.1:9000", f.app, "127.0.0.1:8080", f.proxy).
		Replace(read(f.t, "forward-auth/"+name))
}

func (f *forwardAuth) nginx() {
	b := gatewaytest.Nginx(f.t)
	f.proxy = "127.0.0.1:@8080@"
	f.proxy = gatewaytest.Start(f.t, b, f.filled("nginx.conf")).Addr(8080)
}

func (f *forwardAuth) limitgate() {
	f.proxy = "127.0.0.1:@8080@"
	f.proxy = gatewaytest.Start(f.t, gatewaytest.Limitgate(f.t), f.filled("asking.conf")).Addr(8080)
}

func (f *forwardAuth) caddy() {
	f.run("caddy", []string{"Caddyfile"}, "run", "--adapter", "caddyfile", "--config", "Caddyfile")
}

func (f *forwardAuth) haproxy() {
	f.run("haproxy", []string{"haproxy.cfg", "limitgate.lua"}, "-db", "-f", "haproxy.cfg")
}

// run starts a proxy on files of the example.
func (f *forwardAuth) run(program string, files []string, args ...string) {
	f.t.Helper()
	path := gatewaytest.Need(f.t, program)
	f.proxy = "127.0.0.1:" + gatewaytest.FreePort(f.t)
	dir := f.t.TempDir()
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(f.filled(name)), 0o644); err != nil {
			f.t.Fatal(err)
		}
	}
	out := new(strings.Builder)
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if f.t.Failed() {
			f.t.Logf("%s: %s", program, out)
		}
	})
	gatewaytest.Eventually(f.t, 10*time.Second, program+" listens", func() bool {
		c, err := net.Dial("tcp", f.proxy)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// traefik stands in for Traefik, which Debian does not ship: it asks the address in traefik.yml with the header fields that
// Traefik's documentation names, and with the client's own, as Traefik does.
func (f *forwardAuth) traefik() {
	address := yamlValue(f.t, f.filled("traefik.yml"), "http", "middlewares", "limitgate", "forwardAuth", "address")
	app, _ := url.Parse("http://" + f.app)
	pass := httputil.NewSingleHostReverseProxy(app)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ask, _ := http.NewRequest("GET", address, nil)
		ask.Header = r.Header.Clone()
		for _, name := range append(strings.Split(r.Header.Get("Connection"), ","), "Connection", "Content-Length") {
			ask.Header.Del(strings.TrimSpace(name))
		}
		client, _, _ := net.SplitHostPort(r.RemoteAddr)
		for name, value := range map[string]string{"Method": r.Method, "Proto": "http", "Host": r.Host, "Uri": r.URL.RequestURI(), "For": client} {
			ask.Header.Set("X-Forwarded-"+name, value)
		}
		answer, err := http.DefaultTransport.RoundTrip(ask)
		if err != nil {
			w.WriteHeader(500)
			return
		}
		defer answer.Body.Close()
		if answer.StatusCode >= 200 && answer.StatusCode < 300 {
			pass.ServeHTTP(w, r)
			return
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	})}
	// owned by the test; ends when the server is closed
	go func() { _ = s.Serve(ln) }()
	f.t.Cleanup(func() { s.Close() })
	f.proxy = ln.Addr().String()
}

// yamlValue follows keys through a file of plain nested maps.
func yamlValue(t *testing.T, text string, keys ...string) string {
	t.Helper()
	depth := 0
	for line := range strings.Lines(text) {
		name, value, isKey := strings.Cut(strings.TrimSpace(line), ":")
		indent := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if !isKey || strings.HasPrefix(name, "#") || indent != depth || name != keys[depth] {
			continue
		}
		if depth++; depth == len(keys) {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("traefik.yml has no %s", strings.Join(keys, "."))
	return ""
}

// ask sends a request to the proxy from an address of the loopback network, on a connection of its own.
func (f *forwardAuth) ask(from, method, target, body string, fields ...string) (status int, after, text string) {
	f.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}}
	req, err := http.NewRequest(method, "http://"+f.proxy+target, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		req.Header[name] = append(req.Header[name], value)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(b)
}

// wantLogged waits until limitgate's log tells of a client and a request line last: it is written after the answer.
func (f *forwardAuth) wantLogged(want string) {
	f.t.Helper()
	gatewaytest.Eventually(f.t, 5*time.Second, "limitgate logs "+want, func() bool {
		lines := strings.Split(strings.TrimSpace(f.gate.Read("logs/access.log")), "\n")
		client, rest, _ := strings.Cut(lines[len(lines)-1], " [")
		_, rest, _ = strings.Cut(rest, `] "`)
		line, _, _ := strings.Cut(rest, " HTTP/")
		return client+" "+line == want
	})
}

// forged are fields by which a client might say that it is somebody else, or asks for something else.
var forged = []string{
	"X-Forwarded-For: 203.0.113.9", "X-Real-IP: 203.0.113.9", "X-Original-URI: /cheap", "X-Original-URL: http://other/cheap",
	"X-Original-Method: PUT", "X-Forwarded-Uri: /cheap", "X-Forwarded-Method: PUT", "X-Forwarded-Host: other", "X-Forwarded-Proto: https",
	"Forwarded: for=203.0.113.9", "X-Original-Remote-Addr: 203.0.113.9",
}

func TestForwardAuth(t *testing.T) {
	for name, proxy := range forwardAuthProxies {
		t.Run(name, func(t *testing.T) {
			f := startForwardAuth(t, proxy)
			const one, two, three = "127.0.0.11", "127.0.0.12", "127.0.0.13"
			expect := func(what string, status, want int) {
				t.Helper()
				if status != want {
					t.Fatalf("%s: got %d, want %d\nlimitgate:\n%s%s", what, status, want, f.gate.Read("logs/access.log"), f.gate.ErrorLog())
				}
			}
			status, _, text := f.ask(one, "POST", "/form?a=b", "name=value")
			expect("a form", status, 200)
			if want := "POST /form?a=b name=value"; text != want {
				t.Errorf("the application: got %q, want %q", text, want)
			}
			f.wantLogged(one + " POST /form?a=b")
			if status, _, _ := f.ask(one, "GET", "/forbidden", ""); status != 403 {
				t.Errorf("the application's own 403: got %d", status)
			}

			for range 3 { // one and a burst of two
				status, _, _ = f.ask(one, "GET", "/login", "")
				expect("a login", status, 200)
			}
			hits := f.hits.Load()
			for _, method := range []string{"GET", "POST", "HEAD"} {
				status, after, _ := f.ask(one, method, "/login?again", "")
				expect("a login too many", status, 429)
				if n, err := strconv.Atoi(after); err != nil || n < 1 || n > 10 {
					t.Errorf("Retry-After: got %q, want 1 to 10 seconds", after)
				}
				f.wantLogged(one + " " + method + " /login?again")
			}
			status, _, _ = f.ask(one, "GET", "/login", "", forged...)
			expect("a client that says it is another one", status, 429)
			if got := f.hits.Load(); got != hits {
				t.Errorf("%d refused requests came to the application", got-hits)
			}

			status, _, _ = f.ask(two, "GET", "/login", "")
			expect("another client", status, 200)
			status, _, _ = f.ask(one, "GET", "/", "")
			expect("the same client elsewhere", status, 200)

			// Whatever it says, the third client's requests are counted as what they are.
			for i := range 4 {
				status, _, _ = f.ask(three, "GET", "/login", "", append(forged, "Connection: X-Forwarded-Uri, X-Original-URI, X-Forwarded-For")...)
				if want := map[bool]int{true: 200, false: 429}[i < 3]; status != want {
					t.Errorf("forged login %d: got %d, want %d", i+1, status, want)
				}
				f.wantLogged(three + " GET /login")
			}
		})
	}
}

// Without limitgate nginx and HAProxy go on, as their files say; Caddy refuses.
func TestForwardAuthWithoutLimitgate(t *testing.T) {
	for name, want := range map[string]int{"nginx": 200, "haproxy": 200, "caddy": 502} {
		t.Run(name, func(t *testing.T) {
			f := startForwardAuth(t, forwardAuthProxies[name])
			if status, _, _ := f.ask("127.0.0.11", "GET", "/", ""); status != 200 {
				t.Fatalf("with limitgate: got %d", status)
			}
			f.gate.Stop()
			if status, _, _ := f.ask("127.0.0.11", "GET", "/", ""); status != want {
				t.Errorf("without limitgate: got %d, want %d", status, want)
			}
		})
	}
}

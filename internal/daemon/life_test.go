package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate is a daemon under test with its folder.
type gate struct {
	*Daemon
	t    *testing.T
	dir  string
	addr string
}

// freeAddr finds a port that nobody has now.
func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// config writes the configuration: $addr in it is the gate's address.
func (g *gate) config(http string) {
	g.t.Helper()
	user := ""
	if privileged() {
		user = "user root;\n"
	}
	text := user + "error_log error.log info; pid nginx.pid; worker_processes 2; events {}\nhttp { access_log off;\n" +
		strings.ReplaceAll(http, "$addr", g.addr) + "\n}\n"
	if err := os.WriteFile(filepath.Join(g.dir, "nginx.conf"), []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

// options are those of a process in the gate's folder; the console goes to a file there.
func (g *gate) options() Options {
	console, err := os.Create(filepath.Join(g.dir, "console"))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = console.Close() })
	return Options{Prefix: g.dir, File: "nginx.conf", ErrorLog: "boot.log", Version: "0.0", Stdout: console, Stderr: console}
}

func newGate(t *testing.T) *gate {
	t.Helper()
	procs := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
	return &gate{t: t, dir: t.TempDir(), addr: freeAddr(t)}
}

// start opens the daemon; it is closed with the test if the test has not done so.
func start(t *testing.T, http string) *gate {
	t.Helper()
	g := newGate(t)
	g.config(http)
	d, err := Open(g.options())
	if err != nil {
		t.Fatalf("%v:\n%s", err, g.read("console"))
	}
	g.Daemon = d
	return g
}

func (g *gate) read(name string) string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// status makes one request over a connection of its own.
func (g *gate) status(path string) int {
	g.t.Helper()
	return statusAt(g.t, g.addr, path)
}

func statusAt(t *testing.T, addr, path string) int {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := c.Get("http://" + addr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// kept is a connection with one request answered: idle.
func kept(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := bufio.NewReader(c)
	if got := exchange(t, c, r); got != 200 {
		t.Fatalf("status %d, want 200", got)
	}
	return c, r
}

// exchange makes a request on a kept connection; 0 means that it was closed instead.
func exchange(t *testing.T, c net.Conn, r *bufio.Reader) int {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return 0
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

const plain = `server { listen $addr; location / { return 200 "one\n"; } }`

func TestStartLeavesNginxsTracesAndEndTakesThemAway(t *testing.T) {
	before := runtime.NumGoroutine()
	socket := filepath.Join(t.TempDir(), "s")
	g := start(t, `server { listen $addr; listen unix:`+socket+`; location / { return 200 ok; } }`)
	if got := g.status("/"); got != 200 {
		t.Errorf("status %d, want 200", got)
	}
	if got, want := g.read("nginx.pid"), strconv.Itoa(os.Getpid())+"\n"; got != want {
		t.Errorf("pid file holds %q, want %q", got, want)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
	if err := g.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	for _, path := range []string{socket, filepath.Join(g.dir, "nginx.pid")} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
	log := g.read("error.log")
	for _, want := range []string{"start worker process ", "gracefully shutting down", "exited with code 0"} {
		if !strings.Contains(log, want) {
			t.Errorf("error.log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "[alert]") {
		t.Errorf("an alert in normal work:\n%s", log)
	}
	if console := g.read("console"); console != "" {
		t.Errorf("console says %q, want nothing", console)
	}
	noLeak(t, before)
}

// noLeak waits until no more goroutines run than before.
func noLeak(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, b[:runtime.Stack(b, true)])
		}
	}
}

func TestBusyAddressEndsTheStart(t *testing.T) {
	g := newGate(t)
	taken, err := net.Listen("tcp4", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	g.config(plain)
	if _, err := Open(g.options()); !errors.Is(err, ErrReported) {
		t.Fatalf("Open gave %v, want ErrReported", err)
	}
	busy := "nginx: [emerg] bind() to " + g.addr + " failed (98: Address already in use)\n"
	if got, want := g.read("console"), strings.Repeat(busy, 5)+"nginx: [emerg] still could not bind()\n"; got != want {
		t.Errorf("console says\n%s\nwant\n%s", got, want)
	}
	if got := strings.Count(g.read("boot.log"), "[emerg] "); got != 6 {
		t.Errorf("%d lines in the log of -e, want 6", got)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "nginx.pid")); !os.IsNotExist(err) {
		t.Error("a pid file was written")
	}
}

func TestReloadTakesTheNewFileAndRefusesABadOne(t *testing.T) {
	g := start(t, plain)
	defer g.Close()
	c, r := kept(t, g.addr)
	g.config(strings.Replace(plain, "200", "201", 1))
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := g.status("/"); got != 201 {
		t.Errorf("new connection after the reload: %d, want 201", got)
	}
	if got := exchange(t, c, r); got != 201 {
		t.Errorf("kept connection after the reload: %d, want 201", got)
	}
	g.config("foo bar;")
	if err := g.Reload(); err == nil {
		t.Error("a bad file was taken")
	}
	if got := g.status("/"); got != 201 {
		t.Errorf("after a bad file: %d, want 201 as before", got)
	}
	if log := g.read("error.log"); !regexp.MustCompile(`\[emerg\] \d+#\d+: unknown directive "foo" in .*nginx.conf:\d+\n`).MatchString(log) {
		t.Errorf("error.log does not name the fault:\n%s", log)
	}
}

func TestReloadKeepsDebtAndRefusesAnotherKey(t *testing.T) {
	limited := func(key, rate, size string) string {
		return `limit_req_zone ` + key + ` zone=one:` + size + ` rate=` + rate + `;
server { listen $addr; location / { limit_req zone=one; proxy_pass http://` + "$backend" + `; } }`
	}
	backend := serveBackend(t, func(http.ResponseWriter, *http.Request) {})
	text := func(key, rate, size string) string {
		return strings.ReplaceAll(limited(key, rate, size), "$backend", backend)
	}
	g := start(t, text("$remote_addr", "1r/m", "1m"))
	defer g.Close()
	if a, b := g.status("/"), g.status("/"); a != 200 || b != 503 {
		t.Fatalf("before: %d, %d, want 200, 503", a, b)
	}
	g.config(text("$remote_addr", "2r/m", "2m"))
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := g.status("/"); got != 503 {
		t.Errorf("after another rate and size: %d, want 503: the debt is kept", got)
	}
	g.config(text("$http_user_agent", "2r/m", "2m"))
	if err := g.Reload(); err == nil {
		t.Error("another key was taken")
	}
	want := `limit_req "one" uses the "$http_user_agent" key while previously it used the "$remote_addr" key` + "\n"
	if log := g.read("error.log"); !strings.Contains(log, want) {
		t.Errorf("error.log lacks %s:\n%s", want, log)
	}
	g.config("limit_arithmetic nginx; " + text("$remote_addr", "2r/m", "2m"))
	var faults *ConfigError
	if err := g.Reload(); !errors.As(err, &faults) {
		t.Errorf("another arithmetic: got %v, want that it is refused", err)
	} else if f := faults.List[0]; !strings.HasPrefix(f.Error(), `zone "one": `) || !strings.Contains(f.Help, "another name") {
		t.Errorf("another arithmetic: got %v, help %q, want the zone and what would be right", f, f.Help)
	}
	if got := g.status("/"); got != 503 {
		t.Errorf("after refused files: %d, want 503: the debt is kept", got)
	}
	g.config(plain)
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		g.zones.mu.Lock()
		n := len(g.zones.byName)
		g.zones.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("a zone that nobody names is still there")
		}
	}
}

// serveBackend runs a backend until the test ends.
func serveBackend(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	// Owned by the test, ends with its server.
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return ln.Addr().String()
}

func TestReloadMovesListeners(t *testing.T) {
	g := start(t, plain)
	defer g.Close()
	other := freeAddr(t)
	both := plain + `server { listen ` + other + `; location / { return 202; } }`
	g.config(both)
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if a, b := g.status("/"), statusAt(t, other, "/"); a != 200 || b != 202 {
		t.Errorf("with both: %d, %d, want 200, 202", a, b)
	}
	c, r := kept(t, g.addr)
	fresh, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fresh.Close() }()
	// The first listener goes: its number must not come to mean the other.
	g.config(`server { listen ` + other + `; location / { return 202; } }`)
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, c, r); got != 0 {
		t.Errorf("an idle connection of a listener that is gone got %d, want its end", got)
	}
	// No server of the new configuration is meant for it.
	if got := exchange(t, fresh, bufio.NewReader(fresh)); got != 0 {
		t.Errorf("a connection to it that had sent nothing got %d, want its end", got)
	}
	if c, err := net.Dial("tcp", g.addr); err == nil {
		_ = c.Close()
		t.Error("the listener that is gone still accepts")
	}
	if got := statusAt(t, other, "/"); got != 202 {
		t.Errorf("the other: %d, want 202", got)
	}
	g.config(both)
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := g.status("/"); got != 200 {
		t.Errorf("the first one back: %d, want 200", got)
	}
}

func TestShutdownLetsRequestsFinishAndClosesIdleConnections(t *testing.T) {
	release := make(chan struct{})
	var inside sync.WaitGroup
	inside.Add(1)
	backend := serveBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		inside.Done()
		<-release
		w.WriteHeader(204)
	})
	g := start(t, `server { listen $addr; location / { return 200; } location /slow { proxy_pass http://`+backend+`; } }`)
	idle, r := kept(t, g.addr)
	slow := make(chan int, 1)
	// Owned by the test, ends with its request.
	go func() { slow <- g.status("/slow") }()
	inside.Wait()
	done := make(chan error, 1)
	// Owned by the test, ends with the daemon.
	go func() { done <- g.Shutdown(context.Background()) }()
	_ = idle.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("idle connection: %v, want its end", err)
	}
	select {
	case err := <-done:
		t.Fatalf("ended with a request under way: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if got := <-slow; got != 204 {
		t.Errorf("the request under way: %d, want 204", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCloseCutsRequestsOff(t *testing.T) {
	before := runtime.NumGoroutine()
	release := make(chan struct{})
	inside := make(chan struct{})
	backend := serveBackend(t, func(http.ResponseWriter, *http.Request) {
		close(inside)
		<-release
	})
	defer noLeak(t, before+1) // the backend goes after the test
	defer close(release)
	g := start(t, `server { listen $addr; location / { proxy_pass http://`+backend+`; } }`)
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-inside
	start := time.Now()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("Close took %v", d)
	}
}

func TestReopenFollowsTheName(t *testing.T) {
	g := start(t, plain)
	defer g.Close()
	log := filepath.Join(g.dir, "error.log")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	if err := g.Reopen(); err != nil {
		t.Fatal(err)
	}
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(g.read("error.log"), "reconfiguring") || strings.Contains(g.read("error.log.1"), "reconfiguring") {
		t.Errorf("after reopening, error.log holds %q", g.read("error.log"))
	}
}

// TestReloadUnderLoadDropsNothing hammers with kept and with new connections while the file is read again and again.
func TestReloadUnderLoadDropsNothing(t *testing.T) {
	const reloads = 50
	before := runtime.NumGoroutine()
	backend := serveBackend(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	text := func(n int) string {
		return fmt.Sprintf(`limit_req_zone $remote_addr zone=one:%dk rate=%dr/s; limit_conn_zone $remote_addr zone=c:%dk;
upstream u { server %s; keepalive 4; }
server { listen $addr; location / { limit_req zone=one burst=1000000 nodelay; limit_conn c 100;
  proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; } }`, 64<<(n%2), 1000000-n, 64<<(n%3), backend)
	}
	g := start(t, text(0))
	var stop atomic.Bool
	var good [2]atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		// Owned by the test, ends when it says stop.
		go func() {
			defer wg.Done()
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 1}, Timeout: 10 * time.Second}
			defer c.CloseIdleConnections()
			for !stop.Load() {
				// POST is not sent again by the client when a connection ends under it.
				resp, err := c.Post("http://"+g.addr+"/", "text/plain", strings.NewReader("x"))
				if err != nil {
					t.Errorf("request failed: %v", err)
					return
				}
				b, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || string(b) != "hello" {
					t.Errorf("status %d, %q, %v", resp.StatusCode, b, err)
					return
				}
				good[i%2].Add(1)
			}
		}()
	}
	for n := range reloads {
		g.config(text(n + 1))
		if err := g.Reload(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
	if err := g.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	log := g.read("error.log")
	if got := strings.Count(log, "exited with code 0"); got != reloads+1 {
		t.Errorf("%d generations ended, want %d", got, reloads+1)
	}
	if strings.Contains(log, "[alert]") || strings.Contains(log, "[error]") {
		t.Errorf("errors in the log:\n%.2000s", log)
	}
	t.Logf("%d requests on kept connections, %d on new ones, %d reloads", good[0].Load(), good[1].Load(), reloads)
	noLeak(t, before+1) // the backend goes after the test
}

package pipeline

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/logfile"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/tlsconf"
	"github.com/limitgate/limitgate/internal/vars"
	"github.com/limitgate/limitgate/memzone"
)

// zones makes each zone once, by name.
type zones map[string]*memzone.Zone

func (z zones) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	if z[spec.ID()] == nil {
		z[spec.ID()] = memzone.New(memzone.Config{Bytes: spec.Bytes})
	}
	return z[spec.ID()], nil
}

// files are files that stay in memory.
type files struct {
	mu sync.Mutex // guards m
	m  map[string]*phasetest.Log
}

func (f *files) Append(path string) (io.Writer, error) { return f.file(path), nil }

func (f *files) Buffer(path string, _ logfile.Buffering) (io.Writer, error) { return f.file(path), nil }

func (f *files) Named(k logfile.Keeping, now func() limitgate.Time) *logfile.Named {
	return logfile.New(os.Stdout, os.Stderr).Use("").Named(k, now)
}

func (f *files) file(path string) *phasetest.Log {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m[path] == nil {
		f.m[path] = &phasetest.Log{}
	}
	return f.m[path]
}

// gateway is a program without edges.
type gateway struct {
	t       testing.TB
	program *Program
	env     *phase.Env
	zones   zones
	files   *files
	log     phasetest.Log
	spans   spans
	conn    request.Conn
	client  phasetest.Client
	slept   time.Duration
	now     limitgate.Time
}

// load compiles a configuration, the inside of http. Faults are left in g.env.Errors.
func load(t testing.TB, text string) *gateway {
	t.Helper()
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte("events { }\nhttp {\n"+text+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, errs := conf.Load(conf.Options{Path: path})
	g := &gateway{t: t, zones: zones{}, files: &files{m: map[string]*phasetest.Log{}}, now: phasetest.Now()}
	g.env = &phase.Env{
		Vars: vars.NewTable(vars.Facts{}), Errors: errs, Zones: g.zones, Files: g.files, Logs: g.files, Now: phasetest.Now,
		Log:     errorlog.New(errorlog.Sink{Writer: &g.log, Level: errorlog.Info}),
		Version: "1.2.3", Sessions: tlsconf.NewSessions(phasetest.Now), Spans: &g.spans,
	}
	g.program = New(g.env, cfg)
	g.conn = request.Conn{
		Serial: 1, PeerAddr: netip.MustParseAddrPort("127.0.0.1:9"), LocalAddr: netip.MustParseAddrPort("127.0.0.1:80"),
	}
	g.client.Slept = func(d time.Duration) bool { g.slept += d; return true }
	return g
}

// start is load of a configuration that must be good.
func start(t testing.TB, text string) *gateway {
	t.Helper()
	g := load(t, text)
	phasetest.Good(t, g.env)
	return g
}

// request makes a request of its first line and header lines.
func (g *gateway) request(lines ...string) *request.Request {
	g.t.Helper()
	raw := strings.Join(lines, "\r\n") + "\r\n"
	if !strings.Contains(raw, "Host:") {
		raw += "Host: h\r\n"
	}
	r := phasetest.Request(g.t, raw+"\r\n", &g.client, nil)
	c := g.conn
	r.Conn, r.Settings, r.ClientAddr, r.Now = &c, nil, c.PeerAddr, g.now
	return r
}

// ask serves a request and returns its answer.
func (g *gateway) ask(lines ...string) answer {
	g.t.Helper()
	return g.serve(g.request(lines...))
}

// get is ask for a path.
func (g *gateway) get(path string) answer { return g.ask("GET " + path + " HTTP/1.1") }

// answer is what came back, and the request as it was left.
type answer struct {
	*request.Request
	head string
	body string
}

func (g *gateway) serve(r *request.Request) answer {
	g.t.Helper()
	g.client.Recycle()
	g.slept = 0
	g.program.Serve(r)
	return answer{r, g.client.Head(), g.client.Body()}
}

// String is the answer in one line: status, what matters of the head, and the body or the title of the page.
func (a answer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", a.Response.Status)
	if a.Response.Silent {
		return b.String() + " silent"
	}
	if t := a.Response.ContentType; len(t) > 0 {
		fmt.Fprintf(&b, " %s", t)
	}
	if l := a.location(); l != "" {
		b.WriteString(" to " + l)
	}
	return b.String() + " " + squeeze(a.body)
}

// location is where the answer sends the client.
func (a answer) location() string {
	if l, found := a.Find(header.Location); found {
		return string(l)
	}
	return string(a.Response.Location)
}

// Find returns a field of the answer that is not one of the response's own.
func (a answer) Find(id header.ID) (value []byte, found bool) {
	for _, h := range a.Response.Headers {
		if h.ID == id {
			return h.Value, true
		}
	}
	return nil, false
}

// squeeze makes a page its title.
func squeeze(body string) string {
	if _, rest, page := strings.Cut(body, "<title>"); page {
		title, _, _ := strings.Cut(rest, "</title>")
		return "<" + title + ">"
	}
	return strings.ReplaceAll(body, "\n", " ")
}

func TestThePhasesInOrder(t *testing.T) {
	// Each request meets one more phase, and is answered by the first that answers.
	g := start(t, `
		limit_req_zone $http_key zone=one:1m rate=1r/m;
		server {
			set $stop $arg_stop;
			location /set { return 200 "$stop $uri"; }
			location /limit { limit_req zone=one; deny all; }
			location /deny { deny 127.0.0.1; }
			location /both { limit_req zone=one; return 200 free; }
		}`)
	cases := []struct{ path, key, want string }{
		{"/set?stop=here", "", "200 text/plain here /set"},
		{"/limit", "k", "403 text/html <403 Forbidden>"},
		{"/limit", "k", "503 text/html <503 Service Temporarily Unavailable>"}, // counted although it was denied
		{"/limit", "", "403 text/html <403 Forbidden>"},
		{"/deny", "k", "403 text/html <403 Forbidden>"},
		{"/both", "k", "200 text/plain free"}, // what return answers is not limited
	}
	for _, c := range cases {
		if got := g.ask("GET "+c.path+" HTTP/1.1", "Key: "+c.key).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
	want := "error: access forbidden by rule\nerror: limiting requests, excess: 1.000 by zone \"one\"\n"
	if got := g.log.Messages(); !strings.HasPrefix(got, want) {
		t.Errorf("log: got %q, want it to begin with %q", got, want)
	}
}

func TestPages(t *testing.T) {
	g := start(t, `server { location / { return 404; } location /off { server_tokens off; return 503; } location /r { return 301 /x; } location /empty { return 599; } }`)
	if got, want := g.get("/").body, "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n"+
		"<hr><center>limitgate/1.2.3</center>\r\n</body>\r\n</html>\r\n"; got != want {
		t.Errorf("page: got %q, want %q", got, want)
	}
	if got := g.get("/off").body; !strings.Contains(got, "<hr><center>limitgate</center>") {
		t.Errorf("page without tokens: got %q", got)
	}
	if got, want := g.get("/empty").String(), "599 "; got != want {
		t.Errorf("status without page: got %q, want %q", got, want)
	}
	a := g.ask("GET / HTTP/1.1", "User-Agent: Mozilla/5.0 Chrome/1 Safari/1")
	if n := strings.Count(a.body, "<!-- a padding"); n != 6 || a.Response.Length != int64(len(a.body)) {
		t.Errorf("padding: %d lines, length %d of %d", n, a.Response.Length, len(a.body))
	}
	if a := g.ask("HEAD / HTTP/1.1"); a.body != "" || a.Response.Length == 0 || a.Response.Status != 404 {
		t.Errorf("HEAD: status %d, length %d, body %q", a.Response.Status, a.Response.Length, a.body)
	}
}

func TestLocationIsMadeWhole(t *testing.T) {
	g := start(t, `server { listen 80; listen unix:/s; location / { return 301 /x?y; } location /full { return 302 http://a/; } }`)
	cases := []struct {
		local, host, path, want string
	}{
		{"127.0.0.1:80", "Name.org", "/", "http://name.org/x?y"},
		{"127.0.0.1:8080", "name.org:99", "/", "http://name.org:8080/x?y"},
		{"127.0.0.1:8080", "", "/", "http://127.0.0.1:8080/x?y"},
		{"", "", "/", "http://unix:/s/x?y"},
		{"127.0.0.1:80", "h", "/full", "http://a/"},
	}
	for _, c := range cases {
		g.conn.LocalAddr, g.conn.UnixPath = netip.AddrPort{}, "/s"
		if c.local != "" {
			g.conn.LocalAddr = netip.MustParseAddrPort(c.local)
		}
		line := "GET " + c.path + " HTTP/1.0"
		r := g.request(line)
		if c.host != "" {
			r = g.request(line, "Host: "+c.host)
		} else {
			r.Host = nil
		}
		if got := g.serve(r).location(); got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.host, c.local, got, c.want)
		}
	}
}

func TestErrorStatusesThatCloseTheConnection(t *testing.T) {
	g := start(t, `server { location ~ ^/(?<code>\d+)$ { return 200; }
		location = /400 { return 400; } location = /404 { return 404; } location = /500 { return 500; } location = /413 { return 413; } location = /503 { return 503; } }`)
	for path, want := range map[string]bool{"/400": true, "/404": false, "/500": true, "/413": true, "/503": false} {
		if got := g.get(path).Response.Close; got != want {
			t.Errorf("%s: connection closes %v, want %v", path, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	g := start(t, `
		log_format short "$status $request_method $server_name";
		access_log acc short;
		server { listen 80; server_name first; return 200 never; error_page 414 /page; }
		server { listen 80 default_server; server_name second; error_page 494 =200 /big; location = /big { return 200 "big $status"; } }`)
	fault := func(status int, log string) answer {
		r := &request.Request{Conn: &request.Conn{Serial: 3, PeerAddr: g.conn.PeerAddr, LocalAddr: g.conn.LocalAddr}, Stream: &g.client}
		r.Reset()
		r.ClientAddr, r.Host = r.Conn.PeerAddr, []byte("first")
		r.Fault = request.Fault{Status: status, Log: log}
		r.Now = g.now
		return g.serve(r)
	}
	if got, want := fault(400, "client sent invalid method while reading client request line").String(), "400 text/html <400 Bad Request>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := g.log.Text(), ": *3 client sent invalid method while reading client request line, client: 127.0.0.1, server: second\n"; !strings.HasSuffix(got, want) {
		t.Errorf("log: got %q, want it to end with %q", got, want)
	}
	if got, want := fault(408, "").String(), "408 silent"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fault(414, "").String(), "414 text/html <414 Request-URI Too Large>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := fault(494, "").String(), "200 text/plain big 200"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if a := fault(505, ""); a.Response.Status != 505 || !strings.HasPrefix(a.body, "<html>") {
		t.Errorf("got %s", a)
	}
	if got, want := g.files.file("acc").Text(), "400 - second\n408 - second\n414 - second\n200 GET second\n505 - second\n"; got != want {
		t.Errorf("access log: got %q, want %q", got, want)
	}
}

func TestSilence(t *testing.T) {
	g := start(t, `access_log acc; server { location /444 { return 444; } location /499 { return 499; } location /408 { error_page 408 /x; return 408; } }`)
	for path, want := range map[string]string{"/444": "444 silent", "/499": "499 silent", "/408": "408 silent"} {
		a := g.get(path)
		if got := a.String(); got != want || !a.Response.Close || a.head != "" {
			t.Errorf("%s: got %s, close %v, head %q; want %s", path, got, a.Response.Close, a.head, want)
		}
	}
	if got := strings.Count(g.files.file("acc").Text(), "\n"); got != 3 {
		t.Errorf("%d lines in the access log, want 3", got)
	}
}

func TestBodyTooLarge(t *testing.T) {
	g := start(t, `server { client_max_body_size 10; location /a { } location /b { client_max_body_size 20; return 200 ok; } location /c { client_max_body_size 0; return 200 ok; }
		location /p { error_page 413 /b; } }`)
	cases := map[string]string{"/a": "413 text/html <413 Request Entity Too Large>", "/b": "200 text/plain ok", "/c": "200 text/plain ok", "/p": "413 text/plain ok"}
	for path, want := range cases {
		if got := g.ask("POST "+path+" HTTP/1.1", "Content-Length: 15").String(); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := g.log.Messages(); !strings.Contains(got, "error: client intended to send too large body: 15 bytes\n") {
		t.Errorf("log: got %q", got)
	}
}

// panics is a handler that breaks, where it is told to.
type panics struct{ sent bool }

func (p panics) Serve(r *request.Request) phase.Next {
	if p.sent {
		_ = r.Answer(200, nil, []byte("half"))
	}
	panic("broken handler")
}

func TestAfterAPanic(t *testing.T) {
	g := start(t, `limit_conn_zone $host zone=c:1m; access_log acc; server { location / { limit_conn c 1; } location /sent { limit_conn c 1; } }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = panics{}
	}
	a := g.get("/")
	if a.Response.Status != 500 || !a.Response.Silent || !a.Response.Close {
		t.Errorf("got %d, silent %v, close %v; want 500, a closed connection and no answer", a.Response.Status, a.Response.Silent, a.Response.Close)
	}
	if held := g.zones["c"].Held(); held != 0 {
		t.Errorf("%d places are held, want 0", held)
	}
	if got := g.log.Text(); !strings.Contains(got, "[alert]") || !strings.Contains(got, "panic while serving a request: broken handler < pipeline.panics.Serve:") ||
		strings.Count(got, "\n") != 1 {
		t.Errorf("log: got %q", got)
	}
	if got := g.files.file("acc").Text(); !strings.Contains(got, `"GET / HTTP/1.1" 500 `) {
		t.Errorf("access log: got %q", got)
	}
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = panics{sent: true}
	}
	if a := g.get("/sent"); a.Response.Status != 200 || !a.Response.Close {
		t.Errorf("after the head: got %d, close %v", a.Response.Status, a.Response.Close)
	}
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Record] = panics{}
	}
	g.get("/")
	if got := g.log.Text(); !strings.Contains(got, "panic while logging a request: broken handler") {
		t.Errorf("log: got %q", got)
	}
}

// holds keeps its requests until it is told to end them.
type holds struct {
	entered chan struct{}
	leave   chan phase.Next
}

func (h holds) Serve(r *request.Request) phase.Next {
	h.entered <- struct{}{}
	next := <-h.leave
	if next == phase.Done {
		r.Leave(499)
	}
	if next == phase.Fail {
		r.Fail(504)
	}
	return next
}

func TestPlacesAreGivenBack(t *testing.T) {
	g := start(t, `limit_conn_zone $host zone=c:1m; server { location / { limit_conn c 5; } }`)
	h := holds{make(chan struct{}), make(chan phase.Next)}
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = h
	}
	var all sync.WaitGroup
	for range 5 {
		client := phasetest.Client{}
		r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &client, nil)
		c := g.conn
		r.Conn = &c
		all.Add(1)
		// Ends when the handler lets the request go, which the test waits for.
		go func() { defer all.Done(); g.program.Serve(r) }()
		<-h.entered
	}
	if got, want := g.get("/").String(), "503 text/html <503 Service Temporarily Unavailable>"; got != want {
		t.Errorf("a sixth: got %s, want %s", got, want)
	}
	if held := g.zones["c"].Held(); held != 5 {
		t.Errorf("%d places are held, want 5", held)
	}
	for _, next := range []phase.Next{phase.Done, phase.Fail, phase.Continue, phase.Done, phase.Fail} {
		h.leave <- next
	}
	all.Wait()
	if held := g.zones["c"].Held(); held != 0 {
		t.Errorf("%d places are held in the end, want 0", held)
	}
}

func TestNobodyAtHome(t *testing.T) {
	g := start(t, ``)
	if got := g.get("/").String(); got != "444 silent" || len(g.program.Listens()) != 0 {
		t.Errorf("got %s and %d sockets", got, len(g.program.Listens()))
	}
	if g.program.Head(&g.conn) != nil {
		t.Error("settings for heads on an address that nobody listens on")
	}
	g.program.Close()
}

func TestRealAddressOfALocation(t *testing.T) {
	g := start(t, `server {
		location / { return 200 $remote_addr; }
		location /l { set_real_ip_from 127.0.0.1; allow 1.2.3.4; deny all; } }`)
	if got, want := g.ask("GET / HTTP/1.1", "X-Real-IP: 1.2.3.4").String(), "200 text/plain 127.0.0.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := g.ask("GET /l HTTP/1.1", "X-Real-IP: 1.2.3.4").Response.Status; got == 403 {
		t.Errorf("the location's own set_real_ip_from did not act: got %d", got)
	}
	if got := g.ask("GET /l HTTP/1.1", "X-Real-IP: 1.2.3.5").Response.Status; got != 403 {
		t.Errorf("got %d, want 403", got)
	}
}

func TestDebugTellsTheWay(t *testing.T) {
	g := start(t, `error_log d.log debug; server { location = /a { return 200; } location ~ b { return 200; } }`)
	g.get("/a?x")
	g.get("/b")
	want := "debug: http request line: \"GET /a?x HTTP/1.1\"\ndebug: using configuration \"=/a\"\n" +
		"debug: http request line: \"GET /b HTTP/1.1\"\ndebug: using configuration \"b\"\n"
	if got := g.files.file("d.log").Messages(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorLogOfAScope(t *testing.T) {
	g := start(t, `error_log all.log info; server { location / { deny all; } location /own { error_log own.log crit; error_log two.log error; deny all; } }`)
	g.get("/")
	g.get("/own")
	for name, want := range map[string]int{"all.log": 1, "own.log": 0, "two.log": 1} {
		if got := strings.Count(g.files.file(name).Text(), "access forbidden by rule"); got != want {
			t.Errorf("%s: got %d lines, want %d", name, got, want)
		}
	}
	if got := g.log.Text(); got != "" {
		t.Errorf("the log of the process: got %q, want nothing", got)
	}
}

func TestRedirectsInside(t *testing.T) {
	g := start(t, `server { root /nowhere; set $round "$round+";
		location / { index /a/b; } location /a/b { return 200 "$uri $round"; }
		location /loop/ { index /loop/; }
		location /err/ { error_page 404 /ok; error_page 500 /ok; index /err/; } location /ok { return 200 never; } }`)
	if got, want := g.get("/x/").String(), "200 text/plain /a/b ++"; got != want {
		t.Errorf("got %s, want %s", got, want) // the server's own rewrite phase runs again
	}
	a := g.get("/loop/")
	if got, want := a.String(), "500 text/html <500 Internal Server Error>"; got != want || !a.Response.Close {
		t.Errorf("got %s, close %v, want %s", got, a.Response.Close, want)
	}
	if got, want := g.log.Messages(), `error: rewrite or internal redirection cycle while internally redirecting to "/loop/"`+"\n"; !strings.HasSuffix(got, want) {
		t.Errorf("log: got %q, want %q", got, want)
	}
	if got, want := g.get("/err/").String(), "500 text/html <500 Internal Server Error>"; got != want {
		t.Errorf("no error page after a cycle: got %s, want %s", got, want)
	}
}

// TestReload runs a second program over the zones of a first: debt is kept, and cut to what the new limit calls full.
func TestReload(t *testing.T) {
	const text = `limit_req_zone $host zone=one:1m rate=%s; server { location / { limit_req zone=one burst=4 nodelay; error_page 404 =200 /ok; } location = /ok { return 200 ok; } }`
	old := start(t, fmt.Sprintf(text, "1r/m"))
	for range 5 {
		if got := old.get("/").Response.Status; got != 200 {
			t.Fatalf("got %d, want 200", got)
		}
	}
	path := filepath.Join(t.TempDir(), "nginx.conf")
	if err := os.WriteFile(path, []byte("events { }\nhttp {\n"+fmt.Sprintf(text, "1r/s")+"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, errs := conf.Load(conf.Options{Path: path})
	env := *old.env
	env.Vars, env.Errors = vars.NewTable(vars.Facts{}), errs
	old.zones["one"].Rebind()
	old.program = New(&env, cfg)
	phasetest.Good(t, &env)
	for i, want := range []int{503, 200, 503, 200} {
		if i%2 == 1 {
			old.now = old.now.Add(time.Second)
		}
		if got := old.get("/").Response.Status; got != want {
			t.Errorf("request %d after the reload: got %d, want %d", i, got, want)
		}
	}
}

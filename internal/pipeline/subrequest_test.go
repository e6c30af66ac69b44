package pipeline

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// recorder is a backend that keeps the heads and bodies it gets.
type recorder struct {
	mu   sync.Mutex // guards seen
	seen []string
	addr string
}

func newRecorder(t *testing.T) *recorder {
	b := &recorder{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.seen = append(b.seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Content-Length")+" "+r.Header.Get("X-Seen")+" "+string(body))
		w.WriteHeader(204)
	}))
	t.Cleanup(s.Close)
	b.addr = s.Listener.Addr().String()
	return b
}

func (b *recorder) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.seen
	b.seen = nil
	slices.Sort(list)
	return list
}

// drain waits for the mirrors.
func (g *gateway) drain() { g.program.Drain(context.Background()) }

// A subrequest without the body of its request does not announce it, whatever the configuration forgot to say: nginx leaves the
// service to wait for it. Nor is it measured by client_max_body_size.
func TestASubrequestSaysThatItHasNoBody(t *testing.T) {
	b := newRecorder(t)
	g := start(t, strings.ReplaceAll(`server { location / { client_max_body_size 0; auth_request /auth; mirror /copy; mirror_request_body off; return 200; }
		location /x { client_max_body_size 0; auth_request /auth; mirror /copy; mirror_request_body off; root html; }
		location /auth { client_max_body_size 1; proxy_pass http://BACKEND; } location /copy { client_max_body_size 1; proxy_pass http://BACKEND; } }`, "BACKEND", b.addr))
	g.client.First = [][]byte{[]byte("body")}
	if a := g.ask("POST /x HTTP/1.1", "Content-Length: 4"); a.Response.Status != 405 && a.Response.Status != 404 {
		t.Errorf("got %v", a)
	}
	g.drain()
	want := []string{"GET /auth 0  ", "POST /copy 0  "}
	if got := b.take(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if log := g.log.Messages(); strings.Contains(log, "too large") {
		t.Error(log)
	}
}

// What a mirror's location sets, limits or closes is the copy's own affair; what the request had set before, and its id, the copy has
// too.
func TestAMirrorChangesNothing(t *testing.T) {
	b := newRecorder(t)
	g := start(t, strings.ReplaceAll(`limit_req_zone $remote_addr zone=one:1m rate=1r/m; log_format f "$uri $x $limit_req_status $status $request_id"; access_log a f; log_subrequest on;
		server { location / { set $x own; mirror /copy; mirror /closed; mirror /limited; root html; }
		location /copy { set $x "$x copied"; limit_req zone=one; proxy_set_header X-Seen "$x $request_id"; proxy_pass http://BACKEND; }
		location /limited { limit_req zone=one; set $x limited; proxy_pass http://BACKEND; }
		location /closed { set $x closed; return 444; } }`, "BACKEND", b.addr))
	a := g.get("/nothing?a=b")
	g.drain()
	if a.Response.Status != 404 || a.Response.Silent || a.ReqStatus != request.LimitUnset {
		t.Errorf("the request: got %v, %v", a, a.ReqStatus)
	}
	lines := strings.Split(strings.TrimSpace(g.files.file("a").Text()), "\n")
	slices.Sort(lines)
	if len(lines) != 3 {
		t.Fatalf("logged %q", lines)
	}
	_, id, _ := strings.Cut(lines[2], "404 ")
	want := []string{"/copy own copied PASSED 204 " + id, "/limited limited REJECTED 503 " + id, "/nothing own - 404 " + id}
	if len(id) != 32 || !slices.Equal(lines, want) {
		t.Errorf("logged %q, want %q", lines, want)
	}
	if got, want := b.take(), []string{"GET /copy?a=b  own copied " + id + " "}; !slices.Equal(got, want) {
		t.Errorf("mirrored: got %q, want %q", got, want)
	}
}

// An upload that went to a file is there for the mirrors when its request is long over, and the file is closed with the last of them.
func TestAMirroredFileOutlivesItsRequest(t *testing.T) {
	b := newRecorder(t)
	hold := make(chan struct{})
	slow, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-hold; _, _ = io.Copy(io.Discard, r.Body) })}
	// Owned by the test; ends when the server is closed.
	go func() { _ = s.Serve(slow) }()
	defer s.Close()
	g := start(t, strings.NewReplacer("BACKEND", b.addr, "SLOW", slow.Addr().String(), "FOLDER", t.TempDir()).Replace(`client_body_buffer_size 4; client_body_temp_path FOLDER;
		server { location / { mirror /copy; mirror /slow; return 204; } location /up { mirror /slow; mirror /copy; root html; }
		location /copy { proxy_pass http://BACKEND; } location /slow { proxy_pass http://SLOW; } }`))
	if err := g.env.Temp.Make(-1); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("0123456789", 100)
	g.client.First = [][]byte{[]byte(body[:500]), []byte(body[500:])}
	r := g.request("PUT /up HTTP/1.1", "Content-Length: 1000")
	g.serve(r)
	if r.Body.File != nil || r.Body.Length != 1000 {
		t.Errorf("the request keeps its file, or had none: %v, %d", r.Body.File, r.Body.Length)
	}
	close(hold)
	g.drain()
	if got, want := b.take(), []string{"PUT /copy 1000  " + body}; !slices.Equal(got, want) {
		t.Errorf("got %.80q, want %.80q", got, want)
	}
}

// A place that the location of a subrequest took is the request's, and given back with it, also where the subrequest panics.
func TestPlacesOfASubrequest(t *testing.T) {
	g := start(t, `limit_conn_zone $server_name zone=c:1m; server { server_name h; location / { auth_request /auth; root html; } location /auth { limit_conn c 1; root html; } }`)
	var held bool
	content := phaseFunc(func(r *request.Request) phase.Next {
		if r.IsSub() {
			held = len(r.Places) == 1
			if string(r.Args) == "" && len(r.Headers) > 1 {
				panic("broken")
			}
			_ = r.Answer(200, nil, []byte("dropped"))
			return phase.Done
		}
		if len(r.Places) != 1 || r.ConnStatus != request.LimitPassed {
			t.Errorf("the request holds %d places, status %v", len(r.Places), r.ConnStatus)
		}
		_ = r.Answer(200, nil, []byte("served"))
		return phase.Done
	})
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = content
	}
	for range 2 {
		if a := g.get("/x"); a.body != "served" || !held {
			t.Errorf("got %v, held %v", a, held)
		}
		if a := g.ask("GET /x HTTP/1.1", "X-Break: 1"); a.Response.Status != 500 || !a.Response.Silent {
			t.Errorf("a panic: got %v", a)
		}
	}
	if log := g.log.Messages(); strings.Count(log, "alert: panic while serving a request: broken") != 2 {
		t.Errorf("got %q", log)
	}
}

// phaseFunc is a handler.
type phaseFunc func(*request.Request) phase.Next

func (f phaseFunc) Serve(r *request.Request) phase.Next { return f(r) }

// TestAskingMakesNoGarbage counts what auth_request leaves behind but for the edge and the upstream.
func TestAskingMakesNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("pools forget under the race detector")
	}
	g := start(t, `server { location / { auth_request /auth; auth_request_set $user "u $uri"; root html; } location /auth { set $x $uri; root html; } }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = answers{}
	}
	r := g.request("GET /x HTTP/1.1")
	saved := *r
	var stream request.Stream = nothing{&g.client}
	got := testing.AllocsPerRun(100, func() {
		r.Reset()
		r.Conn, r.Stream = saved.Conn, stream
		r.Line, r.Method, r.Target, r.URI, r.Host = saved.Line, saved.Method, saved.Target, saved.URI, saved.Host
		r.Headers = append(r.Headers[:0], saved.Headers...)
		r.Major, r.Minor, r.KeepAlive, r.Start, r.Now, r.ClientAddr = 1, 1, true, saved.Start, saved.Now, saved.ClientAddr
		g.program.Serve(r)
	})
	if got != 0 {
		t.Errorf("%v allocations", got)
	}
	if r.Response.Status != 200 {
		t.Errorf("got %d", r.Response.Status)
	}
}

// A question goes through auth_request as the request that it asks about would: the location that is asked answers, not the
// decision, and nothing is mirrored.
func TestADecisionAsksAuthRequest(t *testing.T) {
	b := newRecorder(t)
	g := start(t, strings.ReplaceAll(`server { set_real_ip_from 127.0.0.1; limit_decision from=original; proxy_set_header X-Seen "$request_method $request_uri"; mirror /copy;
		location / { auth_request /auth; proxy_pass http://127.0.0.1:1; } location /closed { auth_request /says; proxy_pass http://127.0.0.1:1; }
		location /auth { proxy_pass http://BACKEND; } location /copy { proxy_pass http://BACKEND; } location = /says { return 403; } }`, "BACKEND", b.addr))
	for path, status := range map[string]int{"/a?b": 200, "/closed": 403} {
		a := g.ask("GET /q HTTP/1.1", "X-Original-URI: "+path, "X-Original-Method: PUT")
		if a.Response.Status != status {
			t.Errorf("%s: got %v", path, a)
		}
	}
	g.drain()
	if got, want := b.take(), []string{"GET /auth  PUT /a?b "}; !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}
}

// A limit in the location that auth_request asks refuses its request, whatever the client says of its body: what is told a call, a
// status 200 with the refusal behind it, must not let anybody pass.
func TestALimitedQuestionLetsNobodyPass(t *testing.T) {
	b := newRecorder(t)
	for _, limit := range []string{"limit_req zone=req", "limit_count zone=count", "limit_token zone=token"} {
		g := start(t, strings.ReplaceAll(`limit_req_zone $uri zone=req:1m rate=1r/m; limit_count_zone $uri zone=count:1m limit=1 window=1h;
			limit_token_zone $uri zone=token:1m rate=1r/m capacity=1;
			server { location / { auth_request /auth; root html; }
			location /auth { `+limit+`; limit_req_status 429; limit_count_status 429; limit_token_status 429; proxy_pass http://BACKEND; } }`, "BACKEND", b.addr))
		for _, kind := range []string{"text/plain", "application/grpc", "application/grpc+proto", "APPLICATION/GRPC-web"} {
			for try := range 2 {
				a := g.ask("GET /x HTTP/1.1", "Content-Type: "+kind)
				want := 429
				if try == 0 && kind == "text/plain" {
					want = 404 // who passes finds nothing
				}
				if got := a.Response.Status; got != want {
					t.Errorf("%s, %s, request %d: got %d, want %d", limit, kind, try, got, want)
				}
			}
		}
	}
}

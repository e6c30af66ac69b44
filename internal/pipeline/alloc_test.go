package pipeline

import (
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// nothing is a client that records nothing.
type nothing struct{ request.Stream }

func (nothing) SendHead(*request.Request) error { return nil }
func (nothing) SendBody([]byte) error           { return nil }
func (nothing) Finish() error                   { return nil }
func (nothing) BytesSent() int64                { return 200 }
func (nothing) BodyBytesSent() int64            { return 100 }
func (nothing) RequestLength() int64            { return 80 }

// answers is a content handler that has an answer ready.
type answers struct{}

func (answers) Serve(r *request.Request) phase.Next {
	_ = r.Answer(200, nil, bodyReady)
	return phase.Done
}

var bodyReady = []byte("ready")

// TestNoGarbage counts what a request leaves behind on its whole way but for the edge and the upstream.
func TestNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("pools forget under the race detector")
	}
	g := start(t, `
		limit_req_zone $binary_remote_addr zone=r:1m rate=1000r/s;
		limit_conn_zone $server_name zone=c:1m;
		map $http_user_agent $agent { default other; ~bot bot; }
		log_format main '$remote_addr - $agent [$time_local] "$request" $status $body_bytes_sent $limit_req_status $request_time';
		access_log discard main;
		server { server_name h www.h *.h; set $x "$host$uri"; allow all; root html;
			location / { limit_req zone=r burst=100 nodelay; limit_conn c 10; limit_req_log_level info; }
			location /found { limit_conn c adaptive; }
			location /refused { limit_req zone=r; }
			location /rewritten { rewrite ^ /plain?a=b last; } location /plain { }
			location /if { if ($http_user_agent ~* BOT) { set $y $x; } if ($y = "h$uri") { add_header X-Y $y; } if ($request_method != GET) { return 405; } }
			location /text { return 200 "hello $x"; } }
		server { server_name other; }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = answers{}
	}
	for path, status := range map[string]int{"/index": 200, "/found": 200, "/rewritten": 200, "/if": 200, "/text": 200, "/refused": 503} {
		t.Run(path, func(t *testing.T) {
			r := g.request("GET "+path+" HTTP/1.1", "Host: www.h", "User-Agent: a-bot")
			saved := *r
			var stream request.Stream = nothing{&g.client}
			refused := status == 503
			if refused {
				g.get("/refused")
			}
			now := g.now
			serve := func() {
				r.Reset()
				r.Conn, r.Stream, r.Headers, r.Line = saved.Conn, stream, saved.Headers, saved.Line
				r.Method, r.Target, r.URI, r.Args, r.Host = saved.Method, saved.Target, saved.URI, saved.Args, saved.Host
				r.Major, r.Minor, r.ClientAddr = 1, 1, saved.ClientAddr
				if !refused {
					now = now.Add(1e6)
				}
				r.Now, r.Start = now, now
				g.program.Serve(r)
				if r.Response.Status != status {
					t.Fatalf("got %d, want %d", r.Response.Status, status)
				}
			}
			for range 10 {
				serve()
			}
			if n := testing.AllocsPerRun(100, serve); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
		})
	}
}

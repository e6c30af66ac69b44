package limit

import (
	"io"
	"strings"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/rollout"
)

// TestNoGarbage counts what a request leaves behind on its way through two limits of each kind.
func TestNoGarbage(t *testing.T) {
	const zones = `
		limit_req_zone $binary_remote_addr zone=A:1m rate=1r/s;
		limit_req_zone $remote_addr$http_x_account zone=B:1m rate=1r/s;
		limit_conn_zone $binary_remote_addr zone=C:1m;
		limit_conn_zone $server_name$uri zone=D:1m;
	`
	const limits = "limit_req zone=A burst=2 nodelay; limit_req zone=B burst=9 nodelay; limit_conn C 9; limit_conn D 9;"
	cases := map[string]struct {
		directives string
		next       phase.Next
		step       limitgate.Time // between two requests
	}{
		"passed":              {limits, phase.Continue, 1e9},
		"passed with headers": {limits + "limit_headers draft;", phase.Continue, 1e9},
		"canary":              {strings.ReplaceAll(strings.ReplaceAll(limits, "nodelay", "nodelay canary=50%"), " 9;", " 9 canary=50%;"), phase.Continue, 1e9},
		"refused":             {limits + "limit_headers draft;", phase.Fail, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, zones+`server { location / { `+c.directives+` } }`)
			r := phasetest.Request(t, "GET /path?q HTTP/1.1\r\nHost: h\r\nX-Account: 12345\r\n\r\n", &b.client, nil)
			conn, headers, addr, uri := r.Conn, r.Headers, r.ClientAddr, r.URI
			settings := &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: io.Discard, Level: errorlog.Info})}
			now := b.start
			for range 20 {
				r.Now = now
				b.handler.Serve(r)
				r.ReqStatus = request.LimitUnset
				r.ConnStatus = request.LimitUnset
				_ = r.Release()
			}
			allocs := testing.AllocsPerRun(200, func() {
				r.Reset()
				r.Conn, r.Headers, r.ClientAddr, r.URI, r.Settings = conn, headers, addr, uri, settings
				now += c.step
				r.Now = now
				if next := b.handler.Serve(r); next != c.next {
					t.Fatalf("got %v, want %v", next, c.next)
				}
				if err := r.Release(); err != nil {
					t.Fatal(err)
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations a request, want 0", allocs)
			}
		})
	}
}

// TestRolloutsLeaveNoGarbage does so where a rollout counts the requests, on both sides.
func TestRolloutsLeaveNoGarbage(t *testing.T) {
	m := rollouts{}
	b := newBenchOf(t, twoZones+`limit_rollout r { zones A C; steps 50%; } server { location / { limit_req zone=A burst=2; limit_conn C 9; } }`, m)
	for _, share := range []rollout.Share{0, rollout.Whole / 2, rollout.Whole} {
		m["r"].Enforce(share)
		r, _ := b.ask(0, "/?a=x&c=y")
		conn, addr, args, settings, now := r.Conn, r.ClientAddr, r.Args, r.Settings, r.Now
		if n := testing.AllocsPerRun(200, func() {
			if err := r.Release(); err != nil {
				t.Fatal(err)
			}
			r.Reset()
			now += 1e9
			r.Conn, r.ClientAddr, r.Args, r.Settings, r.Now = conn, addr, args, settings, now
			if next := b.handler.Serve(r); next != phase.Continue || len(r.Rollouts) != 1 {
				t.Fatalf("got %v and %d rollouts", next, len(r.Rollouts))
			}
		}); n != 0 {
			t.Errorf("%s: got %v allocations a request, want 0", share, n)
		}
	}
}

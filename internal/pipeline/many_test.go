package pipeline

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// TestManyAtOnce lets many goroutines through one program: what passes is exact, and nothing stays held.
func TestManyAtOnce(t *testing.T) {
	g := start(t, `
		limit_req_zone $host zone=r:1m rate=1r/m; limit_req_zone $host$uri zone=s:1m rate=1r/m; limit_conn_zone $host zone=c:1m;
		server { error_page 503 /busy; location = /busy { return 200 busy; }
			location / { limit_req zone=s burst=1000 nodelay; limit_req zone=r burst=99 nodelay; limit_req_status 429; limit_conn c 3; } }`)
	for i := range g.program.scopes {
		g.program.scopes[i].handlers[phase.Content] = answers{}
	}
	const workers, each = 8, 200
	var passed, limited, busy atomic.Int64
	var all sync.WaitGroup
	for range workers {
		all.Add(1)
		// Ends after its requests, which the test waits for.
		go func() {
			defer all.Done()
			for range each {
				client := phasetest.Client{}
				r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &client, nil)
				c := g.conn
				r.Conn, r.Now = &c, g.now
				g.program.Serve(r)
				switch {
				case r.ReqStatus == request.LimitRejected && r.Response.Status == 429:
					limited.Add(1)
				case r.ConnStatus == request.LimitRejected && r.Response.Status == 503 && client.Body() == "busy":
					busy.Add(1)
				case r.Response.Status == 200:
					passed.Add(1)
				}
			}
		}()
	}
	all.Wait()
	if got := passed.Load() + busy.Load(); got != 100 {
		t.Errorf("limit_req let %d pass, want 100", got)
	}
	if got := passed.Load() + busy.Load() + limited.Load(); got != workers*each {
		t.Errorf("%d requests were answered as they should, want %d", got, workers*each)
	}
	if held := g.zones["c"].Held(); held != 0 {
		t.Errorf("%d places are held in the end, want 0", held)
	}
}

package limit

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

const tarpitZones = "limit_req_zone $uri zone=r:1m rate=1r/h; limit_count_zone $uri zone=n:1m limit=1 window=1h; " +
	"limit_token_zone $uri zone=t:1m rate=1r/h capacity=1; limit_conn_zone $uri zone=c:1m; "

func TestRejectDelay(t *testing.T) {
	for _, c := range []struct{ name, limits, want string }{
		{"limit_req", "limit_req zone=r reject_delay=200ms;", "fails 503 after 200ms REJECTED, Retry-After: 3600"},
		{"limit_count", "limit_count zone=n reject_delay=1s; limit_count_status 429;", "fails 429 after 1s count:REJECTED, Retry-After: 3601"},
		{"limit_token", "limit_token zone=t cost=1 reject_delay=1m;", "fails 503 after 1m0s token:REJECTED, Retry-After: 3600"},
		{"of the limit that bound", "limit_req zone=r; limit_token zone=t reject_delay=1m;", "fails 503 REJECTED token:REJECTED, Retry-After: 3600"},
		{"with headers", "limit_headers legacy; limit_req zone=r reject_delay=200ms;",
			"fails 503 after 200ms REJECTED, X-RateLimit-Limit: 1, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 3600, Retry-After: 3600"},
		{"dry run", "limit_req zone=r reject_delay=200ms; limit_req_dry_run on;", "goes on REJECTED_DRY_RUN"},
		{"without", "limit_req zone=r;", "fails 503 REJECTED, Retry-After: 3600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, tarpitZones+"server { location / { "+c.limits+" } }")
			if r, next := b.ask(0, "/"); next != phase.Continue || b.slept != 0 {
				t.Errorf("the first: got %s, want it to go on at once", b.outcome(r, next))
			}
			r, next := b.ask(0, "/")
			if got := b.outcome(r, next); got != c.want {
				t.Errorf("the second: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRejectDelayOfOneWhoLeaves(t *testing.T) {
	b := newBench(t, tarpitZones+"server { location / { limit_req zone=r reject_delay=200ms; limit_conn c 1; } }")
	b.ask(0, "/")
	b.leaves = true
	r, next := b.ask(0, "/")
	if got, want := b.outcome(r, next), "done 499 after 200ms REJECTED, Retry-After: 3600"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(r.Places) != 0 {
		t.Errorf("got %d places of limit_conn taken, want none", len(r.Places))
	}
	if n := b.handler.(*handler).earnest[0].held.Count(); n != 0 {
		t.Errorf("got %d held when all is over, want 0", n)
	}
}

// Nobody sleeps for a request that is only tried out.
func TestRejectDelayInAReport(t *testing.T) {
	b := newBench(t, tarpitZones+"server { location / { limit_req zone=r reject_delay=200ms; } }")
	b.ask(0, "/")
	b.slept = 0
	r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", &b.client, nil)
	r.Settings, r.Now, r.Report = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &b.log, Level: b.level})}, b.start, &request.Report{}
	if next := b.handler.Serve(r); next != phase.Fail || b.slept != 0 || r.Report.Delay != 0 || r.Report.Outcome != limitgate.Rejected {
		t.Errorf("got %v after %v, delay %v, %v, want a refusal at once", next, b.slept, r.Report.Delay, r.Report.Outcome)
	}
}

func TestHeldRefusalsAreBounded(t *testing.T) {
	h, env := compile(t, tarpitZones+"server { location / { limit_req zone=r reject_delay=200ms; } }", limitgate.Exact)
	phasetest.Good(t, env)
	synctest.Test(t, func(t *testing.T) {
		const more = 50
		begun := time.Now()
		serve := func() time.Duration {
			client := &phasetest.Client{Slept: func(d time.Duration) bool { time.Sleep(d); return true }}
			r := phasetest.Request(t, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", client, nil)
			r.Now = start
			h.Serve(r)
			return time.Since(begun)
		}
		serve() // passes
		var mu sync.Mutex
		after := map[time.Duration]int{}
		var wg sync.WaitGroup
		for range phase.MaxHeld + more {
			wg.Go(func() {
				d := serve()
				mu.Lock()
				defer mu.Unlock()
				after[d]++
			})
		}
		synctest.Wait()
		if n := env.Held("r").Count(); n != phase.MaxHeld {
			t.Errorf("got %d held, want %d", n, phase.MaxHeld)
		}
		wg.Wait()
		if after[0] != more || after[200*time.Millisecond] != phase.MaxHeld {
			t.Errorf("got %v, want %d at once and %d after 200ms", after, more, phase.MaxHeld)
		}
		if n := env.Held("r").Count(); n != 0 {
			t.Errorf("got %d held when all is over, want 0", n)
		}
	})
}

package limit

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/internal/request"
)

// adaptiveBench is a bench whose clock the test moves.
func adaptiveBench(t *testing.T, text string) (*bench, *limitgate.Time) {
	t.Helper()
	http, env := phasetest.Config(t, text)
	now := start
	env.Zones, env.Now = zones{}, func() limitgate.Time { return now }
	env.Vars.Define(http, env.Errors)
	b := &bench{t: t, level: errorlog.Info, start: start}
	http.Walk(func(s *conf.Scope) {
		if h := Compile(env, s); s.Kind == conf.Location && b.handler == nil {
			b.handler = h
		}
	})
	phasetest.Good(t, env)
	return b, &now
}

const adaptiveZone = `limit_conn_zone $arg_c zone=C:1m; `

// crowd has as many requests as get a place take as long as they take, until it was done often enough. It tells how many those were
// in the end.
func (b *bench) crowd(now *limitgate.Time, key string, took func(n int) time.Duration, status, rounds int) (admitted int) {
	b.t.Helper()
	for range rounds {
		var held []*request.Request
		for range 300 {
			r, next := b.ask(now.Sub(b.start), "/?c="+key)
			if next != phase.Continue {
				break
			}
			held = append(held, r)
		}
		for i, r := range held {
			*now = now.Add(took(i))
			r.Response.Status = status
			if err := r.Release(); err != nil {
				b.t.Fatal(err)
			}
		}
		admitted = len(held)
	}
	return admitted
}

// eight workers that take 5 ms.
func eight(i int) time.Duration {
	if i%8 == 0 {
		return 5 * time.Millisecond
	}
	return 0
}

func TestConnAdaptiveFindsTheLimitOfEachKey(t *testing.T) {
	b, now := adaptiveBench(t, adaptiveZone+`server { location / { limit_conn C adaptive max=200; } }`)
	if n := b.crowd(now, "a", eight, 200, 1); n != 20 {
		t.Errorf("at first: got %d at once, want 20", n)
	}
	b.crowd(now, "a", eight, 200, 600)
	if n := b.crowd(now, "a", eight, 200, 1); n < 3 || n > 32 {
		t.Errorf("8 workers: got %d at once, want about 8 to 20, or a third of that while it is measured", n)
	}
	b.crowd(now, "b", func(i int) time.Duration {
		if i == 0 {
			return 5 * time.Millisecond
		}
		return 0
	}, 200, 400)
	if n := b.crowd(now, "b", eight, 200, 1); n != 200 {
		t.Errorf("a key whose backend takes any number: got %d at once, want 200", n)
	}
	b.crowd(now, "b", eight, 503, 200)
	if n := b.crowd(now, "b", eight, 503, 1); n > 20 {
		t.Errorf("a key whose backend answers 503: got %d at once, want a few", n)
	}
}

func TestConnAdaptiveRefusal(t *testing.T) {
	for _, c := range []struct{ more, want, log, status string }{
		{"", "fails 503", "error: limiting connections, limit: 3 by zone \"C\"\n", "REJECTED"},
		{" limit_conn_status 429; limit_conn_log_level info;", "fails 429", "info: limiting connections, limit: 3 by zone \"C\"\n", "REJECTED"},
		{" limit_conn_dry_run on;", "goes on", "error: limiting connections, dry run, limit: 3 by zone \"C\"\n", "REJECTED_DRY_RUN"},
	} {
		b, _ := adaptiveBench(t, adaptiveZone+`server { location / { limit_conn C adaptive max=3;`+c.more+` } }`)
		for i := range 3 {
			r, next := b.ask(0, "/?c=a")
			if next != phase.Continue || r.ConnStatus != request.LimitPassed || r.ConnLimit != 3 || len(r.Seats) != 1 {
				t.Errorf("%d: got %s with a limit of %d and %d seats", i, b.outcome(r, next), r.ConnLimit, len(r.Seats))
			}
		}
		r, next := b.ask(0, "/?c=a")
		if got := b.outcome(r, next); !strings.HasPrefix(got, c.want) || r.ConnStatus.String() != c.status || r.ConnLimit != 3 || len(r.Seats) != 0 {
			t.Errorf("%q: got %s, %s, a limit of %d, want %s and %s", c.more, got, r.ConnStatus, r.ConnLimit, c.want, c.status)
		}
		after := ""
		for _, h := range r.Response.Headers {
			if string(h.Name) == "Retry-After" {
				after = string(h.Value)
			}
		}
		if want := map[bool]string{true: strconv.Itoa(retryAfter)}[next == phase.Fail]; after != want {
			t.Errorf("%q: got Retry-After %q, want %q", c.more, after, want)
		}
		if got := b.log.Messages(); got != c.log {
			t.Errorf("%q: got %q, want %q", c.more, got, c.log)
		}
		if r, next := b.ask(0, "/?c=b"); next != phase.Continue {
			t.Errorf("another key: got %s", b.outcome(r, next))
		}
	}
}

// TestConnAdaptiveBesideAFixedOne: whoever refuses, nothing stays held.
func TestConnAdaptiveBesideAFixedOne(t *testing.T) {
	b, _ := adaptiveBench(t, adaptiveZone+`limit_conn_zone $arg_d zone=D:1m; server { location / { limit_conn C adaptive max=2; limit_conn D 1; } }`)
	first, _ := b.ask(0, "/?c=a&d=a")
	if first.ConnLimit != 1 || len(first.Seats) != 1 {
		t.Errorf("got a limit of %d and %d seats, want 1 and 1", first.ConnLimit, len(first.Seats))
	}
	if r, next := b.ask(0, "/?c=a&d=a"); next != phase.Fail || len(r.Seats) != 0 || len(r.Response.Headers) != 0 {
		t.Errorf("refused by the fixed one: got %s, %d seats, %d fields", b.outcome(r, next), len(r.Seats), len(r.Response.Headers))
	}
	if err := first.Release(); err != nil || len(first.Seats) != 0 {
		t.Errorf("got %v and %d seats left", err, len(first.Seats))
	}
	if r, next := b.ask(0, "/?c=a&d=a"); next != phase.Continue {
		t.Errorf("after the release: got %s", b.outcome(r, next))
	}
}

func TestConnAdaptiveWithAReportIsItsMax(t *testing.T) {
	b, _ := adaptiveBench(t, adaptiveZone+`server { location / { limit_conn C adaptive max=70; } }`)
	r := phasetest.Request(t, "GET /?c=a HTTP/1.1\r\nHost: h\r\n\r\n", &b.client, nil)
	r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &b.log, Level: b.level})}
	r.Now, r.Report = start, &request.Report{}
	if next := b.handler.Serve(r); next != phase.Continue || r.ConnLimit != 70 || len(r.Seats) != 0 {
		t.Errorf("got %v, a limit of %d, %d seats, want to go on, 70 and none", next, r.ConnLimit, len(r.Seats))
	}
}

func TestConnAdaptiveNeedsAZoneHere(t *testing.T) {
	_, env := compile(t, `limit_store s redis://127.0.0.1:1; limit_conn_zone $arg_c zone=C:1m store=s;
		server { location / { limit_conn C adaptive; } }`, limitgate.Exact)
	if got := env.Errors.List(); len(got) != 1 || !strings.Contains(got[0].Error(), `zone "C" lives in a store`) {
		t.Errorf("got %v, want that the zone lives in a store", got)
	}
}

func TestConnAdaptiveAllocations(t *testing.T) {
	b, now := adaptiveBench(t, adaptiveZone+`server { location / { limit_conn C adaptive; } }`)
	r, _ := b.ask(0, "/?c=a")
	r.Response.Status = 200
	pass := func() {
		*now = now.Add(time.Millisecond)
		r.Now, r.ConnStatus = *now, request.LimitUnset
		if b.handler.Serve(r) != phase.Continue {
			t.Fatal("refused")
		}
		if err := r.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	pass()
	if n := testing.AllocsPerRun(2000, pass); n > 0 && !racing.Detector {
		t.Errorf("got %v allocations, want none", n)
	}
}

package limit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/meter"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/memzone"
)

// zones makes each zone once, by name.
type zones map[string]limitgate.Zone

func (z zones) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	if spec.Name == "refused" {
		return nil, errors.New(`limit_req "refused" uses the "` + spec.Key + `" key while previously it used the "$old" key`)
	}
	if z[spec.ID()] == nil {
		parts := 0
		for id := range z {
			if spec.Beside(id) {
				parts++
			}
		}
		if err := spec.Grow(parts); err != nil {
			return nil, err
		}
		c := memzone.Config{Bytes: spec.Bytes}
		if spec.Reject {
			c.Overflow = memzone.Reject
		}
		z[spec.ID()] = memzone.New(c)
	}
	return z[spec.ID()], nil
}

// bench is the limits of one location with a client that waits in no time.
type bench struct {
	meters  *meter.Set
	t       *testing.T
	handler phase.Handler
	client  phasetest.Client
	log     phasetest.Log
	level   errorlog.Level
	slept   time.Duration
	leaves  bool // the client leaves while it waits
	start   limitgate.Time
}

// compile builds the limits of the first location of the text, which is the inside of http.
func compile(t *testing.T, text string, a limitgate.Arithmetic) (phase.Handler, *phase.Env) {
	t.Helper()
	http, env := config(t, text)
	env.Zones, env.Arithmetic = zones{}, a
	return compileAll(env, http), env
}

// config reads the text.
func config(t *testing.T, text string) (*conf.Scope, *phase.Env) {
	t.Helper()
	http, env := phasetest.Config(t, text)
	env.Vars.Define(http, env.Errors)
	return http, env
}

// compileAll builds the limits of all scopes and returns those of the first location.
func compileAll(env *phase.Env, http *conf.Scope) phase.Handler {
	var location phase.Handler
	http.Walk(func(s *conf.Scope) {
		if h := Compile(env, s); s.Kind == conf.Location && location == nil {
			location = h
		}
	})
	return location
}

// start is when the tests begin: an instant that no arithmetic finds special.
const start = limitgate.Time(1_772_366_400_000_000_000)

func newBench(t *testing.T, text string) *bench {
	t.Helper()
	return newBenchOn(t, text, zones{}, nil)
}

// newBenchOn is newBench on other zones, and with numbers for single keys.
func newBenchOn(t *testing.T, text string, z phase.Zones, table *override.Table) *bench {
	t.Helper()
	http, env := config(t, text)
	env.Zones, env.Overrides, env.Meters = z, table, new(meter.Set)
	h := compileAll(env, http)
	phasetest.Good(t, env)
	b := &bench{t: t, meters: env.Meters, handler: h, level: errorlog.Info, start: start}
	b.client.Slept = func(d time.Duration) bool {
		b.slept += d
		return !b.leaves
	}
	return b
}

// ask sends a request some time after the start; target chooses the keys.
func (b *bench) ask(after time.Duration, target string) (*request.Request, phase.Next) {
	b.t.Helper()
	b.slept = 0
	r := phasetest.Request(b.t, "GET "+target+" HTTP/1.1\r\nHost: h\r\n\r\n", &b.client, nil)
	r.Settings = &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: &b.log, Level: b.level})}
	r.Now = b.start.Add(after)
	return r, b.handler.Serve(r)
}

// outcome is a request in one line.
func (b *bench) outcome(r *request.Request, next phase.Next) string {
	var out strings.Builder
	switch next {
	case phase.Continue:
		out.WriteString("goes on")
	case phase.Fail:
		fmt.Fprintf(&out, "fails %d", r.Response.Status)
	case phase.Done:
		fmt.Fprintf(&out, "done %d", r.Response.Status)
	}
	if b.slept > 0 {
		fmt.Fprintf(&out, " after %v", b.slept)
	}
	for i, s := range []request.LimitStatus{r.ReqStatus, r.ConnStatus, r.CountStatus, r.TokenStatus} {
		if s != request.LimitUnset {
			out.WriteString([]string{" ", " ", " count:", " token:"}[i] + s.String())
		}
	}
	for _, h := range r.Response.Headers {
		fmt.Fprintf(&out, ", %s: %s", h.Name, h.Value)
	}
	return out.String()
}

// story is requests one after the other, each with what becomes of it.
type step struct {
	after  time.Duration
	target string
	want   string
}

func (b *bench) tell(story []step) {
	b.t.Helper()
	for i, s := range story {
		r, next := b.ask(s.after, s.target)
		if got := b.outcome(r, next); got != s.want {
			b.t.Errorf("request %d (%s at %v): got %s, want %s", i, s.target, s.after, got, s.want)
		}
		if err := r.Release(); err != nil {
			b.t.Errorf("request %d: giving back places: %v", i, err)
		}
	}
}

const twoZones = `
	limit_req_zone $arg_a zone=A:1m rate=10r/s;
	limit_req_zone $arg_b zone=B:1m rate=5r/s;
	limit_conn_zone $arg_c zone=C:1m;
	limit_conn_zone $arg_d zone=D:1m;
`

func TestRequestsPassWaitAndAreRefused(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=2; } }`)
	b.tell([]step{
		{0, "/?a=x", "goes on PASSED"},
		{0, "/?a=x", "goes on after 100ms DELAYED"},
		{0, "/?a=x", "goes on after 200ms DELAYED"},
		{0, "/?a=x", "fails 503 REJECTED, Retry-After: 1"},
		{100 * time.Millisecond, "/?a=x", "goes on after 200ms DELAYED"},
		{0, "/?a=y", "goes on PASSED"},
		{0, "/", "goes on"},
	})
	want := `warn: delaying request, excess: 1.000, by zone "A"
warn: delaying request, excess: 2.000, by zone "A"
error: limiting requests, excess: 3.000 by zone "A"
warn: delaying request, excess: 2.000, by zone "A"
`
	if got := b.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

func TestLogCarriesTheRequest(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A; } }`)
	b.ask(0, "/?a=x")
	b.ask(0, "/?a=x")
	want := `limiting requests, excess: 1.000 by zone "A", client: 127.0.0.1, server: , request: "GET /?a=x HTTP/1.1", host: "h"` + "\n"
	if got := b.log.Text(); !strings.HasSuffix(got, want) || !strings.Contains(got, ": *1 limiting") {
		t.Errorf("log: got %q, want it to end with %q", got, want)
	}
}

func TestSeveralLimits(t *testing.T) {
	// B allows half of A: it decides, and what it refuses is not charged to A.
	b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=5; limit_req zone=B burst=1; } }`)
	b.tell([]step{
		{0, "/?a=x&b=x", "goes on PASSED"},
		{0, "/?a=x&b=x", "goes on after 200ms DELAYED"},
		{0, "/?a=x&b=x", "fails 503 REJECTED, Retry-After: 1"},
		{0, "/?a=x&b=x", "fails 503 REJECTED, Retry-After: 1"},
		{0, "/?a=x", "goes on after 200ms DELAYED"}, // two were charged before, not four
		{0, "/?b=y", "goes on PASSED"},
		{200 * time.Millisecond, "/?a=x&b=x", "goes on after 200ms DELAYED"},
	})
	if got := b.log.Messages(); strings.Count(got, `limiting requests, excess: 2.000 by zone "B"`) != 2 {
		t.Errorf("log names the zones wrong:\n%s", got)
	}
}

func TestRetryAfterIsTheLongest(t *testing.T) {
	b := newBench(t, `
	limit_req_zone $arg_a zone=A:1m rate=1r/m;
	limit_req_zone $arg_b zone=B:1m rate=6r/m;
	server { location / { limit_req zone=B; limit_req zone=A; } }`)
	b.tell([]step{
		{0, "/?a=x&b=x", "goes on PASSED"},
		{0, "/?b=x", "fails 503 REJECTED, Retry-After: 10"},
		{0, "/?a=x&b=x", "fails 503 REJECTED, Retry-After: 60"},
		{8500 * time.Millisecond, "/?a=x&b=x", "fails 503 REJECTED, Retry-After: 52"},
		{59999 * time.Millisecond, "/?a=x&b=x", "fails 503 REJECTED, Retry-After: 1"},
		{60 * time.Second, "/?a=x&b=x", "goes on PASSED"},
	})
	if got := b.log.Messages(); !strings.Contains(got, `by zone "B"`) {
		t.Errorf("the first zone that refuses is to be named, got\n%s", got)
	}
}

func TestRetryAfterIsHonest(t *testing.T) {
	b := newBench(t, `limit_req_zone $arg_a zone=A:1m rate=7r/m; server { location / { limit_req zone=A burst=3 nodelay; } }`)
	for range 4 {
		b.ask(0, "/?a=x")
	}
	at := 300 * time.Millisecond
	for range 20 {
		r, next := b.ask(at, "/?a=x")
		if next != phase.Fail {
			t.Fatalf("at %v: got %s, want a refusal", at, b.outcome(r, next))
		}
		wait, err := time.ParseDuration(string(r.Response.Headers[0].Value) + "s")
		if err != nil {
			t.Fatalf("Retry-After: %v", err)
		}
		if r, next := b.ask(at+wait-time.Second, "/?a=x"); next != phase.Fail {
			t.Errorf("a second before its time: got %s, want a refusal", b.outcome(r, next))
		}
		at += wait
		if r, next := b.ask(at, "/?a=x"); next != phase.Continue {
			t.Errorf("at its time: got %s, want it to go on", b.outcome(r, next))
		}
	}
}

func TestStatusAndLevels(t *testing.T) {
	cases := map[string]struct{ directives, outcome, log string }{
		"defaults": {"", "fails 503", "error: limiting requests, excess: 2.000 by zone \"A\"\n"},
		"status":   {"limit_req_status 429;", "fails 429", "error: limiting requests, excess: 2.000 by zone \"A\"\n"},
		"warn":     {"limit_req_log_level warn;", "fails 503", "warn: limiting requests, excess: 2.000 by zone \"A\"\n"},
		"info":     {"limit_req_log_level info;", "fails 503", "info: limiting requests, excess: 2.000 by zone \"A\"\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=1; `+c.directives+` } }`)
			b.ask(0, "/?a=x")
			b.ask(0, "/?a=x")
			r, next := b.ask(0, "/?a=x")
			if got := b.outcome(r, next); got != c.outcome+" REJECTED, Retry-After: 1" {
				t.Errorf("got %s, want %s", got, c.outcome)
			}
			lines := strings.SplitAfter(b.log.Messages(), "\n")
			if got := lines[len(lines)-2]; got != c.log {
				t.Errorf("refusal logged as %q, want %q", got, c.log)
			}
			delayed, _, _ := strings.Cut(lines[0], ":")
			if want := map[string]string{"warn": "notice", "info": "info"}[name]; want != "" && delayed != want {
				t.Errorf("delay logged at %q, want %q", delayed, want)
			}
		})
	}
}

func TestDryRun(t *testing.T) {
	b := newBench(t, twoZones+`server { location / {
		limit_req zone=A burst=1; limit_req_dry_run on; limit_conn C 1; limit_conn_dry_run on; limit_headers draft; } }`)
	b.tell([]step{
		{0, "/?a=x", "goes on PASSED"},
		{0, "/?a=x", "goes on DELAYED_DRY_RUN"},
		{0, "/?a=x", "goes on REJECTED_DRY_RUN"},
		{0, "/?a=x", "goes on REJECTED_DRY_RUN"},
		{100 * time.Millisecond, "/?a=x", "goes on DELAYED_DRY_RUN"}, // refusals were not charged, the delay was
	})
	held, _ := b.ask(0, "/?c=x")
	r, next := b.ask(0, "/?c=x")
	if got, want := b.outcome(r, next), "goes on REJECTED_DRY_RUN"; got != want {
		t.Errorf("conn: got %s, want %s", got, want)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	want := `warn: delaying request, dry run, excess: 1.000, by zone "A"
error: limiting requests, dry run, excess: 2.000 by zone "A"
error: limiting requests, dry run, excess: 2.000 by zone "A"
warn: delaying request, dry run, excess: 1.000, by zone "A"
error: limiting connections, dry run, by zone "C"
`
	if got := b.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

func TestConnections(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_conn C 2; limit_conn D 1; limit_conn_status 429; limit_conn_log_level notice; } }`)
	first, next := b.ask(0, "/?c=x&d=x")
	if got, want := b.outcome(first, next), "goes on PASSED"; got != want {
		t.Fatalf("first: got %s, want %s", got, want)
	}
	// D is full: the place just taken from C is given back.
	for range 3 {
		r, next := b.ask(0, "/?c=x&d=x")
		if got, want := b.outcome(r, next), "fails 429 REJECTED"; got != want {
			t.Fatalf("second: got %s, want %s", got, want)
		}
	}
	other, next := b.ask(0, "/?c=x&d=y")
	if got, want := b.outcome(other, next), "goes on PASSED"; got != want {
		t.Errorf("other: got %s, want %s", got, want)
	}
	b.tell([]step{{0, "/?c=x", "fails 429 REJECTED"}, {0, "/?d=z", "goes on PASSED"}, {0, "/", "goes on"}})
	for _, r := range []*request.Request{first, other} {
		if err := r.Release(); err != nil {
			t.Error(err)
		}
		if err := r.Release(); err != nil {
			t.Errorf("released twice: %v", err)
		}
	}
	b.tell([]step{{0, "/?c=x&d=x", "goes on PASSED"}, {0, "/?c=x&d=x", "goes on PASSED"}})
	if got, want := b.log.Messages(), strings.Repeat("notice: limiting connections by zone \"D\"\n", 3)+"notice: limiting connections by zone \"C\"\n"; got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

func TestLongKeysAreCounted(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_conn C 1; limit_req zone=A; } }`)
	long := strings.Repeat("k", 3000)
	r, _ := b.ask(0, "/?c="+long+"&a="+long)
	b.tell([]step{
		{0, "/?c=" + long, "fails 503 REJECTED"},
		{0, "/?c=" + long[1:], "goes on PASSED"},
		{0, "/?a=" + long, "fails 503 REJECTED, Retry-After: 1"},
		{0, "/?a=" + long[1:], "goes on PASSED"},
	})
	if err := r.Release(); err != nil {
		t.Error(err)
	}
}

func TestOnceARequest(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A; limit_conn C 1; } }`)
	r, _ := b.ask(0, "/?a=x&c=x")
	if next := b.handler.Serve(r); next != phase.Continue {
		t.Errorf("behind an internal redirect: got %s, want it to go on", b.outcome(r, next))
	}
	if len(r.Places) != 1 {
		t.Errorf("%d places are held, want 1", len(r.Places))
	}
}

func TestOrderRequestsThenConnections(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_conn C 1; limit_req zone=A burst=1; } }`)
	held, _ := b.ask(0, "/?c=x")
	defer held.Release()
	b.tell([]step{
		{0, "/?a=x&c=x", "fails 503 PASSED REJECTED"},
		{0, "/?a=x&c=x", "fails 503 after 100ms DELAYED REJECTED"}, // charged although refused, and waits first
		{0, "/?a=x&c=x", "fails 503 REJECTED, Retry-After: 1"},
	})
}

func TestClientLeavesWhileItWaits(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=1; limit_conn C 1; } }`)
	b.ask(0, "/?a=x")
	b.leaves = true
	r, next := b.ask(0, "/?a=x&c=x")
	if got, want := b.outcome(r, next), "done 499 after 100ms DELAYED"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !r.Response.Silent || !r.Response.Close || len(r.Places) != 0 {
		t.Errorf("silent %v, close %v, %d places; want silence, a closed connection and no place", r.Response.Silent, r.Response.Close, len(r.Places))
	}
	b.leaves = false
	b.tell([]step{{0, "/?a=x", "fails 503 REJECTED, Retry-After: 1"}}) // it keeps its charge
}

func TestDelayBelowAMillisecondIsAPass(t *testing.T) {
	b := newBench(t, `limit_req_zone $arg_a zone=A:1m rate=3000r/s; server { location / { limit_req zone=A burst=10; } }`)
	b.tell([]step{{0, "/?a=x", "goes on PASSED"}, {0, "/?a=x", "goes on PASSED"}, {0, "/?a=x", "goes on PASSED"}})
	if got := b.log.Messages(); got != "" {
		t.Errorf("log: got %q, want nothing", got)
	}
}

func TestFewerLogsThanRequests(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=1; } }`)
	b.level = errorlog.Crit
	for range 3 {
		b.ask(0, "/?a=x")
	}
	if got := b.log.Text(); got != "" {
		t.Errorf("log below its level: got %q, want nothing", got)
	}
}

func TestCompile(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"no such variable": {`limit_req_zone $nosuch zone=A:1m rate=1r/s; server { location / { limit_req zone=A; } }`, `unknown "nosuch" variable`},
		"unused zone":      {`limit_conn_zone $nosuch zone=A:1m; server { location / { } }`, `unknown "nosuch" variable`},
		"refused zone": {`limit_req_zone $arg_a zone=refused:1m rate=1r/s; server { location / { limit_req zone=refused; } }`,
			`limit_req "refused" uses the "$arg_a" key while previously it used the "$old" key`},
		"no limit": {`server { location / { } }`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, env := compile(t, c.text, limitgate.Exact)
			got := ""
			for _, e := range env.Errors.List() {
				got, _, _ = strings.Cut(e.Error(), " in /")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if h != nil && c.want == "" {
				t.Error("a handler where there is no limit")
			}
		})
	}
}

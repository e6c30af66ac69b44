package limit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/override"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/memzone"
)

// away is a zone in a store that may be out.
type away struct {
	*memzone.Zone
	out bool
}

// Do implements limitgate.Zone.
func (a *away) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	if a.out {
		return d, c, errors.New("connection refused")
	}
	return a.Zone.Do(ctx, now, l, key, cost, m)
}

// stores are zones in one store.
type stores struct {
	guard *guard.Store
	far   map[string]*away
	near  map[string]*guard.Zone
}

// Zone implements phase.Zones.
func (s *stores) Zone(spec phase.ZoneSpec) (limitgate.Zone, error) {
	if spec.Store.Name == "" {
		return memzone.New(memzone.Config{Bytes: spec.Bytes}), nil
	}
	if s.near[spec.Name] == nil {
		s.far[spec.Name] = &away{Zone: memzone.New(memzone.Config{})}
		s.near[spec.Name] = s.guard.Zone(s.far[spec.Name], spec.Bytes)
	}
	return s.near[spec.Name].Fail(spec.Fail), nil
}

func (s *stores) out() {
	for _, a := range s.far {
		a.out = true
	}
}

// TestOutages: what a request gets, and what is told of it, by the fallback of its limits.
func TestOutages(t *testing.T) {
	const zones = `limit_store main redis://127.0.0.1:6379;
		limit_req_zone $arg_k zone=A:1m rate=1r/h store=main;
		limit_req_zone $arg_k zone=B:1m rate=1r/h;
		limit_count_zone $arg_k zone=N:1m limit=2 window=1h store=main;
		limit_conn_zone $arg_k zone=C:1m store=main;
		limit_req_status 429; limit_count_status 429; limit_conn_status 429;`
	for _, c := range []struct {
		name, limits string
		before       string // while the store answers
		after        string
		store        string // $limit_store_status
		log          string // part of a line; "" for none
	}{
		{"open", "limit_req zone=A burst=1 nodelay fail=open;", "goes on PASSED", "goes on PASSED", "OPEN", ""},
		{"closed", "limit_req zone=A burst=1 nodelay fail=closed;", "goes on PASSED", "fails 503 REJECTED", "CLOSED", ""},
		{"local", "limit_req zone=A fail=local;", "goes on PASSED", "fails 429 REJECTED, Retry-After: 3600", "LOCAL", "limiting requests, excess: "},
		{"without a word", "limit_req zone=A;", "goes on PASSED", "goes on PASSED", "OPEN", ""},
		{"closed, held back", "limit_req zone=A burst=1 nodelay fail=closed reject_delay=1s;", "goes on PASSED", "fails 503 REJECTED", "CLOSED", ""},
		{"a window", "limit_count zone=N fail=closed;", "goes on count:PASSED", "fails 503 count:REJECTED", "CLOSED", ""},
		{"places", "limit_conn C 1 fail=closed;", "goes on PASSED", "fails 503 REJECTED", "CLOSED", ""},
		{"dry run", "limit_req zone=A burst=1 nodelay fail=closed; limit_req_dry_run on;", "goes on PASSED", "goes on REJECTED_DRY_RUN", "CLOSED", ""},
		{"two of one store", "limit_req zone=A burst=9 nodelay fail=open; limit_count zone=N fail=local;", "goes on PASSED count:PASSED", "goes on PASSED count:PASSED", "OPEN", ""},
		{"one beside the store", "limit_req zone=A burst=9 nodelay fail=open; limit_req zone=B;", "goes on PASSED", "fails 429 REJECTED, Retry-After: 3600", "OPEN", `by zone "B"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &stores{guard.New(guard.Config{}), map[string]*away{}, map[string]*guard.Zone{}}
			b := newBenchOn(t, zones+`server { location / { `+c.limits+` } }`, s, nil)
			r, next := b.ask(0, "/?k=x")
			if got := b.outcome(r, next); got != c.before || r.StoreStatus.String() != "OK" {
				t.Errorf("before: got %s, %s, want %s, OK", got, r.StoreStatus, c.before)
			}
			if err := r.Release(); err != nil {
				t.Error(err)
			}
			s.out()
			before := len(b.log.Text())
			r, next = b.ask(time.Millisecond, "/?k=x")
			if got := b.outcome(r, next); got != c.after || r.StoreStatus.String() != c.store || b.slept != 0 {
				t.Errorf("without the store: got %s, %s, want %s, %s", got, r.StoreStatus, c.after, c.store)
			}
			if err := r.Release(); err != nil {
				t.Error(err)
			}
			if log := b.log.Text()[before:]; (c.log == "") != (log == "") || !strings.Contains(log, c.log) {
				t.Errorf("got a log of %q, want %q", log, c.log)
			}
		})
	}
}

// TestOwnNumbers: a key for which other numbers were set has those, also where a limit's numbers come with the request; others keep
// theirs, and numbers that a limit can't have change nothing.
func TestOwnNumbers(t *testing.T) {
	const text = `limit_req_zone $arg_k zone=A:1m rate=1r/h; limit_count_zone $arg_k zone=N:1m limit=1 window=1h;
		limit_req_zone $arg_k zone=V:1m rate=$arg_rate;
		server { location / { `
	for _, c := range []struct {
		name, limits, zone, numbers string
		query                       string
		passed, others              int
	}{
		{"burst", "limit_req zone=A nodelay;", "A", `{"burst":3}`, "", 4, 1},
		{"limit", "limit_count zone=N;", "N", `{"limit":5}`, "", 5, 1},
		{"none at all", "limit_count zone=N;", "N", `{"limit":0}`, "", 0, 1},
		{"two limits", "limit_req zone=A burst=9 nodelay; limit_count zone=N;", "N", `{"limit":4}`, "", 4, 1},
		{"what is over", "limit_req zone=A nodelay;", "A", `{"burst":3,"until":"2020-01-01T00:00:00Z"}`, "", 1, 1},
		{"what it can't have", "limit_req zone=A nodelay;", "A", `{"burst":4611686018427387904}`, "", 1, 1},
		{"beside a rate of the request", "limit_req zone=V nodelay;", "V", `{"burst":2}`, "&rate=1r/h", 3, 1},
		{"in the place of a rate of the request", "limit_req zone=V nodelay;", "V", `{"rate":"2r/d","burst":1}`, "&rate=1r/h", 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := override.NewTable()
			b := newBenchOn(t, text+c.limits+` } }`, zones{}, table)
			n, err := override.Parse(c.numbers)
			if err != nil {
				t.Fatal(err)
			}
			table.Zone(c.zone).Set(map[string]*override.Numbers{"own": n})
			passed := func(key string) (passed int) {
				for range 9 {
					if _, next := b.ask(0, "/?k="+key+c.query); next == phase.Continue {
						passed++
					}
				}
				return passed
			}
			if own, others := passed("own"), passed("other"); own != c.passed || others != c.others {
				t.Errorf("got %d passed, and %d of another key, want %d and %d", own, others, c.passed, c.others)
			}
			table.Zone(c.zone).Set(nil)
		})
	}
}

// TestKnownLimits: a limit can be looked at, reset and asked which numbers it takes from outside; a directive that several scopes
// inherit is one.
func TestKnownLimits(t *testing.T) {
	http, env := config(t, `limit_req_zone $binary_remote_addr zone=A:1m rate=1r/h; limit_conn_zone $arg_k zone=C:1m;
		limit_req_zone $arg_k zone=V:1m rate=$arg_rate;
		limit_req zone=A burst=1 nodelay;
		server { location / { } location /x { limit_conn C 2; } location /v { limit_req zone=V; } }`)
	env.Zones, env.Limits = zones{}, new(phase.KnownLimits)
	compileAll(env, http)
	ctx := context.Background()
	list := env.Limits.Of("A")
	if len(list) != 1 || len(env.Limits.Of("C")) != 1 || len(env.Limits.Of("none")) != 0 {
		t.Fatalf("got %d limits of A, want one, however many scopes have it", len(list))
	}
	m := list[0]
	if a := m.About(); a.Directive != "limit_req" || a.Zone != "A" || a.At.Line == 0 || a.DryRun {
		t.Errorf("got %+v", a)
	}
	key, err := m.Key("192.0.2.7")
	if err != nil || key != "\xc0\x00\x02\x07" {
		t.Errorf("got key %q, %v, want the address in binary form", key, err)
	}
	if _, err := m.Key("nobody"); err == nil {
		t.Error("got a key of what is no address")
	}
	look, err := m.Look(ctx, start, key)
	if err != nil || look.Decision.Outcome != limitgate.Passed || look.Decision.Remaining != 1 || look.Algorithm == nil {
		t.Errorf("got %+v, %v, want that it would pass", look, err)
	}
	if err := m.Reset(ctx, key); err != nil {
		t.Error(err)
	}
	v := env.Limits.Of("V")[0]
	if _, err := v.Look(ctx, start, "k"); err == nil {
		t.Error("got what a limit says whose numbers come with the request")
	}
	if err := v.Reset(ctx, "k"); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		of      phase.KnownLimit
		numbers string
		good    bool
	}{{m, `{"burst":5}`, true}, {m, `{"limit":5}`, false}, {env.Limits.Of("C")[0], `{"limit":5}`, true}, {env.Limits.Of("C")[0], `{"limit":0}`, false}, {v, `{"rate":"5r/s"}`, true}} {
		n, err := override.Parse(c.numbers)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.of.Takes(n); (err == nil) != c.good {
			t.Errorf("%s for a %s: got %v, want good %v", c.numbers, c.of.About().Directive, err, c.good)
		}
	}
}

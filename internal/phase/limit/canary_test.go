package limit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/rollout"
)

// rollouts makes each rollout once, by name.
type rollouts map[string]*rollout.Live

func (m rollouts) Rollout(name string) *rollout.Live {
	if m[name] == nil {
		m[name] = rollout.NewLive(func() limitgate.Time { return start })
	}
	return m[name]
}

// newBenchOf is newBench with rollouts.
func newBenchOf(t *testing.T, text string, m rollouts) *bench {
	t.Helper()
	http, env := config(t, text)
	env.Zones = zones{}
	if m != nil {
		env.Rollouts = m
	}
	h := compileAll(env, http)
	phasetest.Good(t, env)
	return &bench{t: t, handler: h, start: start}
}

// keyOn finds a key of a zone that canary= enforces, or watches, at a share.
func keyOn(t *testing.T, zone string, share rollout.Share, enforced bool) string {
	t.Helper()
	s := rollout.NewSplit(zone, share)
	for i := range 100_000 {
		if key := fmt.Sprint("k", i); s.Enforces(key) == enforced {
			return key
		}
	}
	t.Fatalf("no key of zone %s is on this side", zone)
	return ""
}

const half = rollout.Whole / 2

// Each kind of limit is enforced for the keys on the one side, and in dry run for those on the other, with nginx's words for both.
func TestCanary(t *testing.T) {
	const all = `limit_req_zone $arg_k zone=req:1m rate=1r/m; limit_count_zone $arg_k zone=count:1m limit=1 window=1h first=on algorithm=fixed;
		limit_token_zone $arg_k zone=token:1m rate=1r/h capacity=1; limit_conn_zone $arg_k zone=conn:1m; `
	for _, c := range []struct {
		zone, limit       string
		enforced, watched string // the second request of a key
		log               string // of the first kind's refusals
	}{
		{"req", "limit_req zone=req canary=50%;", "fails 503 REJECTED, Retry-After: 60", "goes on REJECTED_DRY_RUN", "limiting requests"},
		{"req", "limit_req zone=req burst=5 canary=50%;", "goes on after 1m0s DELAYED", "goes on DELAYED_DRY_RUN", "delaying request"},
		{"count", "limit_count zone=count canary=50%;", "fails 503 count:REJECTED, Retry-After: 3600", "goes on count:REJECTED_DRY_RUN", "limiting requests"},
		{"token", "limit_token zone=token canary=50%;", "fails 503 token:REJECTED, Retry-After: 3600", "goes on token:REJECTED_DRY_RUN", "limiting requests"},
		{"conn", "limit_conn conn 1 canary=50%;", "fails 503 REJECTED", "goes on REJECTED_DRY_RUN", "limiting connections"},
	} {
		for _, more := range []string{"", "limit_headers draft;"} {
			b := newBench(t, all+"server { location / { "+c.limit+more+" } }")
			for side, want := range map[string]string{keyOn(t, c.zone, half, true): c.enforced, keyOn(t, c.zone, half, false): c.watched} {
				first, _ := b.ask(0, "/?k="+side) // holds its place
				second, next := b.ask(0, "/?k="+side)
				got := b.outcome(second, next)
				if more != "" {
					got, _, _ = strings.Cut(got, ", RateLimit")
					want = strings.ReplaceAll(want, ", Retry-After: 3600", "") // behind the others then
					want = strings.ReplaceAll(want, ", Retry-After: 60", "")
				}
				canary := map[bool]string{true: "enforced", false: "watched"}[!strings.HasPrefix(want, "goes on") || b.slept > 0]
				if got != want || second.Canary.String() != canary {
					t.Errorf("%s%s: got %s, %s, want %s, %s", c.limit, more, got, second.Canary, want, canary)
				}
				if strings.Contains(got, "DRY_RUN") && second.Response.Headers != nil && len(second.Response.Headers) > 0 {
					t.Errorf("%s%s: a watched key is told %s", c.limit, more, b.outcome(second, next))
				}
				for _, r := range []*request.Request{first, second} {
					if err := r.Release(); err != nil {
						t.Error(err)
					}
				}
			}
			log := b.log.Messages()
			if strings.Count(log, c.log+",") != 2 && strings.Count(log, c.log) != 2 || strings.Count(log, c.log+", dry run") != 1 {
				t.Errorf("%s: log: got\n%s", c.limit, log)
			}
		}
	}
}

// What is watched keeps its debt: a key that comes over to the other side owes what it owed.
func TestCanaryKeepsDebt(t *testing.T) {
	m := rollouts{}
	b := newBenchOf(t, twoZones+`limit_rollout r { zones A; steps 50% 100%; } server { location / { limit_req zone=A; } }`, m)
	key := "/?a=" + keyOn(t, "A", half, false)
	m["r"].Enforce(half)
	b.tell([]step{{0, key, "goes on PASSED"}, {0, key, "goes on REJECTED_DRY_RUN"}})
	m["r"].Enforce(rollout.Whole)
	b.tell([]step{{0, key, "fails 503 REJECTED, Retry-After: 1"}, {100 * time.Millisecond, key, "goes on PASSED"}})
	m["r"].Enforce(0)
	b.tell([]step{{100 * time.Millisecond, key, "goes on REJECTED_DRY_RUN"}})
}

// Several limits with sides of their own act as limits in earnest and limits in dry run do.
func TestCanariesTogether(t *testing.T) {
	on := func(zone string, enforced bool) string { return keyOn(t, zone, half, enforced) }
	const both = "limit_req zone=A burst=1 canary=50%; limit_req zone=B canary=50%;"
	b := newBench(t, twoZones+`server { location / { `+both+` } }`)
	ask := func(a, b2 string) step { return step{0, "/?a=" + a + "&b=" + b2, ""} }
	for _, c := range []struct {
		name   string
		key    step
		second string
		canary request.Canary
	}{
		// The second limit has a burst of none: its refusal is seen, and what the first makes wait goes on waiting.
		{"both enforced", ask(on("A", true), on("B", true)), "fails 503 REJECTED, Retry-After: 1", request.CanaryEnforced},
		{"both watched", ask(on("A", false), on("B", false)), "goes on REJECTED_DRY_RUN", request.CanaryWatched},
		{"the second watched", ask(on("A", true)+"", on("B", false)), "goes on after 100ms DELAYED", request.CanaryMixed},
		{"the first watched", ask(on("A", false), on("B", true)), "fails 503 REJECTED, Retry-After: 1", request.CanaryEnforced},
	} {
		b := newBench(t, twoZones+`server { location / { `+both+` } }`)
		r, _ := b.ask(0, c.key.target)
		if want := map[string]request.Canary{"the first watched": request.CanaryMixed}[c.name]; want != 0 && r.Canary != want {
			t.Errorf("%s: got %s at first, want %s", c.name, r.Canary, want)
		}
		r, next := b.ask(0, c.key.target)
		if got := b.outcome(r, next); got != c.second || r.Canary != c.canary {
			t.Errorf("%s: got %s, %s, want %s, %s", c.name, got, r.Canary, c.second, c.canary)
		}
	}
	// What is refused in earnest charges nothing in dry run.
	enforced := "&b=" + on("B", true)
	b.tell([]step{{0, "/?" + enforced[1:], "goes on PASSED"}})
	for range 9 {
		b.ask(0, "/?a="+on("A", false)+enforced)
	}
	b.tell([]step{{0, "/?a=" + on("A", false), "goes on PASSED"}})
}

// Places of a watched key are held and given back like those of others, beside those that are enforced.
func TestCanaryOfPlaces(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_conn C 2 canary=50%; limit_conn D 1 canary=50%; } }`)
	target := "/?c=" + keyOn(t, "C", half, true) + "&d=" + keyOn(t, "D", half, false)
	var held []*request.Request
	for i, want := range []string{"goes on PASSED", "goes on REJECTED_DRY_RUN", "fails 503 REJECTED"} {
		r, next := b.ask(0, target)
		if got := b.outcome(r, next); got != want {
			t.Errorf("request %d: got %s, want %s", i, got, want)
		}
		held = append(held, r)
	}
	for _, r := range held {
		if err := r.Release(); err != nil {
			t.Error(err)
		}
	}
	b.tell([]step{{0, target, "goes on PASSED"}})
}

// Which of dry run, rollout and canary says what a limit does, each pair of them.
func TestPrecedence(t *testing.T) {
	const block = "limit_rollout r { zones A; steps 1% 100%; } "
	for _, c := range []struct {
		name, http, limits string
		share              rollout.Share // of the rollout
		want               string        // the second request of a key
		canary             request.Canary
	}{
		{"none", "", "limit_req zone=A;", 0, "fails", request.CanaryUnset},
		{"dry run", "", "limit_req zone=A; limit_req_dry_run on;", 0, "goes on", request.CanaryUnset},
		{"canary at 100%", "", "limit_req zone=A canary=100%;", 0, "fails", request.CanaryEnforced},
		{"canary at 0%", "", "limit_req zone=A canary=0%;", 0, "goes on", request.CanaryWatched},
		{"rollout at 100%", block, "limit_req zone=A;", rollout.Whole, "fails", request.CanaryEnforced},
		{"rollout in dry run", block, "limit_req zone=A;", 0, "goes on", request.CanaryWatched},
		{"dry run before canary", "", "limit_req zone=A canary=100%; limit_req_dry_run on;", 0, "goes on", request.CanaryUnset},
		{"dry run before rollout", block, "limit_req zone=A; limit_req_dry_run on;", rollout.Whole, "goes on", request.CanaryUnset},
		{"rollout before canary", block, "limit_req zone=A canary=100%;", 0, "goes on", request.CanaryWatched},
		{"rollout before canary, the other way", block, "limit_req zone=A canary=0%;", rollout.Whole, "fails", request.CanaryEnforced},
		{"all three", block, "limit_req zone=A canary=100%; limit_req_dry_run on;", rollout.Whole, "goes on", request.CanaryUnset},
		{"another zone's rollout", block, "limit_req zone=B;", 0, "fails", request.CanaryUnset},
	} {
		m := rollouts{}
		b := newBenchOf(t, twoZones+c.http+"server { location / { "+c.limits+" } }", m)
		m.Rollout("r").Enforce(c.share)
		b.ask(0, "/?a=x&b=x")
		r, next := b.ask(0, "/?a=x&b=x")
		if got := b.outcome(r, next); !strings.HasPrefix(got, c.want) || r.Canary != c.canary {
			t.Errorf("%s: got %s, canary %q, want %s, %q", c.name, got, r.Canary, c.want, c.canary)
		}
	}
}

// Where nothing is rolled out, as in simulate and replay, a limit is what it will be in the end: fully enforced, whatever canary= says.
func TestRolloutWithoutAGateway(t *testing.T) {
	b := newBenchOf(t, twoZones+`limit_rollout r { zones A; steps 1% 5%; } server { location / { limit_req zone=A canary=0%; } }`, nil)
	b.tell([]step{{0, "/?a=x", "goes on PASSED"}, {0, "/?a=x", "fails 503 REJECTED, Retry-After: 1"}})
}

// A rollout counts each request once, on the side of its keys, with what its limits said.
func TestRolloutCounts(t *testing.T) {
	m := rollouts{}
	b := newBenchOf(t, twoZones+`limit_rollout r { zones A C; steps 50%; } server { location / { limit_req zone=A; limit_req zone=B; limit_conn C 5; } }`, m)
	m["r"].Enforce(half)
	type figures struct{ requests, refused, answers uint64 }
	ask := func(target string, status int) {
		r, next := b.ask(0, target)
		if r.Start = r.Now; next == phase.Continue {
			r.Response.Status = status
		}
		if err := r.Release(); err != nil {
			t.Error(err)
		}
	}
	enforced, watched := keyOn(t, "A", half, true), keyOn(t, "A", half, false)
	for range 3 {
		ask("/?a="+enforced, 200) // one passes, two are refused
		ask("/?a="+watched, 200)  // two would have been
	}
	ask("/", 200)                                                   // no limit is asked
	ask("/?b=x", 200)                                               // one that is no part of it
	ask("/?b=x&a="+enforced+"2", 200)                               // refused by that one
	ask("/?c="+keyOn(t, "C", half, true)+"&a="+watched+"none", 200) // two limits of it
	s := m["r"].Turn(start, time.Minute)
	// The last is enforced for one of its keys at least, and so it is.
	want := [2]figures{rollout.Watched: {3, 2, 1}, rollout.Enforced: {3 + 1, 2, 1 + 1}}
	if rollout.NewSplit("A", half).Enforces(enforced + "2") {
		want[rollout.Enforced].requests++ // a watched limit is not asked about what another refused
	}
	for side, got := range [2]rollout.Tally{rollout.Watched: s.Watched, rollout.Enforced: s.Enforced} {
		if got := (figures{got.Requests, got.Refused, got.Answers}); got != want[side] {
			t.Errorf("side %d: got %+v, want %+v", side, got, want[side])
		}
	}
}

// What an operator asks about a key tells its side.
func TestKnownSide(t *testing.T) {
	http, env := config(t, twoZones+`server { location / { limit_req zone=A canary=50%; } }`)
	env.Zones, env.Limits = zones{}, new(phase.KnownLimits)
	compileAll(env, http)
	for _, enforced := range []bool{true, false} {
		look, err := env.Limits.Of("A")[0].Look(t.Context(), start, keyOn(t, "A", half, enforced))
		if err != nil || look.Watched == enforced {
			t.Errorf("got watched %v, %v, want %v", look.Watched, err, !enforced)
		}
	}
}

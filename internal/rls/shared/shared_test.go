package shared_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/decide"
	"github.com/limitgate/limitgate/internal/rls/load"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/shared"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/rediszone"
)

const rules = `
domain: d
descriptors:
  - key: call
    rate_limit: {unit: hour, requests_per_unit: 3}
  - key: open
    rate_limit: {unit: hour, requests_per_unit: 3, fail: open}
  - key: closed
    rate_limit: {unit: hour, requests_per_unit: 3, fail: closed}
  - key: local
    rate_limit: {unit: hour, requests_per_unit: 4, fail: local}
  - key: sliding
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: sliding}
  - key: token
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: token}
  - key: leaky
    rate_limit: {unit: hour, requests_per_unit: 3, algorithm: leaky, burst: 2}
  - key: places
    rate_limit: {concurrency: 2, hold: 1s}
  - key: localplaces
    rate_limit: {concurrency: 2, fail: local}
  - key: lease
    rate_limit: {unit: hour, requests_per_unit: 3, lease: true}
`

// instance is a service that shares a store.
type instance struct {
	*decide.Decider
	store    *shared.Store
	counters *stats.Registry
}

func open(t *testing.T, r *redistest.Server, jitter int64) *instance {
	t.Helper()
	s, err := shared.Open(shared.Config{Options: rediszone.Options{URL: r.URL()}, Name: t.Name() + time.Now().String(), Jitter: jitter})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err = s.Far().Client(); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	table, _, err := load.Compile([]config.Source{{Name: "rules.yaml", Text: []byte(rules)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{store: s, counters: new(stats.Registry)}
	if i.Decider, err = decide.New(table, decide.Options{NearRatio: 0.8}, s, i.counters, nil); err != nil {
		t.Fatal(err)
	}
	return i
}

// ask asks about one entry of each key.
func (i *instance) ask(t *testing.T, keys ...string) (decide.Answer, error) {
	t.Helper()
	var r decide.Request
	var a decide.Answer
	r.Domain = "d"
	r.Grow(len(keys))
	for _, k := range keys {
		key, value, _ := strings.Cut(k, "=")
		value, place, _ := strings.Cut(value, "/")
		d := r.Add(1)
		d.Entries[0], d.Place, d.Release = match.Entry{Key: key, Value: value}, strings.TrimSuffix(place, "-"), strings.HasSuffix(k, "-")
	}
	err := i.Decide(context.Background(), limitgate.Now(), &r, &a)
	return a, err
}

// A rule that leaves the answer to Envoy is not told to have refused.
func TestWords(t *testing.T) {
	for f, want := range map[limitgate.Fallback]string{limitgate.FailOpen: "fail=open decided", limitgate.FailClosed: "fail=call or closed decided", limitgate.FailLocal: "fail=local decided"} {
		if got := shared.Words(shared.Event{Fallback: f}); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

// Two instances are one limit, by each algorithm; of algorithm fixed the counters are under the keys of envoyproxy/ratelimit.
func TestInstancesShareTheirLimits(t *testing.T) {
	r := redistest.Start(t)
	one, two := open(t, r, 0), open(t, r, 300)
	for _, key := range []string{"call", "sliding", "token", "leaky", "lease"} {
		passed := 0
		for k := range 8 {
			a, err := []*instance{one, two}[k%2].ask(t, key+"=x")
			if err != nil {
				t.Fatal(err)
			}
			if !a.Over {
				passed++
			} else if a.RetryAfter < 1 || a.RetryAfter > 3600 {
				t.Errorf("%s: refused with Retry-After %d, want 1 to 3600", key, a.RetryAfter)
			}
		}
		if passed != 3 {
			t.Errorf("%s: %d of 8 passed, want 3", key, passed)
		}
	}
	name := "d_call_x_" + strconv.FormatInt(time.Now().Unix()/3600*3600, 10)
	if got := strings.TrimSpace(r.Do("GET", name)); got != "8" {
		t.Errorf("the counter %s is %q, want 8, since refused requests count", name, got)
	}
	if got := strings.TrimSpace(r.Do("TTL", name)); got == "-1" || got == "-2" {
		t.Errorf("the counter %s has TTL %s, want one", name, got)
	}
}

// A counter that the store has lost expires as well when it is there again.
func TestCountersExpireAfterALoss(t *testing.T) {
	r := redistest.Start(t)
	i := open(t, r, 0)
	for range 2 {
		if _, err := i.ask(t, "call=w", "open=w", "call=v"); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"call_w", "open_w", "call_v"} {
			name := "d_" + key + "_" + strconv.FormatInt(time.Now().Unix()/3600*3600, 10)
			if got := strings.TrimSpace(r.Do("TTL", name)); got == "-1" || got == "-2" {
				t.Errorf("the counter %s has TTL %s, want one", name, got)
			}
		}
		r.Do("FLUSHALL")
	}
}

// Several descriptors are one round trip, and each is counted whatever the others say.
func TestDescriptorsAreCountedTogether(t *testing.T) {
	i := open(t, redistest.Start(t), 0)
	for k := range 5 {
		a, err := i.ask(t, "call=y", "open=y", "closed=y", "token=y", "nothing=y")
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range a.Statuses[:4] {
			if want := k >= 3; s.Over != want {
				t.Errorf("request %d, descriptor %d: got over %v, want %v", k, n, s.Over, want)
			}
			if want := uint32(max(2-k, 0)); s.Remaining != want {
				t.Errorf("request %d, descriptor %d: got %d remaining, want %d", k, n, s.Remaining, want)
			}
		}
	}
}

// Without the store each rule does what it says; one that says nothing fails the call.
func TestRulesSayWhatAnOutageMeans(t *testing.T) {
	r := redistest.Start(t)
	i := open(t, r, 0)
	if _, err := i.ask(t, "local=z", "open=z", "closed=z", "call=z"); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	if _, err := i.ask(t, "call=z"); err == nil || decide.Explain(err) != "store" {
		t.Errorf("a rule that says nothing: got %v, want an error of the store", err)
	}
	if n := i.counters.Service.RedisError.Load(); n != 1 {
		t.Errorf("got %d redis errors, want 1", n)
	}
	for k := range 5 {
		for key, want := range map[string]bool{"open=z": false, "closed=z": true, "local=z": k >= 3} {
			a, err := i.ask(t, key)
			if err != nil || a.Over != want {
				t.Errorf("request %d for %s: got over %v and %v, want %v", k, key, a.Over, err, want)
			}
		}
	}
	a, err := i.ask(t, "open=z", "closed=z", "local=z")
	if err != nil || !a.Over || a.Statuses[0].Over || !a.Statuses[1].Over {
		t.Errorf("together: got %+v and %v, want the closed one to refuse", a, err)
	}
	if _, err := i.ask(t, "open=z", "call=z"); err == nil {
		t.Error("together with one that says nothing: no error")
	}
}

// Places are held across instances, renewed by their name, given back by any, and run out.
func TestPlacesAreShared(t *testing.T) {
	r := redistest.Start(t)
	one, two := open(t, r, 0), open(t, r, 0)
	for n, c := range []struct {
		at   *instance
		ask  string
		over bool
		free uint32
	}{
		{one, "places=x/a", false, 1}, {two, "places=x/b", false, 0}, {one, "places=x/c", true, 0}, {two, "places=x/a", false, 0},
		{two, "places=x/a-", false, 1}, {two, "places=x/a-", false, 1}, {one, "places=x/c", false, 0}, {one, "places=y/c", false, 1},
	} {
		a, err := c.at.ask(t, c.ask)
		if err != nil || a.Over != c.over || a.Statuses[0].Remaining != c.free || a.RetryAfter != 0 {
			t.Errorf("step %d, %s: got %+v and %v; want over %v, %d free", n, c.ask, a, err, c.over, c.free)
		}
	}
	time.Sleep(1100 * time.Millisecond) // the server's clock, which nobody sets
	if a, err := two.ask(t, "places=x/d"); err != nil || a.Over || a.Statuses[0].Remaining != 1 {
		t.Errorf("after a second: got %+v and %v, want one more free", a, err)
	}
	r.Kill()
	if _, err := one.ask(t, "places=x/e"); err == nil {
		t.Error("without the store: no error")
	}
	held := 0
	for _, id := range []string{"a", "b", "c"} {
		if a, err := one.ask(t, "localplaces=x/"+id); err == nil && !a.Over {
			held++
		}
	}
	if held < 1 || held > 2 {
		t.Errorf("without the store %d places were held locally, want this instance's share of 2", held)
	}
}

// In a cluster the counters of one request lie on several nodes.
func TestCluster(t *testing.T) {
	i := open(t, redistest.Cluster(t)[0], 0)
	for k := range 5 {
		a, err := i.ask(t, "call=1", "call=2", "open=3", "call=4", "sliding=5", "places=6/a")
		if err != nil {
			t.Fatal(err)
		}
		for n, s := range a.Statuses[:5] {
			if want := k >= 3; s.Over != want || !s.Limited {
				t.Errorf("request %d, descriptor %d: got over %v, want %v", k, n, s.Over, want)
			}
		}
	}
}

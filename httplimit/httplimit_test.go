package httplimit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// t0 is when tests begin.
var t0 = limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// clock is time that a test moves.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(int64(t0))
	return c
}

func (c *clock) now() limitgate.Time { return limitgate.Time(c.ns.Load()) }
func (c *clock) add(d time.Duration) { c.ns.Add(int64(d)) }
func (c *clock) sleep(_ context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
	c.add(d)
	return now.Add(d), nil
}

func limiter(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func build(t testing.TB, c Config) *Middleware {
	t.Helper()
	m, err := NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// says is a handler that answers with a status.
func says(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// ask sends a request through h.
func ask(h http.Handler, from string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = from + ":1000"
	h.ServeHTTP(w, r)
	return w.Result()
}

func wantStatuses(t *testing.T, h http.Handler, from string, want ...int) {
	t.Helper()
	for i, s := range want {
		if got := ask(h, from).StatusCode; got != s {
			t.Errorf("request %d: got status %d, want %d", i, got, s)
		}
	}
}

func TestRefusal(t *testing.T) {
	c := newClock()
	h := build(t, Config{
		Limits: []Limit{{Name: "login", Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerSecond(5), Burst: 12, NoDelay: true}), Key: ClientNetwork()}},
		Now:    c.now,
	}).Wrap(says(200))
	for range 13 {
		wantStatuses(t, h, "192.0.2.1", 200)
	}
	got := ask(h, "192.0.2.1")
	body, _ := io.ReadAll(got.Body)
	if got.StatusCode != 429 || got.Header.Get("Retry-After") != "1" || got.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %v, want 429 with Retry-After 1", got.StatusCode, got.Header)
	}
	want := `{"type":"about:blank","title":"Too Many Requests","status":429,"limit":"login","retry_after":1}` + "\n"
	if string(body) != want {
		t.Errorf("got %s, want %s", body, want)
	}
	wantStatuses(t, h, "192.0.2.2", 200)
	c.add(time.Second)
	wantStatuses(t, h, "192.0.2.1", 200, 200, 200, 200, 200, 429)
}

func TestDelayIsWaitedFor(t *testing.T) {
	c := newClock()
	var seen []time.Duration
	h := build(t, Config{
		Limits: []Limit{{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 2}), Key: Everybody}},
		Now:    func() limitgate.Time { return t0 },
		Sleep: func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
			seen = append(seen, d)
			return c.sleep(ctx, now, d)
		},
	}).Wrap(says(200))
	wantStatuses(t, h, "192.0.2.1", 200, 200, 200, 429)
	if got, want := fmt.Sprint(seen), "[1s 2s]"; got != want {
		t.Errorf("got delays %s, want %s", got, want)
	}
}

func TestWhoLeavesWhileDelayedIsNotCharged(t *testing.T) {
	l := limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 5})
	m := build(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody}}, Now: newClock().now})
	h := m.Wrap(says(200))
	wantStatuses(t, h, "192.0.2.1", 200)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	if w.Code != 499 {
		t.Errorf("got status %d, want 499", w.Code)
	}
	late, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(late))
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a deadline before the turn: got %d, Retry-After %q, want 429 and 1", w.Code, w.Header().Get("Retry-After"))
	}
	if d, _ := l.CheckAt(context.Background(), t0, "*", 1); d.Excess != 1000 {
		t.Errorf("got excess %v, want 1.000: neither stays charged", d.Excess)
	}
}

func TestSeveralLimitsChargeAllOrNone(t *testing.T) {
	c := newClock()
	wide := limiter(t, limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 3})
	narrow := limiter(t, limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 1})
	var last Event
	h := build(t, Config{
		Limits: []Limit{
			{Name: "site", Limiter: wide, Key: Everybody},
			{Name: "client", Limiter: narrow, Key: ClientNetwork()},
		},
		Headers: DraftHeaders, Now: c.now, Observe: func(_ *http.Request, e Event) { last = e },
	}).Wrap(says(200))
	wantStatuses(t, h, "192.0.2.1", 200, 429, 429)
	if last.Limit != "client" || last.Outcome != limitgate.Rejected {
		t.Errorf("got %s %v, want client REJECTED", last.Limit, last.Outcome)
	}
	got := ask(h, "192.0.2.2")
	if a, want := got.Header.Get("RateLimit"), `"client";r=0;t=60, "site";r=1;t=60`; a != want {
		t.Errorf("got RateLimit %s, want %s", a, want)
	}
	if a, want := got.Header.Get("RateLimit-Policy"), `"client";q=1;w=60, "site";q=3;w=180`; a != want {
		t.Errorf("got RateLimit-Policy %s, want %s", a, want)
	}
}

func TestLegacyHeaders(t *testing.T) {
	h := build(t, Config{
		Limits:  []Limit{{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 2, NoDelay: true}), Key: Everybody}},
		Headers: LegacyHeaders, Now: newClock().now,
	}).Wrap(says(204))
	got := ask(h, "192.0.2.1").Header
	if a := got.Get("X-RateLimit-Limit") + " " + got.Get("X-RateLimit-Remaining") + " " + got.Get("X-RateLimit-Reset"); a != "3 2 60" {
		t.Errorf("got limit, remaining and reset %s, want 3 2 60", a)
	}
}

func TestSkipCostAndEmptyKeys(t *testing.T) {
	l := limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 10})
	cost := limitgate.Cost(4)
	h := build(t, Config{
		Limits: []Limit{{Limiter: l, Key: Header("X-Api-Key"), Cost: func(*http.Request) limitgate.Cost { return cost }}},
		Skip:   func(r *http.Request) bool { return r.URL.Path == "/health" },
		Now:    newClock().now,
	}).Wrap(says(200))
	send := func(path, key string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		if key != "" {
			r.Header.Set("X-Api-Key", key)
		}
		h.ServeHTTP(w, r)
		return w.Code
	}
	for i, want := range []int{200, 200, 429} {
		if got := send("/", "one"); got != want {
			t.Errorf("request %d of cost 4: got %d, want %d", i, got, want)
		}
	}
	if got := send("/health", "one"); got != 200 {
		t.Errorf("a skipped request: got %d, want 200", got)
	}
	if got := send("/", ""); got != 200 {
		t.Errorf("a request without a key: got %d, want 200", got)
	}
	cost = 0
	if got := send("/", "one"); got != 200 {
		t.Errorf("a request that costs nothing: got %d, want 200", got)
	}
}

func TestDryRun(t *testing.T) {
	var outcomes []string
	h := build(t, Config{
		Limits: []Limit{
			{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 1}), Key: Everybody},
			{Name: "at once", Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: Everybody},
		},
		DryRun: true, Now: newClock().now,
		Sleep: func(context.Context, limitgate.Time, time.Duration) (limitgate.Time, error) {
			t.Error("a dry run waits")
			return 0, nil
		},
		Observe: func(_ *http.Request, e Event) { outcomes = append(outcomes, e.Limit+" "+e.Outcome.String()) },
	}).Wrap(says(200))
	wantStatuses(t, h, "192.0.2.1", 200, 200, 200)
	want := "[at once PASSED default DELAYED default REJECTED]" // of what passes the limit that leaves less
	if got := fmt.Sprint(outcomes); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A dry run leaves what would be left without it, also where a place is what a request lacks.
func TestDryRunChargesNothingForWhatFindsNoPlace(t *testing.T) {
	c, requests := newClock(), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	m := build(t, Config{Limits: []Limit{
		{Limiter: requests, Key: Everybody},
		{Name: "at once", Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: Everybody},
	}, DryRun: true, Now: c.now})
	h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { wantStatuses(t, m.Wrap(says(204)), "192.0.2.1", 204) }))
	wantStatuses(t, h, "192.0.2.1", 200)
	if n := left(requests, c); n != 4 {
		t.Errorf("got %d left, want 4: only the first one got a place", n)
	}
}

// broken is a zone that can't decide.
type broken struct{ *memzone.Zone }

var errBroken = errors.New("the store is gone")

func (broken) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return limitgate.Decision{}, limitgate.Charge{}, errBroken
}

func (broken) Spend(limitgate.Time, *limitgate.Limit, string, limitgate.Cost) limitgate.Decision {
	return limitgate.Decision{Outcome: limitgate.Rejected}
}

func TestOutageOfAZone(t *testing.T) {
	for _, a := range []limitgate.Algorithm{limitgate.Req{Rate: limitgate.PerSecond(1)}, limitgate.Conn{Limit: 1}} {
		l, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, a)
		if err != nil {
			t.Fatal(err)
		}
		fine := Limit{Name: "fine", Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 2}), Key: Everybody}
		for _, open := range []bool{false, true} {
			var seen error
			m := build(t, Config{
				Limits: []Limit{fine, {Limiter: l, Key: Everybody}}, FailOpen: open, Now: newClock().now,
				Observe: func(_ *http.Request, e Event) { seen = e.Err },
			})
			want := 503
			if open {
				want = 200
			}
			if got := ask(m.Wrap(says(200)), "192.0.2.1"); got.StatusCode != want || got.Header.Get("Retry-After") != "" {
				t.Errorf("%T, open %v: got %d with Retry-After %q, want %d without", a, open, got.StatusCode, got.Header.Get("Retry-After"), want)
			}
			if !errors.Is(seen, errBroken) {
				t.Errorf("%T, open %v: Observe got %v, want %v", a, open, seen, errBroken)
			}
		}
	}
}

// TestFullSpeed has 500 requests on real connections, 100 at a time, against a capacity of 100 at 1 a second.
func TestFullSpeed(t *testing.T) {
	c := newClock()
	m := build(t, Config{
		Limits: []Limit{{Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 100}), Key: Everybody}}, Now: c.now,
	})
	s := httptest.NewServer(m.Wrap(says(200)))
	defer s.Close()
	s.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 100
	passed := storm(t, s, 500, 100)
	if passed != 100 {
		t.Errorf("at once: got %d passed of 500, want 100", passed)
	}
	for i := range 3 {
		c.add(time.Second)
		if passed := storm(t, s, 20, 10); passed != 1 {
			t.Errorf("after %d more seconds: got %d passed of 20, want 1", i+1, passed)
		}
	}
}

// storm sends n requests, some at a time, and counts those that pass.
func storm(t *testing.T, s *httptest.Server, n, at int) int64 {
	t.Helper()
	var passed atomic.Int64
	var all sync.WaitGroup
	for range at {
		all.Go(func() { // ends with its share of the requests
			for range n / at {
				got, err := s.Client().Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, got.Body)
				got.Body.Close()
				switch got.StatusCode {
				case 200:
					passed.Add(1)
				case 429:
				default:
					t.Errorf("got status %d", got.StatusCode)
				}
			}
		})
	}
	all.Wait()
	return passed.Load()
}

func TestValidate(t *testing.T) {
	good := Limit{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1)}), Key: Everybody}
	conn := Limit{Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: Everybody, Counts: Failed}
	cases := map[string]struct {
		config Config
		want   string
	}{
		"none":    {Config{}, "0 limits of a handler: between 1 and 64"},
		"many":    {Config{Limits: make([]Limit, 65)}, "65 limits of a handler: between 1 and 64"},
		"limiter": {Config{Limits: []Limit{{Key: Everybody}}}, `limit 0 "default" of a handler: needs a Limiter`},
		"key":     {Config{Limits: []Limit{good, {Name: "b", Limiter: good.Limiter}}}, `limit 1 "b" of a handler: needs a Key`},
		"conn":    {Config{Limits: []Limit{conn}}, `limit 0 "default" of a handler: places are held and given back: Cost, Counts and Settle are for limits of requests`},
		"status":  {Config{Limits: []Limit{good}, Status: 200}, "status 200 of refusals: between 400 and 599"},
		"headers": {Config{Limits: []Limit{good}, Headers: 3}, "headers 3: NoHeaders, DraftHeaders or LegacyHeaders"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := NewWith(c.config); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	defer func() {
		if p, ok := recover().(string); !ok || !strings.Contains(p, "needs a Key") {
			t.Errorf("New without a key: got panic %q", p)
		}
	}()
	New(good.Limiter, nil)
}

package httplimit

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

func TestObserverThatPanicsHoldsNothing(t *testing.T) {
	c, conn, token := newClock(), limiter(t, limitgate.Conn{Limit: 2}), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	m := build(t, Config{
		Limits: []Limit{{Limiter: conn, Key: Everybody}, {Limiter: token, Key: Everybody}}, Now: c.now,
		Observe: func(*http.Request, Event) { panic("broken") },
	})
	func() {
		defer func() { _ = recover() }()
		ask(m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request went on") })), "192.0.2.1")
	}()
	if places, requests := left(conn, c), left(token, c); places != 2 || requests != 5 {
		t.Errorf("got %d places and %d requests left, want 2 and 5", places, requests)
	}
}

// keeps is a zone that takes nothing back.
type keeps struct{ *memzone.Zone }

func (keeps) Refund(context.Context, limitgate.Time, *limitgate.Limit, limitgate.Charge) error {
	return errBroken
}

// A zone that takes nothing back is told of, once for the decision and once for that.
func TestWhatIsNotGivenBackIsToldOf(t *testing.T) {
	l, err := limitgate.NewLimiter(keeps{memzone.New(memzone.Config{})}, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	if err != nil {
		t.Fatal(err)
	}
	var seen []Event
	m := build(t, Config{
		Limits:  []Limit{{Limiter: l, Key: Everybody, Counts: func(Outcome) bool { return false }}},
		Observe: func(_ *http.Request, e Event) { seen = append(seen, e) },
	})
	wantStatuses(t, m.Wrap(says(200)), "192.0.2.1", 200)
	if len(seen) != 2 || seen[0].Err != nil || seen[0].Limit != "default" || !errors.Is(seen[1].Err, errBroken) || seen[1].Limit != "" {
		t.Errorf("got %+v, want a decision and then an error", seen)
	}
}

// How a request ended is asked of limits that charged it, and of no others: it has no key here, or the limit is not enforced.
func TestWhatIsNotChargedIsNotSettled(t *testing.T) {
	for name, c := range map[string]struct {
		key     Key
		dry     bool
		charged bool
	}{
		"no key":            {Header("X-Api-Key"), false, false},
		"charged":           {Everybody, false, true},
		"refused, dry run":  {Everybody, true, false},
		"no key in dry run": {Header("X-Api-Key"), true, false},
	} {
		l, clock := limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}), newClock()
		asked := 0
		config := Config{Limits: []Limit{{Limiter: l, Key: c.key, Settle: func(Outcome) limitgate.Cost { asked++; return 3 }}}, DryRun: c.dry, Now: clock.now}
		if c.dry {
			config.Limits[0].Cost = func(*http.Request) limitgate.Cost { return 6 }
		}
		wantStatuses(t, build(t, config).Wrap(says(200)), "192.0.2.1", 200)
		want := int64(5)
		if c.charged {
			want = 2
		}
		if n := left(l, clock); n != want || (asked > 0) != c.charged {
			t.Errorf("%s: got %d left and %d questions, want %d and whether it was charged: %v", name, n, asked, want, c.charged)
		}
	}
}

// A writer that a handler keeps has nothing of the next request.
func TestAKeptWriterHoldsNothing(t *testing.T) {
	c, places := newClock(), limiter(t, limitgate.Conn{Limit: 1})
	m := build(t, Config{Limits: []Limit{{Limiter: places, Key: Everybody}}, Now: c.now})
	var kept http.ResponseWriter
	m.Serve(taken{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { kept = w }))
	m.Serve(taken{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		conn, _, err := kept.(http.Hijacker).Hijack()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if n := left(places, c); n != 0 {
			t.Errorf("while a request holds it: got %d places left, want 0", n)
		}
	}))
	if n := left(places, c); n != 1 {
		t.Errorf("got %d places left, want 1", n)
	}
}

// taken is a writer whose connection can be taken over.
type taken struct{ http.ResponseWriter }

func (taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, _ := net.Pipe()
	return c, nil, nil
}

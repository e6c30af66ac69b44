package httplimit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/memzone"
)

func adaptiveLimit(t testing.TB, c adaptive.Config) *adaptive.Limiter {
	t.Helper()
	l, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustWith(t testing.TB, c Config) *Middleware {
	t.Helper()
	m, err := NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAdaptiveRefusesLastAndGivesBack(t *testing.T) {
	token, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 10})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{false, true} {
		l := adaptiveLimit(t, adaptive.Config{Initial: 1, Max: 1})
		var events []Event
		m := mustWith(t, Config{
			Limits:   []Limit{{Limiter: token, Key: Method}, {Limiter: conn, Key: Method}},
			Adaptive: l, DryRun: dry, Status: 429,
			Observe: func(_ *http.Request, e Event) { events = append(events, e) },
		})
		handler := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w2 := httptest.NewRecorder()
			m.Serve(w2, httptest.NewRequest("GET", "/", nil), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			want := 503
			if dry {
				want = 200
			}
			if w2.Code != want || !dry && w2.Header().Get("Retry-After") != "1" {
				t.Errorf("dry run %v: got %d, Retry-After %q, want %d and 1", dry, w2.Code, w2.Header().Get("Retry-After"), want)
			}
		}))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.Code != 200 || l.InFlight() != 0 {
			t.Errorf("dry run %v: got %d, and %d in flight, want 200 and none", dry, w.Code, l.InFlight())
		}
		last := events[len(events)-1]
		if last.Limit != "adaptive" || last.Outcome != limitgate.Rejected || last.DryRun != dry {
			t.Errorf("dry run %v: got %+v, want a refusal by adaptive", dry, last)
		}
		if d, err := conn.CheckAt(t.Context(), limitgate.Now(), "GET", 1); err != nil || d.Remaining != 9 {
			t.Errorf("dry run %v: %d places are left, want 9 and one to ask with: %v", dry, d.Remaining, err)
		}
	}
	// One passed, each time: in dry run, too, what would be refused is charged nothing.
	if d, err := token.CheckAt(t.Context(), limitgate.Now(), "GET", 1); err != nil || d.Remaining+1 != 8 {
		t.Errorf("got %d left, want 8, with what the refused one gave back: %v", d.Remaining+1, err)
	}
}

func TestAdaptiveLearnsHowRequestsEnd(t *testing.T) {
	left, cancel := context.WithCancel(context.Background())
	cancel()
	late, end := context.WithTimeout(context.Background(), -1)
	defer end()
	for _, c := range []struct {
		name    string
		ctx     context.Context
		status  int
		panics  bool
		lowered bool
	}{
		{"answers", context.Background(), 200, false, false},
		{"an error of its own", context.Background(), 500, false, false},
		{"a limit further in", context.Background(), 429, false, false},
		{"overload", context.Background(), 503, false, true},
		{"a deadline", late, 200, false, true},
		{"who leaves", left, 200, false, false},
		{"a panic", context.Background(), 503, true, false},
	} {
		l := adaptiveLimit(t, adaptive.Config{})
		now := limitgate.Time(time.Hour)
		m := mustWith(t, Config{Adaptive: l, Now: func() limitgate.Time { return now }})
		handler := m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			now = now.Add(5 * time.Millisecond)
			w.WriteHeader(c.status)
			if c.panics {
				panic(http.ErrAbortHandler)
			}
		}))
		for range 400 {
			func() {
				defer func() { _ = recover() }()
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(c.ctx))
			}()
		}
		if got := l.Limit() < 20; got != c.lowered || l.InFlight() != 0 {
			t.Errorf("%s: got a limit of %d with %d in flight, lowered: want %v", c.name, l.Limit(), l.InFlight(), c.lowered)
		}
	}
}

func TestAdaptiveAloneIsEnough(t *testing.T) {
	if _, err := NewWith(Config{}); err == nil {
		t.Error("neither Limits nor Adaptive: got no error")
	}
	m := mustWith(t, Config{Adaptive: adaptiveLimit(t, adaptive.Config{})})
	w := httptest.NewRecorder()
	m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 204 {
		t.Errorf("got %d, want 204", w.Code)
	}
}

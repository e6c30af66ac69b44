package retry_test

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/retry"
)

// next is a function as a transport.
type next func(r *http.Request) (*http.Response, error)

func (f next) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stalled is a body of which nothing comes until it is closed.
type stalled struct {
	once   sync.Once
	closed chan struct{}
}

func (s *stalled) Read([]byte) (int, error) { <-s.closed; return 0, errors.New("closed") }
func (s *stalled) Close() error             { s.once.Do(func() { close(s.closed) }); return nil }

// A server that refuses and does not end its answer holds nobody up for longer than a server that does.
func TestARefusalThatDoesNotEndIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []*stalled
		tr := transport(t, next(func(*http.Request) (*http.Response, error) {
			b := &stalled{closed: make(chan struct{})}
			bodies = append(bodies, b)
			return &http.Response{StatusCode: 503, Header: http.Header{}, Body: b}, nil
		}), nil)
		begin := time.Now()
		answer, err := tr.RoundTrip(request(t, "GET", ""))
		if err != nil || answer.StatusCode != 503 || len(bodies) != 3 {
			t.Fatalf("got %v, %v in %d attempts, want 503 in 3", answer, err, len(bodies))
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %v, want not even a second", took)
		}
		for i, b := range bodies[:2] {
			select {
			case <-b.closed:
			default:
				t.Errorf("the answer to attempt %d is open", i+1)
			}
		}
		_ = answer.Body.Close()
	})
}

// So it is with real connections, whatever they speak.
func TestRealRefusalsThatDoNotEnd(t *testing.T) {
	for _, c := range []struct{ packed, http2 bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		stop := make(chan struct{})
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.packed {
				w.Header().Set("Content-Encoding", "gzip")
			}
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "\x1f\x8b")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}))
		if s.EnableHTTP2 = c.http2; c.http2 {
			s.StartTLS()
		} else {
			s.Start()
		}
		attempts := 0
		client := &http.Client{Transport: transport(t, next(func(r *http.Request) (*http.Response, error) {
			attempts++
			return s.Client().Transport.RoundTrip(r)
		}), nil)}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		r, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil || answer.StatusCode != 503 || attempts != 3 {
			t.Errorf("%+v: got %v, %v in %d attempts, want 503 in 3", c, answer, err, attempts)
		} else {
			answer.Body.Close()
		}
		cancel()
		close(stop)
		s.Close()
	}
}

// What a Retry-After says is obeyed, whatever it says.
func TestRetryAfterAtItsEnds(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header   http.Header
		attempts int           // 1: too late
		wait     time.Duration // before the second
	}{
		"the last date there is":   {http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}}, 1, 0},
		"and with a date":          {http.Header{"Retry-After": {"Fri, 31 Dec 9999 23:59:59 GMT"}, "Date": {"Sun, 01 Mar 2026 12:00:00 GMT"}}, 1, 0},
		"long ago":                 {http.Header{"Retry-After": {"Mon, 30 Nov 1020 13:00:00 GMT"}}, 2, 0},
		"more than can be counted": {http.Header{"Retry-After": {"99999999999999999999999"}}, 1, 0},
		"two lines":                {http.Header{"Retry-After": {"2", "5"}}, 2, 5 * time.Second},
		"one of two is junk":       {http.Header{"Retry-After": {"soon", "3"}}, 2, 3 * time.Second},
		"a date":                   {http.Header{"Retry-After": {"Sun, 01 Mar 2026 12:00:07 GMT"}}, 2, 7 * time.Second},
		"negative":                 {http.Header{"Retry-After": {"-5"}}, 1, 0}, // is none, and then it may have been done
	} {
		t.Run(name, func(t *testing.T) {
			attempts, now := 0, limitgate.At(begin)
			var waits []time.Duration
			tr := transport(t, next(func(*http.Request) (*http.Response, error) {
				attempts++
				return &http.Response{StatusCode: 503, Header: c.header, Body: http.NoBody}, nil
			}), func(rc *retry.Config) {
				rc.Policy.Attempts = 2
				rc.Policy.Random = func(int64) int64 { return 0 }
				rc.Policy.Now = func() limitgate.Time { return now }
				rc.Policy.Sleep = func(_ context.Context, at limitgate.Time, d time.Duration) (limitgate.Time, error) {
					waits, now = append(waits, d), at.Add(d)
					return now, nil
				}
			})
			if _, err := tr.RoundTrip(request(t, "POST", "")); err != nil {
				t.Fatal(err)
			}
			if attempts != c.attempts {
				t.Errorf("got %d attempts, want %d", attempts, c.attempts)
			}
			if c.wait > 0 && (len(waits) != 1 || waits[0] != c.wait) {
				t.Errorf("waited %v, want %v", waits, c.wait)
			}
		})
	}
}

func TestTheLongestWaitsThereAre(t *testing.T) {
	tr := transport(t, next(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }), func(c *retry.Config) {
		c.Policy.Base, c.Policy.Max = math.MaxInt64, math.MaxInt64
		c.Policy.Random = nil
	})
	if _, err := tr.RoundTrip(request(t, "GET", "")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the error of the transport", err)
	}
}

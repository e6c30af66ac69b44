package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hook is a place that is posted to: it answers with one status after the other, the last for ever.
type hook struct {
	*httptest.Server
	asked  atomic.Int32
	bodies chan string
}

func newHook(t *testing.T, secure bool, statuses ...int) *hook {
	h := &hook{bodies: make(chan string, 100)}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(h.asked.Add(1))
		body, _ := io.ReadAll(r.Body)
		h.bodies <- r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)
		if status := statuses[min(n, len(statuses))-1]; status == 0 {
			<-r.Context().Done() // until the client has had enough
		} else {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}
	})
	if h.Server = httptest.NewUnstartedServer(handler); secure {
		h.StartTLS()
	} else {
		h.Start()
	}
	t.Cleanup(h.Close)
	return h
}

func quick(failed chan error) Config {
	return Config{Timeout: 200 * time.Millisecond, Waits: []time.Duration{time.Millisecond, time.Millisecond}, Failed: func(err error) { failed <- err }}
}

func TestPost(t *testing.T) {
	for _, c := range []struct {
		name     string
		secure   bool
		statuses []int
		asked    int32
		fault    string
	}{
		{"at once", false, []int{200}, 1, ""},
		{"over TLS", true, []int{204}, 1, ""},
		{"after errors", false, []int{500, 429, 200}, 3, ""},
		{"never", false, []int{500}, 3, "3 tries: got status 500"},
		{"elsewhere", false, []int{302}, 3, "3 tries: got status 302"},
		{"too slow at first", false, []int{0, 200}, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, failed := newHook(t, c.secure, c.statuses...), make(chan error, 1)
			s := New(quick(failed))
			defer s.Close()
			s.client.Transport = h.Client().Transport // which knows the certificate
			s.Post(h.URL+"/services/T0-secret", []byte(`{"a":1}`))
			for range c.asked {
				select {
				case got := <-h.bodies:
					if got != `POST application/json {"a":1}` {
						t.Errorf("got %s", got)
					}
				case <-time.After(5 * time.Second):
					t.Fatal("nothing came")
				}
			}
			if c.fault == "" {
				return
			}
			err := <-failed
			if !strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "secret") || h.asked.Load() != c.asked {
				t.Errorf("got %v after %d tries", err, h.asked.Load())
			}
		})
	}
}

// An address that nobody answers at is not told either.
func TestNobodyThere(t *testing.T) {
	h, failed := newHook(t, false, 200), make(chan error, 1)
	address := h.URL
	h.Close()
	s := New(quick(failed))
	defer s.Close()
	s.Post(address+"/services/T0-secret", nil)
	if err := <-failed; strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}

// Nobody waits for a slow place: what is too much is told of, and Close cuts off.
func TestBounded(t *testing.T) {
	h, failed := newHook(t, false, 0), make(chan error, 200)
	c := quick(failed)
	c.Timeout = time.Hour
	s := New(c)
	begun := time.Now()
	for range queued + 20 {
		s.Post(h.URL, nil)
	}
	<-h.bodies
	s.Close()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	s.Post(h.URL, nil) // after the end: nothing
	if n := len(failed); n < 19 || n > 20 {
		t.Errorf("%d were told of, want 19 or 20", n)
	}
}

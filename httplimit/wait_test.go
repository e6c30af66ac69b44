package httplimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/memzone"
)

// Five requests of 400 ms for one place, of which each waits for up to a second: in order, and no longer than that.
func TestWaitHasRequestsWaitForPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		m, err := httplimit.NewWith(httplimit.Config{Limits: []httplimit.Limit{{Limiter: l, Key: httplimit.Everybody}}, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		h := m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(400 * time.Millisecond) }))
		start := time.Now()
		var all sync.WaitGroup
		serve := func(ctx context.Context, status int, want time.Duration) {
			all.Go(func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
				if took := time.Since(start); w.Code != status || took < want || took > want+10*time.Millisecond {
					t.Errorf("got %d after %v, want %d after %v", w.Code, took, status, want)
				}
			})
			synctest.Wait()
		}
		serve(t.Context(), 200, 400*time.Millisecond)
		serve(t.Context(), 200, 800*time.Millisecond)
		leaves, cancel := context.WithCancel(t.Context())
		time.AfterFunc(600*time.Millisecond, cancel)
		serve(leaves, 499, 600*time.Millisecond)
		late, end := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer end()
		serve(late, 429, 700*time.Millisecond)
		serve(t.Context(), 200, 1200*time.Millisecond)
		serve(t.Context(), 429, time.Second)
		all.Wait()
		d, err := l.CheckAt(t.Context(), limitgate.Now(), "*", 1)
		if err != nil || d.Remaining != 0 || !d.Admitted() {
			t.Errorf("got %+v, %v: a place is left behind", d, err)
		}
	})
}

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

// Who leaves while it waits does not have two others go on in one turn.
func TestWhoLeavesKeepsTurnsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9})
		if err != nil {
			t.Fatal(err)
		}
		h := httplimit.New(l, httplimit.Everybody).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		start := time.Now()
		serve := func(ctx context.Context, status int, want time.Duration) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
			if took := time.Since(start); w.Code != status || took != want {
				t.Errorf("got %d after %v, want %d after %v", w.Code, took, status, want)
			}
		}
		serve(t.Context(), 200, 0)
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { serve(ctx, 499, 500*time.Millisecond) })
		synctest.Wait()
		all.Go(func() { serve(t.Context(), 200, 2*time.Second) })
		time.Sleep(500 * time.Millisecond)
		cancel()
		synctest.Wait()
		all.Go(func() { serve(t.Context(), 200, 3*time.Second) })
		all.Wait()
	})
}

package httplimit

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/racing"
)

func TestAllocationsOfPassing(t *testing.T) {
	fast := limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1_000_000, NoDelay: true}
	cases := map[string]struct {
		config Config
		want   float64
	}{
		"one limit":      {Config{Limits: []Limit{{Limiter: limiter(t, fast), Key: ClientNetwork()}}}, 0},
		"several limits": {Config{Limits: []Limit{{Limiter: limiter(t, fast), Key: ClientNetwork()}, {Limiter: limiter(t, fast), Key: Each(Method, Pattern)}}}, 0},
		// What follows the response is one object, for each request anew: a handler may keep it.
		"places": {Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 5}), Key: Everybody}}}, 1},
		"waits":  {Config{Limits: []Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 5}), Key: Everybody}}, Wait: time.Second}, 1},
		"finds":  {Config{Adaptive: adaptiveLimit(t, adaptive.Config{})}, 1},
		"counts": {Config{Limits: []Limit{{Limiter: limiter(t, fast), Key: Everybody, Counts: Failed}}}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := build(t, c.config).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
			if got := testing.AllocsPerRun(200, func() { h.ServeHTTP(w, r) }); got != c.want && !racing.Detector {
				t.Errorf("got %v allocations, want %v", got, c.want)
			}
		})
	}
}

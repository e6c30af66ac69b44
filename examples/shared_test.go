package examples

import (
	"net/http"
	"strings"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// The two instances of shared.conf are one limit.
func TestShared(t *testing.T) {
	server := redistest.Start(t)
	text := strings.NewReplacer("redis://127.0.0.1:6379", server.URL(), "rate=10r/s", "rate=10r/h").
		Replace(read(t, "shared.conf", "8080", "9000"))
	var both []*gatewaytest.Gateway
	for range 2 {
		both = append(both, gatewaytest.Start(t, gatewaytest.Limitgate(t), text))
	}
	got := map[int]int{}
	for i := range 40 {
		r, err := http.Get(both[i%2].URL(8080, "/"))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		got[r.StatusCode]++
	}
	if got[200] != 21 || got[429] != 19 {
		t.Errorf("got %v, want 21 passed by both together, and 19 refused", got)
	}
	if log := both[1].Read("logs/access.log"); !strings.Contains(log, "429 REJECTED OK") {
		t.Errorf("the log does not tell that the store decided:\n%s", log)
	}
}

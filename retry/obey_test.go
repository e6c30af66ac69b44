package retry_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/httplimit"
	"github.com/limitgate/limitgate/retry"
)

// local hands requests to a handler of this process.
type local struct {
	http.Handler
	served []int
}

func (l *local) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	l.served = append(l.served, w.Code)
	return w.Result(), nil
}

// A client that obeys what httplimit says is admitted by its second attempt, whatever the limit is. (field case 92)
func TestField92ObedientClientIsAdmitted(t *testing.T) {
	for name, a := range map[string]limitgate.Algorithm{
		"req":     limitgate.Req{Rate: limitgate.PerMinute(7), Burst: 2, NoDelay: true},
		"token":   limitgate.Token{Rate: limitgate.PerMinute(13), Capacity: 3},
		"sliding": limitgate.Count{Limit: 5, Window: 10 * time.Second},
		"fixed":   limitgate.Count{Limit: 5, Window: 7 * time.Second, Windowing: limitgate.Fixed},
		"log":     limitgate.Count{Limit: 3, Window: 9 * time.Second, Windowing: limitgate.Log},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := httplimit.New(limiter(t, a), httplimit.Everybody)
				l := &local{Handler: limit.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))}
				tr := transport(t, l, func(c *retry.Config) { c.Policy.Random = func(int64) int64 { return 0 } })
				refused := 0
				for i := range 20 {
					l.served = l.served[:0]
					answer, err := tr.RoundTrip(request(t, "GET", ""))
					if err != nil || answer.StatusCode != 200 || len(l.served) > 2 {
						t.Fatalf("%d: got %v, %v after %v, want 200 by the second attempt", i, answer, err, l.served)
					}
					refused += len(l.served) - 1
				}
				if refused < 3 {
					t.Errorf("only %d requests were refused: the test shows nothing", refused)
				}
			})
		})
	}
}

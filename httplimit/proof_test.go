package httplimit

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
)

var answeredByAB = regexp.MustCompile(`(?m)^(Complete requests|Failed requests|Non-2xx responses): +(\d+)$`)

// ab sends n requests to a server, some at a time, by ApacheBench. It tells how many were not answered with 200.
func ab(t *testing.T, s *httptest.Server, n, at int) (others int) {
	t.Helper()
	// -l: answers may be of different length, which it else takes for a failure.
	out, err := exec.Command(gatewaytest.Need(t, "ab"), "-l", "-n", strconv.Itoa(n), "-c", strconv.Itoa(at), s.URL+"/").CombinedOutput()
	if err != nil {
		t.Fatalf("ab: %v\n%s", err, out)
	}
	got := map[string]int{}
	for _, m := range answeredByAB.FindAllStringSubmatch(string(out), -1) {
		got[m[1]], _ = strconv.Atoi(m[2])
	}
	if got["Complete requests"] != n || got["Failed requests"] != 0 {
		t.Fatalf("ab: got %v, want %d complete and none failed\n%s", got, n, out)
	}
	return got["Non-2xx responses"]
}

// 500 requests at concurrency 100 against a capacity of 100: 100 pass at once, then one a second. The limiter's clock is the test's.
func TestCapacityByAB(t *testing.T) {
	c := newClock()
	m := build(t, Config{
		Limits: []Limit{{Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 100}), Key: Everybody}}, Now: c.now,
	})
	s := httptest.NewServer(m.Wrap(says(200)))
	defer s.Close()
	if refused := ab(t, s, 500, 100); refused != 400 {
		t.Errorf("at once: got %d refused of 500, want 400", refused)
	}
	for i := range 5 {
		c.add(time.Second - 1)
		if refused := ab(t, s, 20, 10); refused != 20 {
			t.Errorf("just before second %d: got %d refused of 20, want all", i+1, refused)
		}
		c.add(1)
		if refused := ab(t, s, 20, 10); refused != 19 {
			t.Errorf("after %d seconds: got %d refused of 20, want 19", i+1, refused)
		}
	}
}

// Twenty failures, as many at once as ab sends, that do not count leave the count exact.
func TestSettlingByAB(t *testing.T) {
	c, l := newClock(), limiter(t, limitgate.Count{Limit: 25, Window: time.Hour})
	m := build(t, Config{Limits: []Limit{{Limiter: l, Key: Everybody, Counts: func(o Outcome) bool { return !Failed(o) }}}, Now: c.now})
	var working, most atomic.Int64
	fails := atomic.Bool{}
	s := httptest.NewServer(m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !fails.Load() {
			return
		}
		n := working.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(300 * time.Millisecond) // until the others have come; no limit reads this clock
		working.Add(-1)
		w.WriteHeader(500)
	})))
	defer s.Close()
	if others := ab(t, s, 3, 1); others != 0 {
		t.Errorf("what works: got %d not answered with 200, want none", others)
	}
	fails.Store(true)
	if others := ab(t, s, 20, 20); others != 20 || most.Load() < 15 {
		t.Errorf("what fails: got %d of 20 not answered with 200, and %d at work at once, want all, and nearly all", others, most.Load())
	}
	t.Logf("%d failures at work at once", most.Load())
	s.Close() // and with it all handlers have ended
	if n := left(l, c); n != 22 {
		t.Errorf("got %d left of 25, want 22", n)
	}
}

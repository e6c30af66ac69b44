package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// rolloutConf is a gateway with an admin socket: what stands in http, and the limits of location /, which answers 404.
func rolloutConf(http, limits string) string {
	return fmt.Sprintf(`events { worker_connections 1024; }
error_log logs/error.log notice;
admin admin.sock;
http {
    log_format canary '$status $limit_count_status $limit_canary';
    access_log logs/access.log canary;
    limit_req_status 429;
    limit_count_status 429;
    limit_count_log_level info;
    limit_req_log_level info;
    log_not_found off;
    %s
    server { listen 127.0.0.1:@8080@; location /backend { %s proxy_pass http://127.0.0.1:@8081@; } location / { %s root nowhere; } }
    server { listen 127.0.0.1:@8081@; access_log off; location / { return 200 ok; } }
}
`, http, limits, limits)
}

// everybody is a limit that refuses all, so that one request tells the side of a key.
const everybody = "limit_count_zone $arg_key zone=one:1m limit=0 window=1h; "

// refusedKeys asks once for each of n keys, and returns those that are refused.
func refusedKeys(t *testing.T, g *gatewaytest.Gateway, n int) map[int]bool {
	t.Helper()
	const clients = 8
	refused := make([]bool, n)
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := c; i < n; i += clients {
				r, err := client.Get(g.URL(8080, fmt.Sprintf("/?key=user-%d", i)))
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body.Close()
				switch r.StatusCode {
				case 429:
					refused[i] = true
				case 404:
				default:
					t.Errorf("key %d: status %d", i, r.StatusCode)
				}
			}
		})
	}
	wg.Wait()
	set := map[int]bool{}
	for i, r := range refused {
		if r {
			set[i] = true
		}
	}
	return set
}

// bounded checks that about a share of n are in a set: within five standard deviations.
func bounded(t *testing.T, what string, set map[int]bool, n int, share float64) {
	t.Helper()
	want, bound := share*float64(n), 5*math.Sqrt(float64(n)*share*(1-share))
	t.Logf("%s: %d of %d keys are enforced, want %.0f ± %.0f", what, len(set), n, want, bound)
	if math.Abs(float64(len(set))-want) > bound {
		t.Errorf("%s: got %d of %d keys, want %.0f ± %.0f", what, len(set), n, want, bound)
	}
}

// missing counts those of a that are not in b.
func missing(a, b map[int]bool) (n int) {
	for i := range a {
		if !b[i] {
			n++
		}
	}
	return n
}

// TestCanaryOverInstances: two instances enforce a limit for the same keys, also after a start anew, and for these and more when the
// share grows.
func TestCanaryOverInstances(t *testing.T) {
	t.Parallel()
	const n = 10_000
	conf := func(share string) string { return rolloutConf(everybody, "limit_count zone=one canary="+share+";") }
	a := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf("5%"))
	first := refusedKeys(t, a, n)
	bounded(t, "5%", first, n, 0.05)
	a.Stop()
	a.Run()
	if again := refusedKeys(t, a, n); missing(first, again)+missing(again, first) != 0 {
		t.Errorf("after a start: %d keys are enforced no more, and %d others are", missing(first, again), missing(again, first))
	}
	gatewaytest.Eventually(t, 5*time.Second, "a log of all requests", func() bool {
		log := a.Read("logs/access.log")
		return strings.Count(log, "429 REJECTED enforced\n") == 2*len(first) && strings.Count(log, "404 REJECTED_DRY_RUN watched\n") == 2*(n-len(first))
	})
	b := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf("5%"))
	if same := refusedKeys(t, b, n); missing(first, same)+missing(same, first) != 0 {
		t.Errorf("the other instance: %d keys are enforced no more, and %d others are", missing(first, same), missing(same, first))
	}
	b.Write("nginx.conf", conf("12.5%"))
	b.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "a reload", func() bool { return strings.Contains(b.ErrorLog(), "gracefully shutting down") })
	const some = 2000
	more := refusedKeys(t, b, some)
	bounded(t, "12.5%", more, some, 0.125)
	for i := range first {
		if i < some && !more[i] {
			t.Errorf("key %d is enforced at 5%% and not at 12.5%%", i)
		}
	}
}

// rolling is what the tests read of limitgate rollout status --json.
type rolling struct {
	Name, Phase, Share, Why string
	Since                   time.Time
	Enforced, Watched       struct{ Requests, Refused uint64 }
}

// rolloutStatus asks the binary.
func rolloutStatus(t *testing.T, g *gatewaytest.Gateway) rolling {
	t.Helper()
	var list []rolling
	out := rolloutCommand(t, g, "status", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 1 {
		t.Fatalf("status: %v: %s", err, out)
	}
	return list[0]
}

func rolloutCommand(t *testing.T, g *gatewaytest.Gateway, args ...string) string {
	t.Helper()
	cmd := exec.Command(g.Binary.Path, append(append([]string{"rollout"}, args...), "--socket", filepath.Join(g.Prefix, "admin.sock"))...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rollout %v: %v: %s", args, err, out)
	}
	return string(out)
}

// traffic asks for one key after the other until the test ends, or until it is stopped.
func traffic(t *testing.T, g *gatewaytest.Gateway, path string) (stop func()) {
	t.Helper()
	done := make(chan struct{})
	var wg sync.WaitGroup
	for c := range 4 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
			defer client.CloseIdleConnections()
			for i := c; ; i += 4 {
				select {
				case <-done:
					return
				default:
				}
				if r, err := client.Get(g.URL(8080, fmt.Sprintf("%s?key=user-%d", path, i%2000))); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { close(done); wg.Wait() })
	t.Cleanup(stop)
	return stop
}

// hook is a webhook that notes the events.
func hook(t *testing.T) (url string, events func() string) {
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e struct{ Rollout, Event, From, To, Instance string }
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || e.Instance == "" {
			t.Errorf("webhook: %v, %+v", err, e)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, e.Rollout+" "+e.Event+" "+e.From+" "+e.To)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(got, "; ")
	}
}

const quickRollout = "interval 400ms; window 200ms; min_requests 20; "

// TestRolloutAdvances: it goes through its steps on its own, and tells the log and a webhook.
func TestRolloutAdvances(t *testing.T) {
	t.Parallel()
	url, events := hook(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), rolloutConf("limit_req_zone $arg_key zone=one:1m rate=1000r/s; "+
		"limit_rollout wide { zones one; steps 5% 25% 100%; stop rejected_share > 50%; "+quickRollout+"webhook "+url+"/secret; }", "limit_req zone=one burst=1000 nodelay;"))
	traffic(t, g, "/")
	gatewaytest.Eventually(t, 20*time.Second, "the end of the rollout", func() bool { return rolloutStatus(t, g).Phase == "complete" })
	want := "wide begun 0% 5%; wide advanced 5% 25%; wide advanced 25% 100%; wide completed 100% 100%"
	gatewaytest.Eventually(t, 5*time.Second, "all events", func() bool { return events() == want })
	log := g.ErrorLog()
	for _, line := range []string{
		`[notice] `, `rollout "wide" begins: enforced for 5% of the keys`, `rollout "wide" advances from 5% to 25% of the keys`,
		`rollout "wide" advances from 25% to 100% of the keys`, `rollout "wide" is complete: enforced for 100% of the keys`,
	} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %s:\n%s", line, log)
		}
	}
	if strings.Contains(log, "secret") {
		t.Error("the log tells the webhook's address")
	}
}

// TestRolloutGoesBack: each kind of condition puts everything into dry run, where enforced keys are worse off; and an outage of the
// backend, that all keys have, does not.
func TestRolloutGoesBack(t *testing.T) {
	const zone = "limit_req_zone $arg_key zone=one:1m rate=1r/s; "
	for name, c := range map[string]struct{ http, stop, limits, want string }{
		"refusals": {everybody, "rejected_share > 10%", "limit_count zone=one;", "rejected_share is 100% of "},
		"delays":   {zone, "p99 > 50ms", "limit_req zone=one burst=5;", "p99 is "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, events := hook(t)
			g := gatewaytest.Start(t, gatewaytest.Limitgate(t), rolloutConf(c.http+
				"limit_rollout wide { zones one; steps 25% 100%; interval 1h; window 1s; min_requests 20; stop "+c.stop+"; webhook "+url+"; }", c.limits))
			traffic(t, g, "/")
			gatewaytest.Eventually(t, 20*time.Second, "a stop", func() bool { return rolloutStatus(t, g).Phase == "aborted" })
			s := rolloutStatus(t, g)
			if s.Share != "0%" || !strings.HasPrefix(s.Why, c.want) {
				t.Errorf("got %+v, want 0%% because %s", s, c.want)
			}
			t.Log(s.Why)
			if !strings.Contains(g.ErrorLog(), `[error] `) || !strings.Contains(g.ErrorLog(), `rollout "wide" goes back to dry run from 25% of the keys: `+s.Why) {
				t.Errorf("the log does not tell:\n%s", g.ErrorLog())
			}
			gatewaytest.Eventually(t, 5*time.Second, "the event", func() bool { return strings.Contains(events(), "wide stopped 25% 0%") })
			// From now on nobody is refused, and nobody waits.
			before := strings.Count(g.Read("logs/access.log"), "429 ")
			time.Sleep(100 * time.Millisecond) // requests that had begun
			first := strings.Count(g.Read("logs/access.log"), "429 ")
			gatewaytest.Eventually(t, 5*time.Second, "more requests", func() bool {
				return rolloutStatus(t, g).Watched.Requests > 100
			})
			if last := strings.Count(g.Read("logs/access.log"), "429 "); last != first {
				t.Errorf("%d refusals when it stopped, %d then, and %d later", before, first, last)
			}
		})
	}
}

// TestRolloutOutlivesOutages: a backend that answers nobody is no reason to go back; one that fails the enforced keys alone is.
func TestRolloutOutlivesOutages(t *testing.T) {
	t.Parallel()
	var mode atomic.Value
	mode.Store("good")
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m := mode.Load().(string)
		if m == "out" || m == "partly" && r.Header.Get("X-Side") == "enforced" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer backend.Close()
	conf := rolloutConf("limit_req_zone $arg_key zone=one:1m rate=1000r/s; "+
		"limit_rollout wide { zones one; steps 25% 100%; interval 1h; window 500ms; min_requests 20; stop 5xx_share > 2%; }",
		"limit_req zone=one burst=1000 nodelay; proxy_set_header X-Side $limit_canary;")
	conf = strings.ReplaceAll(conf, "proxy_pass http://127.0.0.1:@8081@;", "proxy_pass "+backend.URL+";")
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	traffic(t, g, "/backend")
	gatewaytest.Eventually(t, 10*time.Second, "traffic", func() bool { s := rolloutStatus(t, g); return s.Enforced.Requests > 100 && s.Watched.Requests > 100 })
	mode.Store("out")
	time.Sleep(1500 * time.Millisecond) // three windows: nothing is to happen
	if s := rolloutStatus(t, g); s.Phase != "running" || s.Share != "25%" {
		t.Errorf("an outage of the backend: got %+v", s)
	}
	mode.Store("partly")
	gatewaytest.Eventually(t, 10*time.Second, "a stop", func() bool { return rolloutStatus(t, g).Phase == "aborted" })
	if s := rolloutStatus(t, g); !strings.HasPrefix(s.Why, "5xx_share is ") || !strings.Contains(s.Why, "keys that are only watched") {
		t.Errorf("got %s", s.Why)
	} else {
		t.Log(s.Why)
	}
}

// TestRolloutOutlivesTheProcess: killed at once, it goes on where it was; a reload with other steps takes the one below; a damaged file
// is kept and enforces nothing.
func TestRolloutOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	conf := func(steps string) string {
		return rolloutConf(everybody+"limit_rollout wide { zones one; steps "+steps+"; }", "limit_count zone=one;")
	}
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf("1% 25% 100%"))
	rolloutCommand(t, g, "advance", "wide")
	rolloutCommand(t, g, "hold", "wide")
	before := rolloutStatus(t, g)
	side := refusedKeys(t, g, 500)
	kill := func() {
		g.Signal(syscall.SIGKILL)
		g.Stop()
		g.Run()
		// It listens before it has an admin socket.
		gatewaytest.Eventually(t, 5*time.Second, "an admin socket", func() bool {
			c, err := net.Dial("unix", filepath.Join(g.Prefix, "admin.sock"))
			if err == nil {
				c.Close()
			}
			return err == nil
		})
	}
	kill()
	after := rolloutStatus(t, g)
	if after.Phase != "held" || after.Share != "25%" || !after.Since.Equal(before.Since) || after.Why != "by an operator" {
		t.Errorf("after kill -9: got %+v, want %+v", after, before)
	}
	if again := refusedKeys(t, g, 500); missing(side, again)+missing(again, side) != 0 || len(again) == 0 {
		t.Errorf("after kill -9: %d keys are enforced no more, and %d others are", missing(side, again), missing(again, side))
	}
	g.Write("nginx.conf", conf("1% 10% 50% 100%"))
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "the step below", func() bool { return rolloutStatus(t, g).Share == "10%" })
	if s := rolloutStatus(t, g); s.Phase != "held" {
		t.Errorf("other steps: got %+v", s)
	}
	if fewer := refusedKeys(t, g, 500); missing(fewer, side) != 0 {
		t.Errorf("other steps: %d keys are enforced that were not", missing(fewer, side))
	}
	kept := filepath.Join(g.Prefix, "nginx.pid.rollouts")
	if err := os.WriteFile(kept, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	kill()
	s := rolloutStatus(t, g)
	if s.Phase != "aborted" || s.Share != "0%" || len(refusedKeys(t, g, 500)) != 0 {
		t.Errorf("a damaged file: got %+v", s)
	}
	if g.Read("nginx.pid.rollouts.bad") != "half a fi" || !strings.Contains(g.ErrorLog(), "rollouts stay in dry run until limitgate rollout advance, the file is kept as "+kept+".bad") {
		t.Errorf("a damaged file: kept %q, log\n%s", g.Read("nginx.pid.rollouts.bad"), g.ErrorLog())
	}
	rolloutCommand(t, g, "advance")
	if s := rolloutStatus(t, g); s.Phase != "running" || s.Share != "1%" {
		t.Errorf("advance: got %+v", s)
	}
	if out := rolloutCommand(t, g, "status"); !strings.Contains(out, "wide: running, enforced for 1% of the keys since ") || !strings.Contains(out, "steps [1%] 10% 50% 100%, 10m each") {
		t.Errorf("status: got %s", out)
	}
}

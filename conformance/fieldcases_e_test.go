package conformance

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/admin"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// Of the cases of stores that instances share, those of a store that fails: 85 to 87; 89 is in instances_test.go, the others are
// beside package rediszone.

// outage is a gateway with a limit for each fallback, and an admin socket.
func outage(t *testing.T, store string) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.Limitgate(t), `events {}
admin logs/admin.sock;
error_log logs/error.log notice;
http {
    log_format store '$status $limit_req_status $limit_store_status $uri';
    access_log logs/access.log store;
    limit_store main `+store+`;
    limit_req_zone $arg_key zone=one:1m rate=6r/h store=main;
    limit_req_status 429;
    server {
        listen 127.0.0.1:@8080@;
        root nowhere;
        add_header X-Store $limit_store_status always;
        location /open { limit_req zone=one burst=1 nodelay fail=open; }
        location /closed { limit_req zone=one burst=1 nodelay fail=closed; }
        location /local { limit_req zone=one burst=1 nodelay fail=local; }
    }
}
`)
}

// paced asks a number of times, at a pace, and tells the statuses, the p99, and how late this machine wakes who slept meanwhile.
func paced(t *testing.T, url string, n int, every time.Duration) (got map[int]int, p, stall time.Duration) {
	t.Helper()
	got = map[int]int{}
	var took, late []time.Duration
	stop, done := make(chan struct{}), make(chan struct{})
	// owned by this call, ends with it
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			begin := time.Now()
			time.Sleep(time.Millisecond)
			late = append(late, time.Since(begin)-time.Millisecond)
		}
	}()
	begin := time.Now()
	for i := range n {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * every)))
		at := time.Now()
		got[status(t, http.DefaultClient, url)]++
		took = append(took, time.Since(at))
	}
	close(stop)
	<-done
	return got, p99(took), p99(late)
}

// TestField85: a store that is stopped and answers nothing costs a decision the deadline at most, nothing once it is spared, and the
// fallback decides.
func TestField85(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := outage(t, server.URL())
	known(t, server, 1)
	if got := statuses(t, g, "/local?key=k", 3); got[404] != 2 {
		t.Fatalf("got %v, want two passed", got)
	}
	server.Pause()
	got, p, stall := paced(t, g.URL(8080, "/local?key=k"), 20, 10*time.Millisecond)
	if most := 55*time.Millisecond + 3*stall; got[429] != 20 || p > most {
		t.Errorf("got %v with a p99 of %v, want refusals only, in %v (this machine wakes %v late)", got, p, most, stall)
	}
	got, p, stall = paced(t, g.URL(8080, "/local?key=k"), 100, 10*time.Millisecond)
	if most := 5*time.Millisecond + 3*stall; got[429] != 100 || p > most { // with HTTP around it
		t.Errorf("got %v with a p99 of %v once the store is spared, want refusals only, in %v", got, p, most)
	}
	server.Resume()
}

// TestField86: a store that is killed: an open limit lets pass and says so, a closed one answers 503, and nothing is 500.
func TestField86(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	g := outage(t, server.URL())
	known(t, server, 1)
	server.Kill()
	for path, want := range map[string]struct {
		status int
		store  string
	}{"/open": {404, "OPEN"}, "/closed": {503, "CLOSED"}, "/local": {404, "LOCAL"}} {
		for range 5 {
			r, err := http.Get(g.URL(8080, path+"?key="+path))
			if err != nil {
				t.Fatal(err)
			}
			r.Body.Close()
			if path == "/local" && r.StatusCode == 429 {
				continue // the share is used up
			}
			if r.StatusCode != want.status || r.Header.Get("X-Store") != want.store {
				t.Errorf("%s: got %d, X-Store %q, want %d, %q", path, r.StatusCode, r.Header.Get("X-Store"), want.status, want.store)
			}
			if r.StatusCode == 503 && r.Header.Get("Retry-After") != "" {
				t.Errorf("%s: got Retry-After %q, want none: nobody knows", path, r.Header.Get("Retry-After"))
			}
		}
	}
}

// TestField87: a store that is slower than the deadline: what is decided without it is counted and told, and no failure looks like a
// refusal by the limit.
func TestField87(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	g := outage(t, proxy.URL()+" timeout=20ms")
	known(t, server, 1)
	proxy.Delay.Store(int64(15 * time.Millisecond)) // each way
	open, closed := statuses(t, g, "/open?key=o", 20), statuses(t, g, "/closed?key=c", 20)
	if open[404] != 20 || closed[503] != 20 {
		t.Errorf("got %v and %v, want 404 where the limit is open, 503 where it is closed", open, closed)
	}
	var p admin.Peers
	if err := json.Unmarshal([]byte(must(t, g, "peers", "--json")), &p); err != nil || len(p.Stores) != 1 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if s := p.Stores[0]; s.Open != 20 || s.Closed != 20 || s.Timeouts == 0 || s.Phase != "down" {
		t.Errorf("got %+v, want 20 decided open, 20 closed, timeouts, and a store that is down", s)
	}
	log := g.ErrorLog()
	if n := strings.Count(log, "fail=open decided: no answer in 20ms"); n == 0 || n > 5 {
		t.Errorf("got %d lines that tell of open decisions, want one a second", n)
	}
	if strings.Contains(log, "limiting requests") {
		t.Errorf("an outage is told as a refusal by the limit:\n%s", log)
	}
	proxy.Delay.Store(0)
	gatewaytest.Eventually(t, 10*time.Second, "that the store decides again", func() bool {
		return statuses(t, g, "/closed?key=again", 1)[503] == 0
	})
}

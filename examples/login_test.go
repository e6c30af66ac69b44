package examples

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const (
	loginClients = 20
	loginSeconds = 10
	loginRate    = 5  // a second, per network
	loginBurst   = 10 // beyond the first
)

// wrkScript plays a balancer: twenty clients in turn, each its own address, each try on another account.
const wrkScript = `
local n = 0
request = function()
	n = n + 1
	return wrk.format("GET", "/login", {
		["Host"] = "login.example.com",
		["X-Forwarded-For"] = "198.51.100.1, 203.0.113." .. (n %% %d),
		["X-Account"] = "user" .. n,
	})
end
`

// Login protection under load: over all client networks, what reaches the application is 1 + burst + rate * time. Each network
// alone gets the whole part of that, which is why a run is not shorter: one request in 61 is within the 2 %.
func TestLoginAdmitsWhatItSays(t *testing.T) {
	wrk := gatewaytest.Need(t, "wrk")
	backend, hits := startBackend(t)
	conf := strings.ReplaceAll(read(t, "login.conf", "8080"), "127.0.0.1:9000", backend)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), strings.Replace(conf, "pid        logs/limitgate.pid;", "", 1))

	script := filepath.Join(t.TempDir(), "login.lua")
	if err := os.WriteFile(script, fmt.Appendf(nil, wrkScript, loginClients), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(wrk, "-t1", "-c10", fmt.Sprintf("-d%ds", loginSeconds), "-s", script, "http://"+g.Addr(8080)).CombinedOutput()
	if err != nil {
		t.Fatalf("wrk: %v\n%s", err, out)
	}

	admitted, want := judge(t, g.Read("logs/access.log"))
	t.Logf("admitted %d, formula %.1f, backend saw %d\n%s", admitted, want, hits.Load(), out)
	if dev := math.Abs(float64(admitted)/want - 1); dev > 0.02 {
		t.Errorf("admitted %d, want %.1f within 2 %%, got %.1f %%", admitted, want, 100*dev)
	}
	if got := hits.Load(); got != int64(admitted) {
		t.Errorf("the backend saw %d requests, the log says %d passed", got, admitted)
	}
	if log := g.ErrorLog(); !strings.Contains(log, `by zone "network", client: 203.0.113.`) {
		t.Errorf("the error log names no refusal of a client network:\n%.2000s", log)
	}
}

// judge reads the access log: how many passed, and 1 + burst + rate * time summed over the client networks, where time is
// what lies between a network's first and last try. No network may have got more, or a whole request less.
func judge(t *testing.T, log string) (admitted int, want float64) {
	t.Helper()
	first, last, passed := map[string]float64{}, map[string]float64{}, map[string]int{}
	lines := 0
	for s := bufio.NewScanner(strings.NewReader(log)); s.Scan(); lines++ {
		f := strings.Fields(s.Text())
		if len(f) != 11 {
			t.Fatalf("log line of %d fields: %s", len(f), s.Text())
		}
		var msec, took float64 // it was decided when it came: the time the application took is not the limit's
		fmt.Sscanf(f[3]+" "+f[9], "%g rt=%g", &msec, &took)
		msec -= took
		client := f[0]
		if first[client] == 0 || msec < first[client] {
			first[client] = msec
		}
		last[client] = max(last[client], msec)
		switch status, limit := f[7], f[8]; {
		case status == "200" && limit == "limit=PASSED":
			admitted++
			passed[client]++
		case status == "429" && limit == "limit=REJECTED":
		default:
			t.Fatalf("unexpected line: %s", s.Text())
		}
	}
	if len(first) != loginClients || lines < 10*loginClients*loginRate {
		t.Fatalf("log has %d lines of %d clients: not the load that was meant", lines, len(first))
	}
	const stamp = 0.02 // the log's times are whole milliseconds
	for c := range first {
		own := 1 + loginBurst + loginRate*(last[c]-first[c])
		if got := float64(passed[c]); got > own+stamp || got < own-1-stamp {
			t.Errorf("%s: %v passed, 1 + burst + rate * time is %.2f", c, got, own)
		}
		want += own
	}
	return admitted, want
}

// startBackend runs an application that takes every login.
func startBackend(t *testing.T) (addr string, hits *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hits = new(atomic.Int64)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		fmt.Fprintln(w, "welcome")
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String(), hits
}

// One account tried from many networks is held by the account's own limit; a forged address from outside changes nothing.
func TestLoginCountsTheAccount(t *testing.T) {
	backend, _ := startBackend(t)
	conf := strings.ReplaceAll(read(t, "login.conf", "8080"), "127.0.0.1:9000", backend)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), strings.Replace(conf, "pid        logs/limitgate.pid;", "", 1))
	passed := 0
	for i := range 20 {
		req, _ := http.NewRequest("GET", g.URL(8080, "/login"), nil)
		req.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i))
		req.Header.Set("X-Account", "alice")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 200 {
			passed++
		} else if resp.Header.Get("Retry-After") == "" || resp.Header.Get("RateLimit") == "" {
			t.Errorf("refusal without Retry-After or RateLimit: %v", resp.Header)
		}
	}
	// 1 + burst of the account's 30r/m; 20 requests take far less than its two seconds.
	if passed != 6 {
		t.Errorf("got %d passed, want 6", passed)
	}
}

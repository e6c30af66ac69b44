package conformance

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// operated is an instance with an admin socket, a zone in a store and one in its memory.
func operated(t *testing.T, store string) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
admin logs/admin.sock;
error_log logs/error.log notice;
http {
    limit_store main %s;
    limit_req_zone $arg_key zone=one:1m rate=6r/h store=main;
    limit_req_zone $binary_remote_addr zone=near:1m rate=6r/h;
    limit_count_zone $arg_key zone=count:1m limit=2 window=1h store=main;
    limit_req_status 429;
    limit_count_status 429;
    server {
        listen 127.0.0.1:@8080@;
        root nowhere;
        location / { limit_req zone=one burst=1 nodelay; }
        location /near { limit_req zone=near burst=1 nodelay; }
        location /count { limit_count zone=count; }
    }
}
`, store))
}

// command runs a command of limitgate against an instance.
func command(t *testing.T, g *gatewaytest.Gateway, args ...string) (out string, good bool) {
	t.Helper()
	cmd := exec.Command(g.Binary.Path, append(args, "--socket", filepath.Join(g.Prefix, "logs/admin.sock"))...)
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}

func must(t *testing.T, g *gatewaytest.Gateway, args ...string) string {
	t.Helper()
	out, good := command(t, g, args...)
	if !good {
		t.Fatalf("%v: %s", args, out)
	}
	return out
}

// TestKeys: what an operator sets for a key through one instance holds in all of them within a second, and after a restart.
func TestKeys(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := operated(t, server.URL()), operated(t, server.URL())
	passed := func(g *gatewaytest.Gateway, path string, n int) int { return statuses(t, g, path, n)[404] }
	if got := passed(a, "/?key=k", 4); got != 2 {
		t.Fatalf("got %d passed, want 2", got)
	}
	if out := must(t, a, "key", "show", "one", "k"); !strings.Contains(out, "in store main") || !strings.Contains(out, "rate=6r/h burst=1; the next request is REJECTED") {
		t.Errorf("key show: got\n%s", out)
	}
	must(t, b, "key", "reset", "one", "k")
	if got := passed(a, "/?key=k", 4); got != 2 {
		t.Errorf("got %d passed after a reset through the other instance, want 2", got)
	}
	must(t, a, "key", "reset", "one", "k")
	must(t, a, "key", "set", "one", "k", "burst=7")
	begin := time.Now()
	gatewaytest.Eventually(t, 5*time.Second, "the numbers in the other instance", func() bool {
		return strings.Contains(must(t, b, "key", "show", "one", "k"), "burst=7;")
	})
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the numbers took %v to reach the other instance, want a second at most", took)
	}
	if got := passed(b, "/?key=k", 10); got != 8 {
		t.Errorf("got %d passed with burst=7, want 8", got)
	}
	if got := passed(b, "/?key=other", 10); got != 2 {
		t.Errorf("got %d of another key passed, want 2", got)
	}
	must(t, a, "key", "set", "near", "127.0.0.1", "burst=4")
	must(t, a, "key", "set", "count", "k", "limit=5", "ttl=1h")
	a.Stop()
	a.Run()
	if got := passed(a, "/near", 10); got != 5 {
		t.Errorf("got %d passed by a zone in memory after a restart, want 5", got)
	}
	gatewaytest.Eventually(t, 5*time.Second, "the numbers of a zone in a store after a restart", func() bool {
		return strings.Contains(must(t, a, "key", "show", "count", "k"), "limit=5")
	})
	if got := passed(a, "/count?key=k", 10); got != 5 {
		t.Errorf("got %d passed by a zone in a store after a restart, want 5", got)
	}
	must(t, a, "key", "set", "near", "127.0.0.1")
	if out := must(t, a, "key", "show", "near", "127.0.0.1"); strings.Contains(out, "set for this key") || !strings.Contains(out, "burst=1;") {
		t.Errorf("got numbers that were taken back:\n%s", out)
	}
	for _, bad := range [][]string{
		{"key", "show", "nowhere", "k"}, {"key", "show", "near", "not-an-address"}, {"key", "set", "one", "k", "limit=5"},
		{"key", "set", "one", "k", "rate=fast"}, {"key", "set", "one", "k", "ttl=5m"}, {"key", "set", "one", "k", "burts=1"},
	} {
		if out, good := command(t, a, bad...); good {
			t.Errorf("%v: got %s, want a refusal", bad, out)
		}
	}
	if log := a.ErrorLog(); !strings.Contains(log, `admin: other numbers are set for a key of zone "near"`) || strings.Contains(log, "not-an-address") {
		t.Errorf("the error log does not tell what an operator did, or tells a key:\n%s", log)
	}
}

// TestPeers: instances see each other, and who is gone is gone soon.
func TestPeers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := operated(t, server.URL()), operated(t, server.URL())
	count := func(n int) {
		t.Helper()
		gatewaytest.Eventually(t, 10*time.Second, fmt.Sprintf("%d instances", n), func() bool {
			out := must(t, a, "peers")
			return strings.Contains(out, fmt.Sprintf("main %s: up, %d instances", server.URL(), n)) && strings.Count(out, "(this one)") == 1
		})
	}
	count(2)
	begin := time.Now()
	b.Stop()
	count(1)
	if took := time.Since(begin); took > 2*time.Second { // an instance that is killed counts for three seconds
		t.Errorf("an instance that was stopped counted for %v, want a second or so", took)
	}
	if out := must(t, a, "peers", "--json"); !strings.Contains(out, `"phase": "up"`) {
		t.Errorf("peers --json: got\n%s", out)
	}
	server.Pause()
	gatewaytest.Eventually(t, 10*time.Second, "that the store is down", func() bool { return strings.Contains(must(t, a, "peers"), ": down, 1 instances") })
	server.Resume()
}

// TestStoreCheck tells from the configuration alone whether a store will do, and never a password.
func TestStoreCheck(t *testing.T) {
	server := redistest.Start(t, "--requirepass", "hunter2")
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
http {
    limit_store main %s password_file=secret;
    limit_count_zone $arg_key zone=count:1m limit=2 window=1m store=main;
    server { listen 127.0.0.1:@8080@; root nowhere; location / { limit_count zone=count fail=open; } }
}
`, server.URL()))
	check := func() (string, bool) {
		t.Helper()
		b, err := exec.Command(g.Binary.Path, "store", "check", filepath.Join(g.Prefix, "nginx.conf")).CombinedOutput()
		if strings.Contains(string(b), "hunter2") || strings.Contains(string(b), "wrong-word") {
			t.Errorf("the password is told:\n%s", b)
		}
		return string(b), err == nil
	}
	if out, good := check(); good || !strings.Contains(out, "reading the password of store \"main\"") {
		t.Errorf("no file: got %s", out)
	}
	g.Write("secret", "wrong-word\n")
	if out, good := check(); good || !strings.Contains(out, "BAD  main: can't be reached") {
		t.Errorf("a wrong password: got %s", out)
	}
	g.Write("secret", "hunter2\n")
	if out, good := check(); !good || !strings.Contains(out, "scripts can be run") || !strings.Contains(out, "latency") || !strings.Contains(out, "clock") {
		t.Errorf("a good store: got %s", out)
	}
	g.Run()
	if got := status(t, http.DefaultClient, g.URL(8080, "/?key=k")); got != 404 {
		t.Errorf("got %d, want 404", got)
	}
	gatewaytest.Eventually(t, 5*time.Second, "a decision by the store", func() bool { return statuses(t, g, "/?key=k", 1)[503] == 1 })
	// -T shows the file, and no secret.
	b, err := exec.Command(g.Binary.Path, "-T", "-p", g.Prefix+"/", "-c", "nginx.conf").CombinedOutput()
	if err != nil || strings.Contains(string(b), "hunter2") || strings.Contains(g.ErrorLog(), "hunter2") {
		t.Errorf("-T: %v\n%s", err, b)
	}
}

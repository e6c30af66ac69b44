package conformance

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// How a gateway gets into its store, and what a reload does that changes it, or fails to.

// TestStoreOverTLS: rediss:// goes by the authority in ca=; by no other, and by no other name.
func TestStoreOverTLS(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), gatewaytest.FreePort(t)
	certificate, key := gatewaytest.Certificate(t, "ecdsa", "localhost")
	other, _ := gatewaytest.Certificate(t, "ecdsa", "localhost")
	for name, text := range map[string]string{"cert.pem": certificate, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	redistest.Start(t, "--requirepass", "hunter2", "--tls-port", port, "--tls-cert-file", filepath.Join(dir, "cert.pem"), "--tls-key-file", filepath.Join(dir, "key.pem"),
		"--tls-auth-clients", "no", "--tls-ca-cert-file", filepath.Join(dir, "cert.pem"))
	for _, c := range []struct {
		name, store string
		good        bool
	}{
		{"its authority", "rediss://localhost:" + port + " password_file=secret ca=ca.pem", true},
		{"borrowing", "rediss://localhost:" + port + "/1 password_file=secret ca=ca.pem mode=lease", true},
		{"another authority", "rediss://localhost:" + port + " password_file=secret ca=other.pem", false},
		{"the system's", "rediss://localhost:" + port + " password_file=secret", false},
		{"another name", "rediss://127.0.0.1:" + port + " password_file=secret ca=ca.pem", false},
		{"no TLS", "redis://localhost:" + port + " password_file=secret", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), strings.NewReplacer("return_is_no_limit;", "root nowhere;", "location /held { proxy_pass http://127.0.0.1:@8081@; } ", "").
				Replace(shared(c.store, sharedZone, "limit_req zone=one burst=9 nodelay fail=closed;")))
			g.Write("secret", "hunter2\n")
			g.Write("ca.pem", certificate)
			g.Write("other.pem", other)
			g.Run()
			passes := func() bool { return status(t, http.DefaultClient, g.URL(8080, "/?key=k")) == 404 }
			if c.good {
				gatewaytest.Eventually(t, 10*time.Second, "a decision by the store", passes)
				return
			}
			gatewaytest.Eventually(t, 10*time.Second, "that it says why not", func() bool {
				return strings.Contains(g.ErrorLog(), `limit_store "main": is not asked any more: signing the roster of store "main"`)
			})
			if passes() {
				t.Error("got a request passed by a store that is not to be believed")
			}
			if strings.Contains(g.ErrorLog(), "hunter2") {
				t.Errorf("the password is told:\n%s", g.ErrorLog())
			}
		})
	}
}

// listed is the user of the access lists that docs/shared-limits.md gives.
func listed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/shared-limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(string(text), "ACL SETUSER limitgate on >PASSWORD ")
	line, _, _ = strings.Cut(line, "\n")
	if !found {
		t.Fatal("docs/shared-limits.md gives no user")
	}
	return append([]string{"ACL", "SETUSER", "limitgate", "on", ">hunter2"}, strings.Fields(line)...)
}

// TestStoreOfAListedUser: what docs/shared-limits.md says a user needs is enough for all, and without what only the roster and the numbers
// of keys need, the limits hold all the same, and it is told.
func TestStoreOfAListedUser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(listed(t)...)
	g := gatewaytest.Prepare(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
admin logs/admin.sock;
error_log logs/error.log notice;
http {
    limit_store main %s user=limitgate password_file=secret;
    limit_req_zone $arg_key zone=one:1m rate=6r/h store=main;
    limit_conn_zone $arg_key zone=conn:1m store=main;
    limit_count_zone $arg_key zone=log:1m limit=2 window=1h algorithm=log store=main;
    server {
        listen 127.0.0.1:@8080@;
        root nowhere;
        location / { limit_req zone=one burst=1 nodelay fail=closed; limit_conn conn 5 fail=closed; limit_count zone=log fail=closed; }
    }
}
`, server.URL()))
	g.Write("secret", "hunter2\n")
	g.Run()
	gatewaytest.Eventually(t, 10*time.Second, "that the store decides", func() bool { return statuses(t, g, "/?key=a", 1)[404] == 1 })
	must(t, g, "key", "set", "one", "k", "burst=0")
	gatewaytest.Eventually(t, 10*time.Second, "what was set", func() bool { return strings.Contains(must(t, g, "key", "show", "one", "k"), "burst=0;") })
	must(t, g, "key", "reset", "one", "k")
	for key, want := range map[string]string{"\x1b[2J": `\x1b[2J of zone one`, "ü{1} %": "ü{1} % of zone one"} {
		if out := must(t, g, "key", "show", "one", key); !strings.HasPrefix(out, want) {
			t.Errorf("got %q, want %q first", out, want)
		}
	}
	if out := must(t, g, "peers"); !strings.Contains(out, ": up, 1 instances") {
		t.Errorf("got %s, want one instance of a store that is up", out)
	}
	check := func() (string, bool) {
		b, err := exec.Command(g.Binary.Path, "store", "check", filepath.Join(g.Prefix, "nginx.conf")).CombinedOutput()
		return string(b), err == nil
	}
	server.Do("ACL", "SETUSER", "limitgate", "+info", "+scan")
	if out, good := check(); !good || !strings.Contains(out, "scripts can be run") {
		t.Errorf("got %s", out)
	}
	g.Stop()
	server.Do("ACL", "SETUSER", "limitgate", "-zrange", "-hgetall")
	g.Run()
	gatewaytest.Eventually(t, 10*time.Second, "that it says so", func() bool {
		statuses(t, g, "/?key=c", 1) // the numbers are read from a store that answers something
		return strings.Contains(g.ErrorLog(), `limit_store "main": instances do not know each other:`) && strings.Contains(g.ErrorLog(), `limit_store "main": numbers that are set for keys can't be read:`)
	})
	if got := statuses(t, g, "/?key=b", 2); got[404] != 2 {
		t.Errorf("got %v, want both passed by the store", got)
	}
	if out := must(t, g, "peers"); !strings.Contains(out, ": up, 0 instances") {
		t.Errorf("got %s, want a store that is up", out)
	}
	if out, good := check(); good || !strings.Contains(out, "scripts can't do what decisions need: ZRANGE") {
		t.Errorf("got %s, want what is not allowed", out)
	}
}

// reconfigure reloads g with another configuration, and waits for a line that tells what came of it.
func reconfigure(t *testing.T, g *gatewaytest.Gateway, line string, change ...string) {
	t.Helper()
	conf := g.Read("nginx.conf")
	if next := strings.NewReplacer(change...).Replace(conf); next == conf {
		t.Fatalf("%q changes nothing in\n%s", change, conf)
	} else {
		g.Write("nginx.conf", next)
	}
	n := strings.Count(g.ErrorLog(), line)
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 10*time.Second, line, func() bool { return strings.Count(g.ErrorLog(), line) > n })
}

// TestKeysOutliveARefusedReload: what operators set for keys holds on after a reload that names another store and comes to nothing.
func TestKeysOutliveARefusedReload(t *testing.T) {
	t.Parallel()
	server, other := redistest.Start(t), redistest.Start(t)
	g := operated(t, server.URL())
	must(t, g, "key", "set", "one", "k", "burst=7")
	gatewaytest.Eventually(t, 5*time.Second, "what was set", func() bool { return strings.Contains(must(t, g, "key", "show", "one", "k"), "burst=7;") })
	reconfigure(t, g, "still could not bind()", server.URL(), other.URL(), "root nowhere;", "root nowhere; listen "+other.Addr()+";")
	if out := must(t, g, "key", "show", "one", "k"); !strings.Contains(out, "burst=7;") {
		t.Errorf("got %s, want burst=7 still", out)
	}
	// One that succeeds has the numbers of its own store, and those only.
	reconfigure(t, g, "exited with code 0", " listen "+other.Addr()+";", "")
	gatewaytest.Eventually(t, 5*time.Second, "the numbers of the other store", func() bool { return strings.Contains(must(t, g, "key", "show", "one", "k"), "burst=1;") })
}

// TestPeersOutliveAReload: where the store is out and a reload changes its directive, an instance still gives its share only.
func TestPeersOutliveAReload(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	limit := "limit_req zone=one burst=9 nodelay fail=local;"
	a := instance(t, server.URL()+" timeout=40ms", sharedZone, limit)
	instance(t, server.URL(), sharedZone, limit)
	known(t, server, 2)
	server.Kill()
	reconfigure(t, a, "exited with code 0", "timeout=40ms", "timeout=45ms")
	if got := statuses(t, a, "/?key=k", 12); got[404] != 5 {
		t.Errorf("got %v, want half of ten passed", got)
	}
}

// TestPeersOfTheDead: an instance that was killed counts no more eight seconds after it last signed.
func TestPeersOfTheDead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a, b := operated(t, server.URL()), operated(t, server.URL())
	count := func(n int) func() bool {
		return func() bool { return strings.Contains(must(t, a, "peers"), fmt.Sprintf(": up, %d instances", n)) }
	}
	gatewaytest.Eventually(t, 10*time.Second, "two instances", count(2))
	b.Signal(syscall.SIGKILL)
	gatewaytest.Eventually(t, 10*time.Second, "one instance", count(1))
}

// TestPlacesAreNotReset: key reset says why it forgets no places.
func TestPlacesAreNotReset(t *testing.T) {
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), `events {}
admin logs/admin.sock;
error_log logs/error.log notice;
http {
    limit_conn_zone $arg_key zone=conn:1m;
    server { listen 127.0.0.1:@8080@; root nowhere; location / { limit_conn conn 5; } }
}
`)
	if out, good := command(t, g, "key", "reset", "conn", "k"); good || !strings.Contains(out, "limit_conn at ") || !strings.Contains(out, "has nothing to forget: its places are held by requests") {
		t.Errorf("got %s", out)
	}
}

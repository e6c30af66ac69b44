package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

const reloadConf = `
error_log logs/error.log notice;
events {}
http {
	access_log off;
	limit_req_zone $binary_remote_addr zone=r:%[3]s rate=%[2]s;
	limit_conn_zone $binary_remote_addr zone=c:%[3]s;
	limit_req_status 429;
	limit_conn_status 429;
	server {
		listen 127.0.0.1:@8080@;
		add_header X-Version %[1]s always;
		location /free { proxy_pass http://%[4]s/ok; }
		location /req { limit_req zone=r burst=3 nodelay; proxy_pass http://%[4]s/ok; }
		location /conn { limit_conn c 2; proxy_pass http://%[4]s/ok; }
		location /hold { limit_conn c 2; proxy_pass http://%[4]s/hang; }
	}
}`

func version(t *testing.T, g *gatewaytest.Gateway) string {
	t.Helper()
	resp, err := client.Get(g.URL(8080, "/free"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("X-Version")
}

func reload(t *testing.T, g *gatewaytest.Gateway, conf, v string) {
	t.Helper()
	g.Write("nginx.conf", conf)
	g.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "version "+v+" serves", func() bool { return version(t, g) == v })
}

// A reload forgets neither debt nor held places, also when the zone's rate or size changes.
func TestReloadKeepsDebtAndPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, rate, size string }{
		{"nothing changes", "1r/m", "1m"},
		{"another rate", "2r/m", "1m"},
		{"a larger zone", "1r/m", "4m"},
		{"a smaller zone", "1r/m", "64k"},
		{"rate and size", "2r/m", "2m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := startBackend(t)
			g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(reloadConf, "1", "1r/m", "1m", b.addr))
			if answers := atOnce(t, g.Addr(8080), "/req", 6); count(answers, 200) != 4 {
				t.Fatalf("before the reload: got %d passed, want 1 + burst = 4", count(answers, 200))
			}
			held := dial(t, g.Addr(8080), "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
			gatewaytest.Eventually(t, time.Second, "the held request at the backend", func() bool { return b.active.Load() == 1 })

			reload(t, g, fmt.Sprintf(reloadConf, "2", c.rate, c.size, b.addr), "2")

			if a := get(g.URL(8080, "/req")); a.status != 429 {
				t.Errorf("after the reload the bucket is still full: got %d, want 429", a.status)
			}
			second := dial(t, g.Addr(8080), "GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
			gatewaytest.Eventually(t, time.Second, "a second held request at the backend", func() bool { return b.active.Load() == 2 })
			if a := get(g.URL(8080, "/conn")); a.status != 429 {
				t.Errorf("a third beside one place of the old configuration and one of the new: got %d, want 429", a.status)
			}
			// The old configuration's place comes back to the same zone.
			held.Close()
			freedAt(t, g, "/conn", "the request of the old configuration ended")
			second.Close()
		})
	}
}

func freedAt(t *testing.T, g *gatewaytest.Gateway, path, after string) {
	t.Helper()
	gatewaytest.Eventually(t, 200*time.Millisecond, "a free place after "+after, func() bool { return get(g.URL(8080, path)).status == 200 })
}

// Reloads under load drop nothing: connections that are kept and connections that are new, no request fails.
func TestReloadUnderLoadDropsNothing(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(reloadConf, "0", "1r/m", "1m", b.addr))
	var stop atomic.Bool
	var requests atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}, Timeout: 10 * time.Second}
			for !stop.Load() {
				resp, err := c.Get(g.URL(8080, "/free"))
				if err != nil {
					t.Errorf("during a reload: %v", err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Errorf("during a reload: got %d, want 200", resp.StatusCode)
					return
				}
				requests.Add(1)
			}
		})
	}
	for i := range 20 {
		v := fmt.Sprint(i + 1)
		reload(t, g, fmt.Sprintf(reloadConf, v, "1r/m", []string{"1m", "2m"}[i%2], b.addr), v)
	}
	stop.Store(true)
	wg.Wait()
	if n := requests.Load(); n < 100 {
		t.Errorf("only %d requests: no load", n)
	}
	t.Logf("%d requests over 20 reloads", requests.Load())
}

// A bad file changes nothing, and the error log says where it is wrong.
func TestBadReloadChangesNothing(t *testing.T) {
	t.Parallel()
	b := startBackend(t)
	good := fmt.Sprintf(reloadConf, "1", "1r/m", "1m", b.addr)
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), good)
	if answers := atOnce(t, g.Addr(8080), "/req", 6); count(answers, 200) != 4 {
		t.Fatalf("before: got %d passed, want 4", count(answers, 200))
	}
	for _, c := range []struct{ name, old, new, message string }{
		{"syntax", "access_log off;", "access_log off", "nginx.conf:6"},
		{"unknown directive", "access_log off;", "acces_log off;", `unknown directive "acces_log" in `},
		{"zone under another key", "limit_req_zone $binary_remote_addr zone=r", "limit_req_zone $remote_addr zone=r", `limit_req "r" uses the "$remote_addr" key while previously it used the "$binary_remote_addr" key`},
		{"address in use", "listen 127.0.0.1:@8080@;", "listen 127.0.0.1:@8080@; listen " + b.addr + ";", "Address already in use"},
	} {
		g.Write("nginx.conf", strings.Replace(good, c.old, c.new, 1))
		g.Signal(syscall.SIGHUP)
		gatewaytest.Eventually(t, 5*time.Second, c.name+": "+c.message+" in the error log", func() bool { return strings.Contains(g.ErrorLog(), c.message) })
		if v := version(t, g); v != "1" {
			t.Errorf("%s: version %q serves, want the old one", c.name, v)
		}
		if a := get(g.URL(8080, "/req")); a.status != 429 {
			t.Errorf("%s: debt is forgotten: got %d, want 429", c.name, a.status)
		}
	}
}

package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// shared is the configuration of an instance: where the store is, what else http holds, and the limit of location /.
func shared(store, zones, limit string) string {
	return fmt.Sprintf(`events {}
error_log logs/error.log notice;
http {
    log_format store '$status $limit_req_status $limit_conn_status $limit_store_status $uri';
    access_log logs/access.log store;
    limit_store main %s;
    %s
    limit_req_status 429;
    limit_conn_status 429;
    server { listen 127.0.0.1:@8080@; location /held { proxy_pass http://127.0.0.1:@8081@; } location / { %s return_is_no_limit; } }
}
`, store, zones, limit)
}

// instance starts a gateway whose location / is limited and answers 404, since there is nothing to serve.
func instance(t *testing.T, store, zones, limit string) *gatewaytest.Gateway {
	t.Helper()
	if !strings.Contains(store, "timeout=") {
		store += " timeout=1s" // a busy machine may keep it waiting longer than a limit would
	}
	conf := strings.NewReplacer("return_is_no_limit;", "root nowhere;", "location /held { proxy_pass http://127.0.0.1:@8081@; } ", "").Replace(shared(store, zones, limit))
	return gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
}

// status asks once and tells the status; 404 is what passed.
func status(t testing.TB, c *http.Client, url string) int {
	t.Helper()
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

// statuses asks n times and counts.
func statuses(t testing.TB, g *gatewaytest.Gateway, path string, n int) map[int]int {
	t.Helper()
	got := map[int]int{}
	for range n {
		got[status(t, http.DefaultClient, g.URL(8080, path))]++
	}
	return got
}

const sharedZone = "limit_req_zone $arg_key zone=one:1m rate=6r/h store=main;"

// TestOneLimitAcrossInstances: two instances are one limit, also over a reload, and over the restart of one.
func TestOneLimitAcrossInstances(t *testing.T) {
	server := redistest.Start(t)
	a := instance(t, server.URL(), sharedZone, "limit_req zone=one burst=9 nodelay;")
	b := instance(t, server.URL(), sharedZone, "limit_req zone=one burst=9 nodelay;")
	passed := 0
	for i := range 20 {
		if status(t, http.DefaultClient, []*gatewaytest.Gateway{a, b}[i%2].URL(8080, "/?key=k")) == 404 {
			passed++
		}
	}
	if passed != 10 {
		t.Errorf("got %d of 20 passed by two instances, want 10", passed)
	}
	a.Signal(syscall.SIGHUP)
	gatewaytest.Eventually(t, 5*time.Second, "a reload", func() bool { return strings.Contains(a.ErrorLog(), "exited with code 0") })
	b.Stop()
	b.Run()
	for _, g := range []*gatewaytest.Gateway{a, b} {
		if got := statuses(t, g, "/?key=k", 3); got[429] != 3 {
			t.Errorf("got %v after a reload and a restart, want 429 only", got)
		}
	}
	if log := a.Read("logs/access.log"); !strings.Contains(log, "404 PASSED - OK /") || !strings.Contains(log, "429 REJECTED - OK /") {
		t.Errorf("the access log does not tell that the store decided:\n%s", log)
	}
	if log := a.ErrorLog(); !strings.Contains(log, `zone "one": is in store "main"`) {
		t.Errorf("the error log does not tell where the zone is:\n%s", log)
	}
}

// TestStoreDownAtStart: the gateway starts, says so, applies the policy of each limit, and finds the store when it comes.
func TestStoreDownAtStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	g := instance(t, server.URL(), sharedZone, "limit_req zone=one burst=9 nodelay fail=closed;")
	if got := statuses(t, g, "/?key=k", 3); got[503] != 3 {
		t.Errorf("got %v, want 503 only", got)
	}
	gatewaytest.Eventually(t, 5*time.Second, "a line that tells of it", func() bool {
		return strings.Contains(g.ErrorLog(), `limit_store "main": is not asked any more`) && strings.Contains(g.ErrorLog(), "fail=closed decided")
	})
	if log := g.Read("logs/access.log"); !strings.Contains(log, "503 REJECTED - CLOSED /") {
		t.Errorf("the access log does not tell of it:\n%s", log)
	}
	server.Run()
	gatewaytest.Eventually(t, 10*time.Second, "that the store is found", func() bool {
		return status(t, http.DefaultClient, g.URL(8080, "/?key=other")) == 404
	})
	gatewaytest.Eventually(t, 5*time.Second, "a line that tells that it is back", func() bool {
		return strings.Contains(g.ErrorLog(), `limit_store "main": answers again`)
	})
}

// TestReloadChangesStores: a store that a reload leaves as it is keeps its connections, another one takes its place, and the old one
// is closed with the last request of its generation.
func TestReloadChangesStores(t *testing.T) {
	t.Parallel()
	one, other := redistest.Start(t), redistest.Start(t)
	g := instance(t, one.URL(), sharedZone, "limit_req zone=one burst=9 nodelay;")
	if got := statuses(t, g, "/?key=k", 12); got[404] != 10 {
		t.Fatalf("got %v, want 10 passed", got)
	}
	was := figure(t, one, "total_connections_received")
	reload := func(n int) {
		t.Helper()
		g.Signal(syscall.SIGHUP)
		gatewaytest.Eventually(t, 5*time.Second, "a reload", func() bool { return strings.Count(g.ErrorLog(), "exited with code 0") == n })
	}
	reload(1)
	if got := figure(t, one, "total_connections_received") - was; got != 1 { // the one that asks
		t.Errorf("a reload that changes nothing: got %d new connections, want none", got-1)
	}
	conf, err := os.ReadFile(g.Prefix + "/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	g.Write("nginx.conf", strings.Replace(string(conf), one.URL(), other.URL(), 1))
	reload(2)
	known(t, other, 1) // until it is connected the fallback decides
	if got := statuses(t, g, "/?key=k", 12); got[404] != 10 {
		t.Errorf("got %v of another store, want 10 passed", got)
	}
	if n := other.Do("EXISTS", "lg:1r:one:{k}"); n != ":1" {
		t.Errorf("the new store knows the key %s times, want that it decided", n)
	}
	gatewaytest.Eventually(t, 5*time.Second, "that the old store has no client but this one", func() bool {
		return figure(t, one, "connected_clients") == 1
	})
}

// figure reads one of the numbers by which a server tells of itself.
func figure(t testing.TB, s *redistest.Server, name string) int {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("INFO everything\r\nQUIT\r\n")); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+name+":")
	number, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(number)
	if !found || err != nil {
		t.Fatalf("no %s in %s", name, text)
	}
	return n
}

// TestPlacesWithoutTheStore: places that are taken while the store is out are given up, and those taken before are given back when
// it answers again.
func TestPlacesWithoutTheStore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var held atomic.Pointer[sync.WaitGroup]
	back := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if wg := held.Load(); wg != nil {
			wg.Wait()
		}
	}))
	defer back.Close()
	conf := strings.NewReplacer("location / {  return_is_no_limit; } ", "", "location /held {", "location / { limit_conn busy 3 fail=local;", "http://127.0.0.1:@8081@", back.URL).
		Replace(shared(server.URL(), "limit_conn_zone $arg_key zone=busy:1m store=main;", ""))
	g := gatewaytest.Start(t, gatewaytest.Limitgate(t), conf)
	known(t, server, 1)
	hold := func(n int) (got chan int, let *sync.WaitGroup) {
		let = new(sync.WaitGroup)
		let.Add(1)
		held.Store(let)
		got = make(chan int, n)
		for range n {
			// ends with the answer
			go func() {
				r, err := http.Get(g.URL(8080, "/?key=k"))
				if err != nil {
					got <- 0
					return
				}
				r.Body.Close()
				got <- r.StatusCode
			}()
		}
		return got, let
	}
	count := func(got chan int, n int) map[int]int {
		m := map[int]int{}
		for range n {
			m[<-got]++
		}
		return m
	}
	first, letFirst := hold(2)
	gatewaytest.Eventually(t, 5*time.Second, "two places in the store", func() bool { return server.Do("ZCARD", "lg:1c:busy:{k}") == ":2" })
	server.Pause()
	second, letSecond := hold(4)
	gatewaytest.Eventually(t, 5*time.Second, "refusals beyond three places", func() bool { return len(second) == 3 })
	letFirst.Done()
	letSecond.Done()
	if got := count(first, 2); got[200] != 2 {
		t.Errorf("got %v of those that had a place in the store, want 200", got)
	}
	if got := count(second, 4); got[200] != 1 || got[429] != 3 {
		t.Errorf("got %v without the store, want one place and three refusals", got)
	}
	server.Resume()
	gatewaytest.Eventually(t, 10*time.Second, "that all places are given back", func() bool { return server.Do("ZCARD", "lg:1c:busy:{k}") == ":0" })
	third, letThird := hold(4)
	gatewaytest.Eventually(t, 5*time.Second, "three places, all in the store", func() bool { return server.Do("ZCARD", "lg:1c:busy:{k}") == ":3" })
	letThird.Done()
	if got := count(third, 4); got[200] != 3 || got[429] != 1 {
		t.Errorf("got %v afterwards, want three places", got)
	}
}

// known waits until so many instances have seen each other.
func known(t testing.TB, server *redistest.Server, n int) {
	t.Helper()
	gatewaytest.Eventually(t, 10*time.Second, fmt.Sprintf("%d instances in the roster", n), func() bool {
		return server.Do("ZCARD", "lg:1peers") == fmt.Sprintf(":%d", n)
	})
	time.Sleep(1200 * time.Millisecond) // and each has read it: they sign once a second
}

// TestLease: with mode=lease two instances are one limit, which is never exceeded, for fewer calls than decisions.
func TestLease(t *testing.T) {
	server := redistest.Start(t)
	const zone = "limit_req_zone $arg_key zone=one:1m rate=1r/h store=main;"
	a := instance(t, server.URL()+" mode=lease lease=10", zone, "limit_req zone=one burst=199 nodelay;")
	b := instance(t, server.URL()+" mode=lease lease=10", zone, "limit_req zone=one burst=199 nodelay;")
	known(t, server, 2)
	passed := 0
	for i := range 400 {
		if status(t, http.DefaultClient, []*gatewaytest.Gateway{a, b}[i%2].URL(8080, "/?key=k")) == 404 {
			passed++
		}
	}
	if passed > 200 || passed < 180 {
		t.Errorf("got %d of 400 passed by two instances, want 200 at most, and no more than two leases less", passed)
	}
	for _, g := range []*gatewaytest.Gateway{a, b} {
		if log := g.Read("logs/access.log"); strings.Contains(log, " OPEN ") || strings.Contains(log, " LOCAL ") {
			t.Errorf("something was decided without the store:\n%s\n%s", log, g.ErrorLog())
		}
	}
}

// TestLeaseReset: a key that is reset through one instance is new in the other within a second: what that has borrowed is given up, and
// what it knew of it.
func TestLeaseReset(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	member := func() *gatewaytest.Gateway {
		return gatewaytest.Start(t, gatewaytest.Limitgate(t), fmt.Sprintf(`events {}
admin logs/admin.sock;
http {
    limit_store main %s mode=lease lease=10;
    %s
    limit_req_status 429;
    server { listen 127.0.0.1:@8080@; root nowhere; location / { limit_req zone=one burst=199 nodelay; } }
}
`, server.URL(), sharedZone))
	}
	a, b := member(), member()
	both := func(key string, n int) (passed int) {
		t.Helper()
		for i := range n {
			if status(t, http.DefaultClient, []*gatewaytest.Gateway{a, b}[i%2].URL(8080, "/?key="+key)) == 404 {
				passed++
			}
		}
		return passed
	}
	if got := statuses(t, a, "/?key=lent", 6); got[404] != 6 { // and there is more that is borrowed
		t.Fatalf("got %v, want 6 passed", got)
	}
	both("full", 400)
	if got := both("full", 2); got != 0 {
		t.Fatalf("got %d passed by a limit that is reached", got)
	}
	must(t, b, "key", "reset", "one", "lent")
	must(t, b, "key", "reset", "one", "full")
	begin := time.Now()
	gatewaytest.Eventually(t, 5*time.Second, "that the other instance knows of the reset", func() bool {
		return status(t, http.DefaultClient, a.URL(8080, "/?key=full")) == 404
	})
	if took := time.Since(begin); took > time.Second {
		t.Errorf("a reset took %v to reach the other instance, want a second at most", took)
	}
	if got := both("lent", 450); got > 200 || got < 180 {
		t.Errorf("got %d passed after a reset, want 200 at most, and no more than two leases less", got)
	}
	gatewaytest.Eventually(t, 20*time.Second, "that nothing is left of the resets", func() bool {
		n := server.Do("HLEN", "lg:1{notes}")
		return n == ":0"
	})
}

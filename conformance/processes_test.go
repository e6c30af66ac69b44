package conformance

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/redistest"
)

// pressed asks gateways for one key, together about 400 times a second, and counts what passes and how long it went on.
func pressed(t *testing.T, gateways []*gatewaytest.Gateway, d time.Duration) (passed int, took time.Duration) {
	t.Helper()
	var n, failed atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for _, g := range gateways {
		c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
		defer c.CloseIdleConnections()
		for range 2 {
			wg.Go(func() { // ends with the time
				gap := time.Duration(2*len(gateways)) * time.Second / 400
				for i := 1; time.Since(begin) < d; i++ {
					resp, err := c.Get(g.URL(8080, "/?key=k"))
					if err != nil {
						failed.Add(1)
						continue
					}
					resp.Body.Close()
					if resp.StatusCode == 404 {
						n.Add(1)
					}
					time.Sleep(time.Until(begin.Add(time.Duration(i) * gap)))
				}
			})
		}
	}
	wg.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d requests had no answer", failed.Load())
	}
	return int(n.Load()), time.Since(begin)
}

// TestField89Processes: whole gateways that share 100 r/s admit that together: two of them, four of them, and the three that are left
// when one is killed; and when the store is killed too, at most a quarter more.
func TestField89Processes(t *testing.T) {
	server := redistest.Start(t)
	zone := fmt.Sprintf("limit_req_zone $arg_key zone=one:1m rate=%dr/s store=main;", faultRate)
	var gateways []*gatewaytest.Gateway
	add := func(n int) {
		for range n {
			gateways = append(gateways, instance(t, server.URL(), zone, "limit_req zone=one burst=40 nodelay fail=local;"))
		}
		known(t, server, len(gateways))
	}
	add(2)
	pressed(t, gateways, time.Second) // the burst is gone then
	n, took := pressed(t, gateways, 3*time.Second)
	within(t, "two gateways", n, 0, took, 0.99, 1.01)
	add(2)
	pressed(t, gateways, time.Second)
	n, took = pressed(t, gateways, 3*time.Second)
	within(t, "four gateways", n, 0, took, 0.99, 1.01)
	gateways[0].Signal(syscall.SIGKILL)
	gateways = gateways[1:]
	pressed(t, gateways, time.Second)
	n, took = pressed(t, gateways, 2*time.Second)
	within(t, "three that are left", n, 0, took, 0.99, 1.01)
	server.Kill()
	for i := range 3 {
		n, took = pressed(t, gateways, time.Second)
		within(t, fmt.Sprintf("without the store, second %d", i+1), n, -1, took, 0.5, 1.25)
	}
}

// TestField89Leases: four gateways that borrow never admit more than the limit, from its first request on, and nearly all of it.
func TestField89Leases(t *testing.T) {
	server := redistest.Start(t)
	zone := fmt.Sprintf("limit_req_zone $arg_key zone=one:1m rate=%dr/s store=main;", faultRate)
	var gateways []*gatewaytest.Gateway
	for range 4 {
		gateways = append(gateways, instance(t, server.URL()+" mode=lease", zone, "limit_req zone=one burst=40 nodelay;"))
	}
	known(t, server, 4)
	n, took := pressed(t, gateways, 3*time.Second)
	within(t, "four gateways that borrow", n, 40, took, 0.8, 1)
}

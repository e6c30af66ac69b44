package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
)

// What leases do when the store fails over, or a part of it is out. `make faults` does the failover several times and adds what it saw
// to FAULTS.md.

const (
	leaseMembers  = 4
	leaseSize     = 50
	leaseCapacity = 12_000 // of a limit that gives nothing back for a day
)

// leaser makes an instance that borrows and ends with the test.
func leaser(t testing.TB, url string, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	store, err := rediszone.Dial(t.Context(), rediszone.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	strict, err := rediszone.New(rediszone.Config{Store: store, Name: "leased"})
	if err != nil {
		t.Fatal(err)
	}
	z, err := leasezone.New(leasezone.Config{Zone: strict, Lease: leaseSize, Keys: 1024})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close(); strict.Close(); store.Close() })
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// drain has all instances ask for one key until each was refused many times in a row, and counts what was admitted. An error is no
// admission.
func drain(ls []*limitgate.Limiter, admitted *atomic.Int64) {
	const patience, most = 200, 30 * time.Second
	var all sync.WaitGroup
	end := time.Now().Add(most)
	for _, l := range ls {
		// ends when it is refused for good
		all.Go(func() {
			for refused := 0; refused < patience && time.Now().Before(end); time.Sleep(time.Millisecond) {
				ctx, cancel := context.WithTimeout(context.Background(), faultDeadline)
				d, err := l.Take(ctx, "k")
				cancel()
				switch {
				case err == nil && d.Admitted():
					admitted.Add(1)
					refused = 0
				case err == nil:
					refused++
				}
			}
		})
	}
	all.Wait()
}

// leaseFailover kills the master under load, and tells how much more than the limit was admitted when the replica had taken over and all
// was used up.
func leaseFailover(t *testing.T) (before, over int64) {
	w := redistest.Sentinel(t)
	a := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: leaseCapacity}
	var ls []*limitgate.Limiter
	for range leaseMembers {
		ls = append(ls, leaser(t, w.URL(), a))
	}
	var admitted atomic.Int64
	done := make(chan struct{})
	// ends with the load
	go func() { defer close(done); drain(ls, &admitted) }()
	for admitted.Load() < leaseCapacity/10 {
		time.Sleep(time.Millisecond)
	}
	before = admitted.Load()
	w.Master.Kill()
	<-done
	return before, admitted.Load() - leaseCapacity
}

// TestLeaseFailover: a master that is killed under load costs at most one lease of each instance.
func TestLeaseFailover(t *testing.T) {
	rounds := 1
	file := os.Getenv("FAULTS")
	if file != "" {
		rounds = 5
	}
	var b strings.Builder
	fmt.Fprintf(&b, `
## Leases over a failover

%d instances borrow up to %d at a time, and ask 1,000 times a second each about one key of a limit of %d that gives nothing back. The
master of a pair under Sentinel is killed (kill -9) under this load, the replica takes over, and they go on until nothing is left. More
is what was admitted beyond the limit; less is what was charged for calls that had no answer. At most one lease for each instance is
promised: %d.

| round | admitted when it was killed | more than the limit |
|---|---|---|
`, leaseMembers, leaseSize, leaseCapacity, leaseMembers*leaseSize)
	for i := range rounds {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			before, over := leaseFailover(t)
			t.Logf("%d admitted when the master was killed, in the end %d more than the limit", before, over)
			fmt.Fprintf(&b, "| %d | %d | %d |\n", i+1, before, over)
			if over > leaseMembers*leaseSize {
				t.Errorf("got %d more than the limit, want at most a lease of %d for each of %d instances", over, leaseSize, leaseMembers)
			}
			if over < -2*leaseMembers*leaseSize {
				t.Errorf("got %d less than the limit: it was not used up", -over)
			}
		})
	}
	if file == "" || t.Failed() {
		return
	}
	text, err := os.ReadFile(file) // of TestFaults, which comes before
	if err != nil {
		t.Fatal(err)
	}
	if head, _, found := strings.Cut(string(text), "\n## Leases over a failover\n"); found {
		text = []byte(head)
	}
	if err := os.WriteFile(file, append(text, b.String()...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLeaseInCluster: leases in a cluster of three masters are one limit for each key, on whichever node it lies, and keys of two nodes go on
// while the third is out.
func TestLeaseInCluster(t *testing.T) {
	nodes := redistest.Cluster(t)
	const limit, keys = 300, 12
	a := limitgate.Token{Rate: limitgate.PerDay(1), Capacity: limit}
	var ls []*limitgate.Limiter
	for i := range leaseMembers {
		ls = append(ls, leaser(t, nodes[i%len(nodes)].URL(), a))
	}
	ask := func(key string, n int) (admitted, failed int) {
		for i := range n {
			ctx, cancel := context.WithTimeout(t.Context(), faultDeadline*20)
			d, err := ls[i%len(ls)].Take(ctx, key)
			cancel()
			switch {
			case err != nil:
				failed++
			case d.Admitted():
				admitted++
			}
		}
		return admitted, failed
	}
	for k := range keys {
		if got, failed := ask(fmt.Sprint("k", k), 2*limit); failed > 0 || got > limit || got < limit-2*leaseMembers*leaseSize {
			t.Errorf("key %d: got %d admitted and %d failures, want at most %d, and no more than two leases of each instance less", k, got, failed, limit)
		}
	}
	for i, n := range nodes {
		if n.Do("DBSIZE") == ":0" {
			t.Errorf("no key is on node %d", i)
		}
	}
	nodes[2].Kill()
	good := 0
	for k := range keys {
		got, failed := ask(fmt.Sprint("later", k), 4)
		if failed == 0 && got == 4 {
			good++
		}
	}
	t.Logf("%d of %d keys go on while one of three masters is out", good, keys)
	if good == 0 || good == keys {
		t.Errorf("got %d of %d keys that go on while one of three masters is out, want those of the others", good, keys)
	}
}

package rediszone

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
)

const testLease = time.Second

// acquire takes a place, or ends the test.
func acquire(t testing.TB, l *limitgate.Limiter, key string) limitgate.Place {
	t.Helper()
	p, d, err := l.Acquire(t.Context(), key)
	if err != nil || !d.Admitted() {
		t.Fatalf("acquiring: %+v %v", d, err)
	}
	return p
}

// heldBy is how many of n places of a key are held.
func heldBy(t testing.TB, l *limitgate.Limiter, key string, n int64) int64 {
	t.Helper()
	d, err := l.CheckAt(t.Context(), 0, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return n
	}
	return n - 1 - d.Remaining
}

// eventually waits for what must come within some time.
func eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > within {
			t.Fatalf("after %v: %s", within, what)
		}
	}
}

// Case 42: the places of an instance that is gone are free when their lease is over, and those of another stay.
func TestField42PlacesOfTheDead(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	dead, alive := zone(t, Config{Store: s, Name: "z", Lease: testLease}), zone(t, Config{Store: s, Name: "z", Lease: testLease})
	a, b := bound(t, dead, limitgate.Conn{Limit: 60}), bound(t, alive, limitgate.Conn{Limit: 60})
	for range 50 {
		acquire(t, a, "k")
	}
	for range 5 {
		acquire(t, b, "k")
	}
	time.Sleep(2 * testLease) // while both live, all stay held
	if n := heldBy(t, b, "k", 60); n != 55 {
		t.Fatalf("%d held after two leases, want 55", n)
	}
	dead.Close() // renews no more, as one that was killed
	died := time.Now()
	eventually(t, 2*testLease, "the places of the dead instance are still held", func() bool { return heldBy(t, b, "k", 60) == 5 })
	if d := time.Since(died); d < testLease/4 {
		t.Errorf("places were free %v after their instance ended, which renewed them less than a third of a lease before", d)
	}
	time.Sleep(testLease)
	if n := heldBy(t, b, "k", 60); n != 5 {
		t.Errorf("%d held by the living instance, want 5", n)
	}
}

// Places stay held for as long as they are, also where there are many keys and the way to the store is long: leases are renewed for
// many at a time.
func TestPlacesOfManyKeysStayHeld(t *testing.T) {
	server := redistest.Start(t)
	p := redistest.NewProxy(t, server.Addr())
	held := bound(t, zone(t, Config{Store: open(t, p.URL()), Name: "z", Lease: testLease}), limitgate.Conn{Limit: 1})
	seen := bound(t, zone(t, Config{Store: open(t, server.URL()), Name: "z", Lease: testLease}), limitgate.Conn{Limit: 1})
	const keys = 400
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() { // ends with its place
			if _, d, err := held.Acquire(t.Context(), strconv.Itoa(i)); err != nil || !d.Admitted() {
				t.Errorf("acquiring: %+v %v", d, err)
			}
		})
	}
	wg.Wait()
	p.Delay.Store(int64(2 * time.Millisecond)) // each way
	time.Sleep(3 * testLease)
	server.Do("SCRIPT", "FLUSH")
	time.Sleep(testLease)
	free := 0
	for i := range keys {
		free += 1 - int(heldBy(t, seen, strconv.Itoa(i), 1))
	}
	if free > 0 {
		t.Errorf("%d of %d places that are held were free for others", free, keys)
	}
}

// Case 43: a release that the store does not answer is made up for when it does, and once.
func TestField43ReleaseWhileTheStoreHangs(t *testing.T) {
	server := redistest.Start(t)
	z := zone(t, Config{Store: open(t, server.URL()), Name: "z", Lease: 20 * time.Second})
	l := bound(t, z, limitgate.Conn{Limit: 10})
	places := []limitgate.Place{acquire(t, l, "k"), acquire(t, l, "k"), acquire(t, l, "k")}
	server.Pause()
	for i := range places[:2] {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := places[i].Release(ctx); err != nil {
			t.Errorf("a release that is taken care of: %v", err)
		}
		cancel()
	}
	server.Resume()
	eventually(t, 10*time.Second, "released places are still held", func() bool { return heldBy(t, l, "k", 10) == 1 })
	for i := range places {
		if err := places[i].Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := heldBy(t, l, "k", 10); n != 0 {
		t.Errorf("%d held in the end", n)
	}
}

// A place that was perhaps acquired, though nobody was told, is not held on to.
func TestPlacesThatNobodyKnowsOf(t *testing.T) {
	server := redistest.Start(t)
	p := redistest.NewProxy(t, server.Addr())
	l := bound(t, zone(t, Config{Store: open(t, p.URL()), Name: "z", Lease: testLease}), limitgate.Conn{Limit: 10})
	acquire(t, l, "k")
	other := bound(t, zone(t, Config{Store: open(t, server.URL()), Name: "z"}), limitgate.Conn{Limit: 10})
	for range 40 { // so often that each of the client's connections stands
		heldBy(t, l, "k", 10)
	}
	p.Mute.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, _, err := l.Acquire(ctx, "k"); done <- err }() // ends with its answer
	eventually(t, 10*time.Second, "the second place is not acquired", func() bool { return heldBy(t, other, "k", 10) == 2 })
	cancel()
	if err := <-done; err == nil {
		t.Fatal("an answer came through")
	}
	p.Mute.Store(false)
	p.Cut()
	eventually(t, 5*testLease, "the place that nobody knows of is still held, or the other one is not", func() bool { return heldBy(t, other, "k", 10) == 1 })
	time.Sleep(2 * testLease)
	if n := heldBy(t, other, "k", 10); n != 1 {
		t.Errorf("%d held, want the one that is", n)
	}
}

// Places that the store lost are held again with the next renewal.
func TestPlacesSurviveALossOfTheStore(t *testing.T) {
	server := redistest.Start(t)
	l := bound(t, zone(t, Config{Store: open(t, server.URL()), Name: "z", Lease: testLease}), limitgate.Conn{Limit: 3})
	a, b := acquire(t, l, "k"), acquire(t, l, "k")
	server.Do("FLUSHALL")
	eventually(t, 5*testLease, "places are not held again", func() bool { return heldBy(t, l, "k", 3) == 2 })
	for range 2 {
		_, _ = a.Release(t.Context()), b.Release(t.Context())
	}
	time.Sleep(2 * testLease)
	if n := heldBy(t, l, "k", 3); n != 0 {
		t.Errorf("%d held after both were released", n)
	}
	if got := server.Do("DBSIZE"); got != ":0" {
		t.Errorf("%s keys are left", got)
	}
}

// No goroutine of a zone or a store outlives its Close.
func TestCloseEndsAll(t *testing.T) {
	server := redistest.Start(t)
	for range 3 {
		s, err := Open(Options{URL: server.URL()})
		if err != nil {
			t.Fatal(err)
		}
		z, err := New(Config{Store: s, Name: "z", Lease: testLease})
		if err != nil {
			t.Fatal(err)
		}
		l := bound(t, z, limitgate.Conn{Limit: 3})
		eventually(t, 5*time.Second, "no connection", func() bool { _, _, err := l.Acquire(t.Context(), "k"); return err == nil })
		z.Close()
		z.Close()
		s.Close()
		if _, _, err := l.Acquire(t.Context(), "k"); err == nil {
			t.Error("a closed store answers")
		}
	}
	gone, err := Open(Options{URL: "redis://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	eventually(t, 5*time.Second, "goroutines are left", func() bool {
		all := make([]byte, 1<<20)
		all = all[:runtime.Stack(all, true)]
		return !strings.Contains(string(all), "rediszone.hold") && !strings.Contains(string(all), "rediszone.Open")
	})
}

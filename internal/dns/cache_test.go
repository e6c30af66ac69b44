package dns

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
)

// askerOf is a function that is asked.
type askerOf func(ctx context.Context, name string) (Answer, error)

func (f askerOf) Ask(ctx context.Context, name string) (Answer, error) { return f(ctx, name) }

func now() limitgate.Time { return limitgate.Time(time.Now().UnixNano()) }

func TestCacheHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		fails := atomic.Bool{}
		for _, valid := range []time.Duration{0, 30 * time.Second} {
			asked.Store(0)
			c := NewCache(askerOf(func(context.Context, string) (Answer, error) {
				n := asked.Add(1)
				if fails.Load() {
					return Answer{}, &Error{2}
				}
				return Answer{Addrs: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(n)})}, TTL: 10 * time.Second}, nil
			}), valid, time.Second, now)
			look := func(want string) {
				t.Helper()
				addrs, err := c.Lookup(t.Context(), "a.example")
				if got := fmt.Sprint(addrs, err); got != want {
					t.Errorf("valid %v: got %s, want %s", valid, got, want)
				}
			}
			look("[192.0.2.1] <nil>")
			time.Sleep(9999 * time.Millisecond)
			look("[192.0.2.1] <nil>")
			time.Sleep(time.Millisecond)
			if valid > 0 {
				look("[192.0.2.1] <nil>")
				time.Sleep(20 * time.Second)
			}
			look("[192.0.2.2] <nil>")
			time.Sleep(time.Hour)
			fails.Store(true)
			look("[] 2: Server failure")
			look("[] 2: Server failure") // asked again: a failure is not kept
			fails.Store(false)
			look("[192.0.2.5] <nil>")
			c.Close()
		}
	})
}

func TestCacheAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c := NewCache(askerOf(func(ctx context.Context, _ string) (Answer, error) {
			asked.Add(1)
			time.Sleep(100 * time.Millisecond)
			return Answer{Addrs: []netip.Addr{netip.IPv6Loopback()}, TTL: time.Second}, ctx.Err()
		}), 0, time.Second, now)
		defer c.Close()
		var all sync.WaitGroup
		for i := range 50 {
			if i == 25 { // whose time is up at the same moment
				continue
			}
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(75+i)*time.Millisecond)
				defer cancel()
				addrs, err := c.Lookup(ctx, "a.example")
				if patient := i > 25; patient != (len(addrs) == 1 && err == nil) {
					t.Errorf("who waits %d ms: got %v, %v", 75+i, addrs, err)
				}
			})
		}
		all.Wait()
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times, want once", n)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	c := NewCache(askerOf(func(context.Context, string) (Answer, error) {
		return Answer{Addrs: []netip.Addr{netip.IPv6Loopback()}, TTL: time.Hour}, nil
	}), 0, time.Second, now)
	defer c.Close()
	for i := range 3 * mostNames {
		if _, err := c.Lookup(t.Context(), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.names); n > mostNames {
		t.Errorf("remembers %d names, want at most %d", n, mostNames)
	}
}

func TestCloseEndsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(askerOf(func(ctx context.Context, _ string) (Answer, error) {
			<-ctx.Done()
			return Answer{}, &Error{TimedOut}
		}), 0, time.Hour, now)
		ended := make(chan error)
		go func() {
			_, err := c.Lookup(t.Context(), "a.example")
			ended <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-ended; err == nil {
			t.Error("got no error")
		}
	})
}

// Clients choose names and leave: what nobody waits for is not asked on, and what many wait for is asked in turns.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int32
		c := NewCache(askerOf(func(ctx context.Context, _ string) (Answer, error) {
			if n := open.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer open.Add(-1)
			<-ctx.Done()
			return Answer{}, &Error{TimedOut}
		}), 0, 30*time.Second, now)
		defer c.Close()
		var all sync.WaitGroup
		for i := range 3 * mostQuestions {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _ = c.Lookup(ctx, fmt.Sprint(i))
			})
		}
		all.Wait()
		synctest.Wait()
		if most.Load() != mostQuestions || open.Load() != 0 {
			t.Errorf("asked at a time: %d, want %d; %d are still asked", most.Load(), mostQuestions, open.Load())
		}
		for _, patience := range []time.Duration{time.Second, 5 * time.Second} {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, _ = c.Lookup(ctx, "two.example")
			})
		}
		time.Sleep(2 * time.Second)
		if open.Load() != 1 {
			t.Errorf("one of two has left: %d questions are open, want one", open.Load())
		}
		all.Wait()
		synctest.Wait()
		if open.Load() != 0 {
			t.Error("a question is open that nobody waits for")
		}
	})
}

func TestNothingIsAskedBehindTheEnd(t *testing.T) {
	c := NewCache(askerOf(func(context.Context, string) (Answer, error) {
		return Answer{Addrs: []netip.Addr{netip.IPv6Loopback()}, TTL: time.Hour}, nil
	}), 0, time.Second, now)
	if _, err := c.Lookup(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if _, err := c.Lookup(t.Context(), "a"); err != nil {
		t.Errorf("what is remembered: got %v", err)
	}
	if _, err := c.Lookup(t.Context(), "b"); err == nil {
		t.Error("what is not: got an answer")
	}
}

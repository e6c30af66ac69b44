package upstream

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/dns"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// book is what a fake name server says.
type book struct {
	mu    sync.Mutex
	addrs string // with spaces between; "": the name does not exist
	ttl   time.Duration
	asked int
	slow  time.Duration
}

func (b *book) set(addrs string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs = addrs
}

func (b *book) Ask(ctx context.Context, _ string) (dns.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	select {
	case <-time.After(b.slow):
	case <-ctx.Done():
		return dns.Answer{}, &dns.Error{Code: dns.TimedOut}
	}
	a := dns.Answer{TTL: b.ttl}
	for text := range strings.FieldsSeq(b.addrs) {
		a.Addrs = append(a.Addrs, netip.MustParseAddr(text))
	}
	if len(a.Addrs) == 0 {
		return a, &dns.Error{Code: dns.NotFound}
	}
	return a, nil
}

// logOf is a log in memory.
func logOf() (*errorlog.Log, func() string) {
	var mu sync.Mutex
	var text strings.Builder
	return errorlog.New(errorlog.Sink{Level: errorlog.Info, Writer: writerOf(func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			text.Write(p)
		})}), func() string {
			mu.Lock()
			defer mu.Unlock()
			return text.String()
		}
}

type writerOf func(p []byte)

func (w writerOf) Write(p []byte) (int, error) { w(p); return len(p), nil }

// watched is a set with one group of a fixed peer, unless alone, and a name, which is watched until the end of the test.
func watched(t *testing.T, b *book, m method, valid time.Duration, alone bool) (*Set, *group, func() string) {
	log, said := logOf()
	s := newSet(func() limitgate.Time { return limitgate.Time(time.Now().UnixNano()) }, log)
	g := &group{method: m, key: fixed("key"), found: make(chan struct{}), patience: 2 * time.Second, resolver: resolver{client: b, valid: valid, timeout: 2 * time.Second}}
	pattern := *(&peer{server: "name.example:80"}).defaults()
	pattern.slow.over = 10 * second
	if m > leastConn {
		pattern.slow.over = 0
	}
	still := (&peer{name: []byte("fixed"), server: "fixed"}).defaults()
	g.members = []*member{{pattern: *still, peers: []*peer{still}}, {pattern: pattern, name: lookup{"name.example", 80}}}
	if alone {
		g.members = g.members[1:]
	}
	if pattern.slow.over > 0 {
		g.divide()
	}
	g.peers = g.peersOf(g.members)
	s.groups["u"] = g
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	// Owned by the test, which ends it.
	go func() { defer close(ended); s.Watch(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return s, g, said
}

func namesOf(g *group) string {
	var list []string
	for _, p := range g.current().primary {
		list = append(list, string(p.name))
	}
	return strings.Join(list, " ")
}

func TestNamesAreLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{addrs: "192.0.2.1 192.0.2.2", ttl: 5 * time.Second}
		_, g, said := watched(t, b, roundRobin, 0, false)
		if got := namesOf(g); got != "fixed" {
			t.Errorf("before: got %s", got)
		}
		<-g.found
		step := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := namesOf(g); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		step(0, "fixed 192.0.2.1:80 192.0.2.2:80")
		one, two := g.current().primary[1], g.current().primary[2]
		g.mu.Lock()
		two.fails, two.conns = 3, 2
		g.mu.Unlock()
		if one.rises != 0 {
			t.Error("the first ones start slowly, want at once")
		}
		b.set("192.0.2.3 192.0.2.2")
		step(4*time.Second, "fixed 192.0.2.1:80 192.0.2.2:80")
		step(time.Second, "fixed 192.0.2.3:80 192.0.2.2:80")
		if p := g.current().primary; p[2] != two || p[1].rises == 0 {
			t.Errorf("one that stays is the same %v, with its failures; a new one starts slowly: %v", p[2] == two, p[1].rises)
		}
		b.set("")
		step(30*time.Second, "fixed 192.0.2.3:80 192.0.2.2:80") // the last ones hold
		if got, want := said(), "name.example could not be resolved (3: Host not found)\n"; !strings.HasSuffix(got, want) || !strings.Contains(got, "[error]") {
			t.Errorf("log: got %q, want %q", got, want)
		}
		b.set("192.0.2.9")
		step(2*time.Second, "fixed 192.0.2.9:80") // behind a failure in the resolver's time
	})
}

func TestHowOftenNamesAreLookedUp(t *testing.T) {
	for _, c := range []struct {
		ttl, valid time.Duration
		want       int // in 100 s and a half
	}{{10 * time.Second, 0, 11}, {0, 0, 101}, {time.Hour, 20 * time.Second, 6}} {
		synctest.Test(t, func(t *testing.T) {
			b := &book{addrs: "192.0.2.1", ttl: c.ttl}
			watched(t, b, roundRobin, c.valid, false)
			time.Sleep(100*time.Second + 500*time.Millisecond)
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.asked != c.want {
				t.Errorf("ttl %v, valid %v: asked %d times, want %d", c.ttl, c.valid, b.asked, c.want)
			}
		})
	}
}

// A walk that began with other peers ends with them.
func TestARequestKeepsThePeersItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{addrs: "192.0.2.1 192.0.2.2", ttl: time.Second}
		_, g, _ := watched(t, b, leastConn, 0, false)
		<-g.found
		var c choice
		c.begin(g)
		first := c.next(0)
		b.set("192.0.2.7")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		seen := string(first.name)
		c.done(first, true, 0)
		for p := c.next(0); p != nil; p = c.next(0) {
			seen += " " + string(p.name)
			c.done(p, true, 0)
		}
		if len(strings.Fields(seen)) != 3 {
			t.Errorf("asked %s, want all three of the beginning", seen)
		}
		if got := namesOf(g); got != "fixed 192.0.2.7:80" {
			t.Errorf("now: got %s", got)
		}
	})
}

// Every method lives with names that are not found, or found later.
func TestMethodsWithoutPeers(t *testing.T) {
	for _, m := range []method{roundRobin, leastConn, ipHash, keyHash, ringHash, byLot, ofTwo} {
		synctest.Test(t, func(t *testing.T) {
			b := &book{ttl: time.Second}
			_, g, _ := watched(t, b, m, 0, true)
			if got := walk(g, requestOf("192.0.2.1")); got != "" {
				t.Errorf("method %d: got %s, want nobody", m, got)
			}
			b.set("192.0.2.1 192.0.2.2 192.0.2.3")
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if got := walk(g, requestOf("192.0.2.1")); strings.Count(got, ":80") != 3 {
				t.Errorf("method %d: got %s, want all three", m, got)
			}
			if w := g.current().weight; w != 3 {
				t.Errorf("method %d: weight %d, want 3", m, w)
			}
		})
	}
}

// Requests go on while peers come and go.
func TestRequestsWhilePeersComeAndGo(t *testing.T) {
	b := &book{addrs: "192.0.2.1", ttl: time.Second}
	s, g, _ := watched(t, b, leastConn, 0, false)
	<-g.found
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 500 {
				var c choice
				c.begin(g)
				if p := c.next(s.now()); p != nil {
					c.done(p, false, s.now())
				}
			}
		})
	}
	for i := range 200 {
		b.set(fmt.Sprintf("192.0.2.%d 192.0.2.%d", i%250+1, (i+1)%250+1))
		s.once(t.Context(), g, g.members[1], false)
	}
	all.Wait()
	for _, p := range g.current().primary {
		if p.conns != 0 {
			t.Errorf("%s: %d connections, want none", p.name, p.conns)
		}
	}
}

// Requests wait until every name of a group was looked up once, however fast the first of them is.
func TestAllNamesOfAGroup(t *testing.T) {
	for range 50 {
		s := newSet(func() limitgate.Time { return 0 }, nil)
		g := &group{found: make(chan struct{}), resolver: resolver{client: atOnceAsker{}, timeout: time.Second}}
		for port := range uint16(40) {
			g.members = append(g.members, &member{pattern: *(&peer{}).defaults(), name: lookup{"name.example", port + 1}})
		}
		s.groups["u"] = g
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		// Owned by the test, which ends it.
		go func() { defer close(ended); s.Watch(ctx) }()
		<-g.found
		if n := len(g.current().primary); n != 40 {
			t.Errorf("got %d peers, want all 40", n)
		}
		cancel()
		<-ended
	}
}

// atOnceAsker answers at once.
type atOnceAsker struct{}

func (atOnceAsker) Ask(context.Context, string) (dns.Answer, error) {
	return dns.Answer{Addrs: []netip.Addr{netip.IPv6Loopback()}, TTL: time.Hour}, nil
}

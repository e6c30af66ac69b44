package conformance

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/rediszone"
)

// What a fault of the store does to decisions, by the fallback of the limit. `make faults` runs all of it and writes FAULTS.md; the
// ordinary tests run a part.

const (
	faultDeadline = 50 * time.Millisecond
	faultRate     = 100 // requests a second that the limit allows, with a burst of a fifth
	faultLoad     = 100 // requests a second of each instance
)

// limits are one limit for each fallback, each in a zone of its own.
var fallbacks = []limitgate.Fallback{limitgate.FailOpen, limitgate.FailClosed, limitgate.FailLocal}

// member is one instance: a connection, what guards it, and the limits.
type member struct {
	guard    *guard.Store
	limiters []*limitgate.Limiter // by fallbacks
}

// enlist makes an instance that ends with the test.
func enlist(t testing.TB, name, url string, limit limitgate.Algorithm) *member {
	t.Helper()
	far, err := rediszone.Open(rediszone.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	roster, err := rediszone.NewRoster(far, "")
	if err != nil {
		t.Fatal(err)
	}
	m := &member{guard: guard.New(guard.Config{Timeout: faultDeadline, Outage: rediszone.Outage})}
	for _, f := range fallbacks {
		z, err := rediszone.New(rediszone.Config{Store: far, Name: "zone-" + f.String()})
		if err != nil {
			t.Fatal(err)
		}
		l, err := limitgate.NewLimiter(m.guard.Zone(z, 0).Fail(f), limit)
		if err != nil {
			t.Fatal(err)
		}
		m.limiters = append(m.limiters, l)
		t.Cleanup(z.Close)
	}
	ctx, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	// ends with the test
	watch.Go(func() { m.guard.Watch(ctx, guard.Watching{Roster: roster, Name: name, Every: 200 * time.Millisecond}) })
	t.Cleanup(func() { stop(); watch.Wait(); far.Close() })
	return m
}

// counts is what became of requests.
type counts struct {
	mu                        sync.Mutex
	admitted, refused, errors int
	took                      []time.Duration
}

func (c *counts) add(d limitgate.Decision, err error, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.errors++
	case d.Admitted():
		c.admitted++
	default:
		c.refused++
	}
	c.took = append(c.took, took)
}

// p99 is how long 99 of a hundred took at most.
func p99(took []time.Duration) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[(len(took)*99-1)/100]
}

// press asks one limit of each instance so often a second, for a time; each request is a goroutine, as in a server. It tells how
// long it really took, and how late this machine wakes who sleeps, which is nobody's fault here.
func press(members []*member, fallback, rate int, d time.Duration) (c *counts, took, stall time.Duration) {
	c = &counts{}
	var all sync.WaitGroup
	var late []time.Duration
	begin := time.Now()
	every := time.Second / time.Duration(rate)
	for n := 0; ; n++ {
		due := begin.Add(time.Duration(n) * every)
		if due.Sub(begin) >= d {
			break
		}
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		late = append(late, max(time.Since(due), 0))
		for _, m := range members {
			// ends with the decision
			all.Go(func() {
				at := time.Now()
				dec, err := m.limiters[fallback].TakeAt(context.Background(), limitgate.Now(), "k", 1)
				c.add(dec, err, time.Since(at))
			})
		}
	}
	took = time.Since(begin)
	all.Wait()
	return c, took, p99(late)
}

// fault is one, from begin to end.
type fault struct {
	name  string
	short bool // in the ordinary tests, too
	begin func(*redistest.Server, *redistest.Proxy)
	end   func(*redistest.Server, *redistest.Proxy)
}

func faults() []fault {
	nothing := func(*redistest.Server, *redistest.Proxy) {}
	return []fault{
		{"none", true, nothing, nothing},
		{"latency 10 ms", false, func(_ *redistest.Server, p *redistest.Proxy) { p.Delay.Store(int64(5 * time.Millisecond)) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Delay.Store(0) }},
		{"latency 80 ms", true, func(_ *redistest.Server, p *redistest.Proxy) { p.Delay.Store(int64(40 * time.Millisecond)) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Delay.Store(0) }},
		{"connections cut", false, func(_ *redistest.Server, p *redistest.Proxy) { p.Cut() }, nothing},
		{"half-open: nothing arrives", false, func(_ *redistest.Server, p *redistest.Proxy) { p.Deaf.Store(true); p.Mute.Store(true) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Deaf.Store(false); p.Mute.Store(false); p.Cut() }},
		{"replies dropped", true, func(_ *redistest.Server, p *redistest.Proxy) { p.Mute.Store(true) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Mute.Store(false); p.Cut() }},
		{"overtaking by 20 ms", false, func(_ *redistest.Server, p *redistest.Proxy) { p.Stagger.Store(int64(20 * time.Millisecond)) },
			func(_ *redistest.Server, p *redistest.Proxy) { p.Stagger.Store(0) }},
		{"SIGSTOP", true, func(s *redistest.Server, _ *redistest.Proxy) { s.Pause() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Resume() }},
		{"kill -9", true, func(s *redistest.Server, _ *redistest.Proxy) { s.Kill() }, func(s *redistest.Server, _ *redistest.Proxy) { s.Run() }},
	}
}

// row is a line of the table.
type row struct {
	fault         string
	fallback      limitgate.Fallback
	c             *counts
	early, later  time.Duration // p99 from the beginning of the fault, and once the store is spared
	stall, stall2 time.Duration
	back          time.Duration // until the store decides again
}

// TestFaults: under each fault each fallback does what it says, no error comes out, and no decision takes longer than the deadline.
func TestFaults(t *testing.T) {
	file := os.Getenv("FAULTS")
	var rows []row
	for _, f := range faults() {
		if file == "" && !f.short {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			server := redistest.Start(t)
			proxy := redistest.NewProxy(t, server.Addr())
			rows = append(rows, underFault(t, f.name, proxy.URL(), func() { f.begin(server, proxy) }, func() { f.end(server, proxy) })...)
		})
	}
	if file == "" {
		return
	}
	t.Run("failover", func(t *testing.T) {
		w := redistest.Sentinel(t)
		rows = append(rows, underFault(t, "failover: the master killed, Sentinel", w.URL(), func() { w.Master.Kill() }, func() {})...)
	})
	writeFaults(t, file, rows)
}

// underFault runs two instances under load before, during and after a fault.
func underFault(t *testing.T, name, url string, begin, end func()) []row {
	limit := limitgate.Req{Rate: limitgate.PerSecond(faultRate), Burst: faultRate / 5, NoDelay: true}
	members := []*member{enlist(t, "a", url, limit), enlist(t, "b", url, limit)}
	awaitLive(t, members, 2)
	each := func(d time.Duration) (c []*counts, stall time.Duration) {
		c = make([]*counts, len(fallbacks))
		stalls := make([]time.Duration, len(fallbacks))
		var all sync.WaitGroup
		for i := range fallbacks {
			all.Go(func() { c[i], _, stalls[i] = press(members, i, faultLoad, d) })
		}
		all.Wait()
		return c, slices.Max(stalls)
	}
	each(500 * time.Millisecond)
	begin()
	during, stall := each(1500 * time.Millisecond)
	asked := spared(members)
	later, stall2 := each(time.Second)
	down := spared(members) > asked
	end()
	since := time.Now()
	for deadline := since.Add(20 * time.Second); !allUp(members); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%s: the store is not asked again 20s after the fault is over", name)
			break
		}
	}
	back := time.Since(since)
	var rows []row
	for i, f := range fallbacks {
		r := row{name, f, during[i], 0, 0, stall, stall2, back}
		r.early, r.later = p99(during[i].took), p99(later[i].took)
		rows = append(rows, r)
		r.check(t, later[i], down)
	}
	return rows
}

// spared is how many calls were not made so far.
func spared(members []*member) (n uint64) {
	for _, m := range members {
		n += m.guard.Stats().Spared
	}
	return n
}

// check tells what a fallback did wrong; down tells whether the store was spared later. What wakes late does so twice: for the
// deadline, and to go on.
func (r *row) check(t *testing.T, later *counts, down bool) {
	t.Helper()
	if r.c.errors+later.errors > 0 {
		t.Errorf("%s, fail=%v: got %d errors, want none", r.fault, r.fallback, r.c.errors+later.errors)
	}
	if most := faultDeadline + 5*time.Millisecond + 2*r.stall; r.early > most {
		t.Errorf("%s, fail=%v: p99 %v, want at most %v (%v of it this machine's own)", r.fault, r.fallback, r.early, most, r.stall)
	}
	if !down {
		return
	}
	if most := time.Millisecond + 2*r.stall2; r.later > most {
		t.Errorf("%s, fail=%v: p99 %v once the store is spared, want at most %v (%v of it this machine's own)", r.fault, r.fallback, r.later, most, r.stall2)
	}
	asked := later.admitted + later.refused
	switch r.fallback {
	case limitgate.FailOpen:
		if later.refused > 0 {
			t.Errorf("%s, fail=open: got %d of %d refused once the store is spared, want none", r.fault, later.refused, asked)
		}
	case limitgate.FailLocal:
		if most := faultRate * 5 / 4; later.admitted > most {
			t.Errorf("%s, fail=local: got %d admitted in a second, want at most %d", r.fault, later.admitted, most)
		}
	}
}

// awaitLive waits until all instances have seen so many.
func awaitLive(t testing.TB, members []*member, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if !slices.ContainsFunc(members, func(m *member) bool { return m.guard.Live() != n }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the instances have not seen each other: %v", members[0].guard.Peers())
		}
	}
}

func allUp(members []*member) bool {
	return !slices.ContainsFunc(members, func(m *member) bool { return m.guard.Stats().Phase != guard.Up })
}

// writeFaults writes the table.
func writeFaults(t *testing.T, file string, rows []row) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# What faults of the store do

Written by `+"`make faults`"+`. Two instances ask %d times a second each about one key of a limit of %d r/s, burst %d, in strict mode,
with a deadline of %v a call. Admitted, refused, errors and p99 are of the first 1.5 s of the fault; the limit itself would admit
about %d of %d then. The next column is the p99 of the second after that, when a store that fails is no longer asked, then how long
after the end of the fault the store is asked by all again, and how late at most (p99) this machine woke who slept meanwhile, which
is in the times.

| fault | fail= | admitted | refused | errors | p99 | p99 later | back after | machine |
|---|---|---|---|---|---|---|---|---|
`, faultLoad, faultRate, faultRate/5, faultDeadline, faultRate*3/2, 2*faultLoad*3/2)
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %v | %d | %d | %d | %v | %v | %v | %v |\n", r.fault, r.fallback, r.c.admitted, r.c.refused, r.c.errors,
			r.early.Round(10*time.Microsecond), r.later.Round(10*time.Microsecond), r.back.Round(10*time.Millisecond), cmp.Or(max(r.stall, r.stall2), 1).Round(10*time.Microsecond))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

package rediszone

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
)

// take asks for one, now, and ends the test if there is no answer.
func take(t testing.TB, l *limitgate.Limiter, key string) limitgate.Decision {
	t.Helper()
	d, err := l.Take(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ttl is how long a key stays, in ms; -1 without an expiry, -2 without the key.
func ttl(t testing.TB, c rueidis.Client, key string) int64 {
	t.Helper()
	n, err := c.Do(context.Background(), c.B().Pttl().Key(key).Build()).AsInt64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// keys lists all keys of a server.
func keys(t testing.TB, c rueidis.Client) []string {
	t.Helper()
	all, err := c.Do(context.Background(), c.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// kinds is a limit of each kind that can be taken, five at once and then none for a minute or so.
func kinds() []limitgate.Algorithm {
	return []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 4, NoDelay: true},
		limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 4, NoDelay: true, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 5},
		limitgate.Count{Limit: 5, Window: time.Hour},
		limitgate.Count{Limit: 5, Window: time.Hour, Windowing: limitgate.Fixed, First: true},
		limitgate.Count{Limit: 5, Window: time.Hour, Windowing: limitgate.Log},
		limitgate.Pace{Rate: 1, Queue: 5 * time.Second},
	}
}

// Case 68: a key without an expiry, made by hand or by a fault, limits nobody for ever.
func TestField68KeysWithoutExpiryAreHealed(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	for i, a := range kinds() {
		z := zone(t, Config{Store: s, Name: strconv.Itoa(i)})
		l := bound(t, z, a)
		name := z.key(limit(t, z, a), "k")
		do(t, c, "SET", name, "99")
		if d := take(t, l, "k"); !d.Admitted() {
			t.Errorf("%v: what is no state refuses: %+v", a.Kind(), d)
		}
		if n := ttl(t, c, name); n <= 0 || n > 2*3_600_000+100_000 {
			t.Errorf("%v: expires in %d ms after a request passed", a.Kind(), n)
		}
		for range 5 {
			take(t, l, "k")
		}
		do(t, c, "PERSIST", name)
		if d := take(t, l, "k"); d.Admitted() {
			t.Errorf("%v: more than the limit: %+v", a.Kind(), d)
		}
		if n := ttl(t, c, name); n <= 0 || n > 2*3_600_000+100_000 {
			t.Errorf("%v: expires in %d ms after a request was refused", a.Kind(), n)
		}
	}
}

// So does a refund: for as long as what is left matters.
func TestField68RefundsHeal(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	for i, a := range kinds() {
		z := zone(t, Config{Store: s, Name: strconv.Itoa(i)})
		l := bound(t, z, a)
		name := z.key(limit(t, z, a), "k")
		var last limitgate.Receipt
		for range 3 {
			r, d, err := l.TakeReceiptAt(t.Context(), limitgate.Now(), "k", 1)
			if err != nil || !d.Admitted() {
				t.Fatal(d, err)
			}
			last = r
		}
		before := ttl(t, c, name)
		do(t, c, "PERSIST", name)
		if err := last.Refund(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := ttl(t, c, name); n < before/2 {
			t.Errorf("%v: expires in %d ms after a refund, before it was found without an expiry in %d", a.Kind(), n, before)
		}
	}
}

// do sends a command.
func do(t testing.TB, c rueidis.Client, command ...string) {
	t.Helper()
	if err := c.Do(context.Background(), c.B().Arbitrary(command...).Build()).Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatal(err)
	}
}

// limit is what a zone is handed for an algorithm.
func limit(t testing.TB, z *Zone, a limitgate.Algorithm) *limitgate.Limit {
	t.Helper()
	var l *limitgate.Limit
	if _, err := limitgate.NewLimiter(spy{z, &l}, a); err != nil {
		t.Fatal(err)
	}
	return l
}

// spy is a zone that tells what was bound.
type spy struct {
	*Zone
	l **limitgate.Limit
}

func (s spy) Bind(l *limitgate.Limit) error { *s.l = l; return s.Zone.Bind(l) }

// Case 70: commands that overtake each other between connections leave no key without an expiry, and count right.
func TestField70RequestsThatOvertake(t *testing.T) {
	server := redistest.Start(t)
	p := redistest.NewProxy(t, server.Addr())
	p.Stagger.Store(int64(3 * time.Millisecond))
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		s := open(t, p.URL())
		l := bound(t, zone(t, Config{Store: s, Name: "z"}), limitgate.Count{Limit: 50, Window: time.Hour, Windowing: limitgate.Fixed, First: true})
		for range 4 {
			wg.Go(func() { // ends after its requests
				for j := range 20 {
					if d, err := l.Take(context.Background(), "hot"); err == nil && d.Admitted() {
						admitted.Add(1)
					}
					_, _ = l.Take(context.Background(), fmt.Sprint(i, j))
				}
			})
		}
	}
	wg.Wait()
	if admitted.Load() != 50 {
		t.Errorf("admitted %d of 50", admitted.Load())
	}
	c := client(t, open(t, server.URL()))
	for _, k := range keys(t, c) {
		if n := ttl(t, c, k); n <= 0 {
			t.Errorf("%q expires in %d ms", k, n)
		}
	}
}

// Cases 71 and 72: what a window leaves stays for as long as it matters, two windows of a sliding one, and not for longer.
func TestField71And72Expiries(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	for i, w := range []time.Duration{time.Second, 180 * time.Second, time.Hour, 366 * 24 * time.Hour} {
		for _, q := range []struct {
			a           limitgate.Count
			least, most time.Duration
		}{
			{limitgate.Count{Limit: 5, Window: w}, 2 * w, 2 * w},
			{limitgate.Count{Limit: 5, Window: w, Windowing: limitgate.Fixed}, 0, w},
			{limitgate.Count{Limit: 5, Window: w, Windowing: limitgate.Fixed, First: true}, w, w},
			{limitgate.Count{Limit: 5, Window: w, Windowing: limitgate.Log}, w, w + time.Minute}, // for clocks set back
		} {
			z := zone(t, Config{Store: s, Name: fmt.Sprint(i, q.a.Windowing, q.a.First)})
			take(t, bound(t, z, q.a), "k")
			got := time.Duration(ttl(t, c, z.key(limit(t, z, q.a), "k"))) * time.Millisecond
			if got < q.least || got > q.most+2*time.Second {
				t.Errorf("%v of %v, first %v: expires in %v, want %v to %v", q.a.Windowing, w, q.a.First, got, q.least, q.most)
			}
		}
	}
}

// A debt stays for as long as it is one: the time to pay it and a second.
func TestExpiryOutlivesDebt(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	for i, q := range []struct {
		a    limitgate.Algorithm
		debt time.Duration
	}{
		{limitgate.Req{Rate: limitgate.PerSecond(1000)}, time.Millisecond},
		{limitgate.Req{Rate: limitgate.PerDay(1)}, 24 * time.Hour},
		{limitgate.Token{Rate: limitgate.Per(1, 100*24*time.Hour), Capacity: 3}, 100 * 24 * time.Hour},
		{limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 5, Arithmetic: limitgate.Nginx}, time.Second},
		{limitgate.Pace{Rate: 1}, time.Second},
	} {
		z := zone(t, Config{Store: s, Name: strconv.Itoa(i)})
		take(t, bound(t, z, q.a), "k")
		got := time.Duration(ttl(t, c, z.key(limit(t, z, q.a), "k"))) * time.Millisecond
		if got < q.debt || got < 500*time.Millisecond || got > q.debt+1100*time.Millisecond {
			t.Errorf("%+v: expires in %v, the debt is paid in %v", q.a, got, q.debt)
		}
	}
}

// Case 74: a burst below half the rate is the store's matter as any other. Four instances with 1,000 requests a second between
// them share 100 a second and 10 at once.
func TestField74SmallBursts(t *testing.T) {
	server := redistest.Start(t)
	var admitted, failed atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range 4 {
		l := bound(t, zone(t, Config{Store: open(t, server.URL()), Name: "z"}), limitgate.Token{Rate: limitgate.PerSecond(100), Capacity: 10})
		wg.Go(func() { // ends after a second
			tick := time.NewTicker(4 * time.Millisecond)
			defer tick.Stop()
			for time.Since(begin) < time.Second {
				<-tick.C
				d, err := l.Take(context.Background(), "k")
				if err != nil {
					failed.Add(1)
				} else if d.Admitted() {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	most := 10 + int64(time.Since(begin).Seconds()*100) + 1
	if n := admitted.Load(); n > most || n < 90 || failed.Load() > 0 {
		t.Errorf("admitted %d, failed %d; want about 110, at most %d, and no failure", n, failed.Load(), most)
	}
}

// Case 75: the clock of who asks matters to nothing, however late or early it is: the server's decides.
func TestField75LateClocks(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	for i, back := range []time.Duration{time.Second, time.Hour, -time.Hour} {
		l := bound(t, zone(t, Config{Store: s, Name: strconv.Itoa(i)}), limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
		n := 0
		for i := range 100 {
			at := limitgate.Now()
			if i%2 == 1 {
				at = at.Add(-back)
			}
			if d, err := l.TakeAt(t.Context(), at, "k", 1); err == nil && d.Admitted() {
				n++
			}
		}
		if n != 5 {
			t.Errorf("with every second clock %v late: admitted %d, want 5", back, n)
		}
	}
}

// Case 77: a quota of one is used up by the first request, and a day is the day of the place that was named, also where its
// clocks are set back within it.
func TestField77Quotas(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	one := bound(t, zone(t, Config{Store: s, Name: "one"}), limitgate.Count{Limit: 1, Window: time.Hour, Windowing: limitgate.Fixed})
	if d := take(t, one, "k"); !d.Admitted() || d.Remaining != 0 {
		t.Errorf("first of one: %+v", d)
	}
	if d := take(t, one, "k"); d.Admitted() {
		t.Errorf("second of one: %+v", d)
	}
	berlin := must(time.LoadLocation("Europe/Berlin"))
	day := bound(t, zone(t, Config{Store: s, Name: "day", Clock: CallerTime}), limitgate.Count{Limit: 1, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: berlin})
	for _, q := range []struct {
		at   time.Time
		pass bool
	}{
		{time.Date(2026, 10, 24, 23, 59, 59, 0, berlin), true},
		{time.Date(2026, 10, 25, 0, 0, 0, 0, berlin), true},
		{time.Date(2026, 10, 25, 23, 59, 59, 0, berlin), false}, // 25 hours later
		{time.Date(2026, 10, 26, 0, 0, 0, 0, berlin), true},
	} {
		d, err := day.TakeAt(t.Context(), limitgate.At(q.at), "k", 1)
		if err != nil || d.Admitted() != q.pass {
			t.Errorf("at %v: %+v %v, want admitted %v", q.at, d, err, q.pass)
		}
	}
	// The server's time is what the calendar is asked about, whatever the caller's clock says.
	now := bound(t, zone(t, Config{Store: s, Name: "now"}), limitgate.Count{Limit: 1, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: berlin})
	for i, at := range []limitgate.Time{0, limitgate.Now().Add(-48 * time.Hour), limitgate.Now().Add(48 * time.Hour)} {
		d, err := now.TakeAt(t.Context(), at, "k", 1)
		if err != nil || d.Admitted() != (i == 0) {
			t.Errorf("clock at %v: %+v %v", time.Unix(0, int64(at)), d, err)
		}
	}
}

// Cases 78 and 80: what is read and counted is so in one step, whoever asks at the same time.
func TestField78And80AreAtomic(t *testing.T) {
	server := redistest.Start(t)
	for i, a := range kinds() {
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			l := bound(t, zone(t, Config{Store: open(t, server.URL()), Name: strconv.Itoa(i)}), a)
			for range 50 {
				wg.Go(func() { // ends after one request
					if d, err := l.Take(context.Background(), "k"); err == nil && d.Admitted() {
						admitted.Add(1)
					}
				})
			}
		}
		wg.Wait()
		if admitted.Load() != 5 {
			t.Errorf("%v: of 100 at once on two instances %d were admitted, want 5", a.Kind(), admitted.Load())
		}
	}
}

// Case 82: a server that forgets the scripts while requests go on costs nobody an error.
func TestField82ScriptsAreLost(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.URL())
	var ls []*limitgate.Limiter
	for i, a := range append(kinds(), limitgate.Conn{Limit: 1000}) {
		ls = append(ls, bound(t, zone(t, Config{Store: s, Name: strconv.Itoa(i)}), a))
	}
	var failed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() { // ends with stop
			for i := w; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx := context.Background()
				l := ls[i%len(ls)]
				if l.Algorithm().Kind() == limitgate.KindConn {
					p, _, err := l.Acquire(ctx, "k")
					if err = errors.Join(err, p.Release(ctx)); err != nil {
						failed.Add(1)
					}
					continue
				}
				r, _, err := l.TakeReceiptAt(ctx, limitgate.Now(), "k", 1)
				if err = errors.Join(err, r.Refund(ctx)); err != nil {
					failed.Add(1)
				}
			}
		})
	}
	for range 20 {
		time.Sleep(10 * time.Millisecond)
		server.Do("SCRIPT", "FLUSH")
	}
	close(stop)
	wg.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d requests failed", failed.Load())
	}
}

// Case 83: what was charged and not answered is not charged again, whether the answers are lost or the connections are.
func TestField83NothingIsSentTwice(t *testing.T) {
	for how, calls := range map[string]int64{"mute": 10, "mute, then cut": 100, "cut": 100} {
		server := redistest.Start(t)
		p := redistest.NewProxy(t, server.Addr())
		s := open(t, p.URL())
		a := limitgate.Count{Limit: 1_000_000, Window: time.Hour, Windowing: limitgate.Fixed, First: true}
		l := bound(t, zone(t, Config{Store: s, Name: "z"}), a)
		take(t, l, "k")
		stand := func() bool { // so often that each of the client's connections does
			for range 40 {
				if _, err := l.CheckAt(t.Context(), 0, "k", 1); err != nil {
					return false
				}
			}
			return true
		}
		eventually(t, 10*time.Second, "no connections", stand)
		for range calls {
			if how != "mute" { // connections that stand before their answers are dropped
				p.Mute.Store(false)
				eventually(t, 10*time.Second, "no connections", stand)
			}
			p.Mute.Store(true)
			before := evals(server)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			done := make(chan error, 1)
			go func() { _, err := l.Take(ctx, "k"); done <- err }() // ends with its answer
			eventually(t, 10*time.Second, how+": a request does not arrive", func() bool { return evals(server) > before })
			if how != "mute" {
				p.Cut()
			}
			if how != "cut" { // where the caller gives up; there it learns of the connection's end
				cancel()
			}
			if err := <-done; err == nil {
				t.Fatalf("%s: an answer came through", how)
			}
			cancel()
		}
		p.Mute.Store(false)
		p.Cut()
		z := zone(t, Config{Store: open(t, server.URL()), Name: "z"})
		d, err := bound(t, z, a).CheckAt(t.Context(), limitgate.Now(), "k", 1)
		if used := 1_000_000 - 1 - d.Remaining; err != nil || used != 1+calls {
			t.Errorf("%s: charged %d by %d requests: %v", how, used, 1+calls, err)
		}
	}
}

// evals is how many scripts a server has run.
func evals(s *redistest.Server) int64 {
	n := int64(0)
	for line := range strings.Lines(s.Do("INFO", "commandstats")) {
		for _, name := range []string{"cmdstat_evalsha:calls=", "cmdstat_eval:calls="} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				rest, _, _ = strings.Cut(rest, ",")
				k, _ := strconv.ParseInt(rest, 10, 64)
				n += k
			}
		}
	}
	return n
}

// Case 90: a window of 100,000 takes no more of the store than one of ten.
func TestField90LargeLimitsCostNoMore(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	use := func(name string, n int64) (size int64, least time.Duration) {
		z := zone(t, Config{Store: s, Name: name})
		a := limitgate.Count{Limit: n, Window: time.Hour}
		l := bound(t, z, a)
		if d, err := l.TakeAt(t.Context(), 0, "k", limitgate.Cost(n-5)); err != nil || !d.Admitted() {
			t.Fatal(d, err)
		}
		least = time.Hour
		for range 500 {
			begin := time.Now()
			take(t, l, "k")
			least = min(least, time.Since(begin))
		}
		size, err := c.Do(t.Context(), c.B().MemoryUsage().Key(z.key(limit(t, z, a), "k")).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return size, least
	}
	size10, time10 := use("a", 10)
	size, time := use("b", 100_000)
	if size != size10 || time > 3*time10 {
		t.Errorf("a limit of 100,000 takes %d bytes and %v, one of 10 takes %d and %v", size, time, size10, time10)
	}
}

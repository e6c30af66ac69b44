package rediszone

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/memzone"
)

// Several limits of one request are one script in a single server, whatever their kinds; a refusal, too.
func TestSeveralLimitsAreOneScript(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.URL())
	ctx := t.Context()
	var legs []limitgate.Leg
	for i, a := range kinds() {
		legs = append(legs, limitgate.Leg{Limiter: bound(t, zone(t, Config{Store: s, Name: strconv.Itoa(i)}), a), Key: "k" + strconv.Itoa(i)})
	}
	legs = append(legs, limitgate.Leg{Limiter: bound(t, memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 100, NoDelay: true}), Key: "k"})
	if v, err := limitgate.All(ctx, limitgate.Now(), legs); err != nil || !v.Admitted() { // its script is sent as a whole
		t.Fatal(v, err)
	}
	for i := range 6 {
		before := evals(server)
		v, err := limitgate.All(ctx, limitgate.Now(), legs)
		if err != nil || v.Admitted() != (i < 4) || evals(server) != before+1 {
			t.Fatalf("request %d: %+v %v, %d scripts", i+2, v, err, evals(server)-before)
		}
	}
	if err := limitgate.RefundAll(ctx, limitgate.Now(), legs); err != nil { // of the last, which was refused: nothing
		t.Fatal(err)
	}
	for i := range legs {
		if d, err := legs[i].Limiter.CheckAt(ctx, limitgate.Now(), legs[i].Key, 1); err != nil || d.Admitted() != (i == len(legs)-1) {
			t.Errorf("leg %d: %+v %v", i, d, err)
		}
	}
}

// In a cluster the limits on one client's key are one script; others go to where they are, and a request that one of them refuses
// is charged nowhere.
func TestSeveralLimitsInACluster(t *testing.T) {
	nodes := redistest.Cluster(t)
	s := open(t, nodes[0].URL())
	ctx := t.Context()
	all := func() (n int64) {
		for _, node := range nodes {
			n += evals(node)
		}
		return n
	}
	client := bound(t, zone(t, Config{Store: s, Name: "client"}), limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 99, NoDelay: true})
	day := bound(t, zone(t, Config{Store: s, Name: "day"}), limitgate.Count{Limit: 100, Window: 24 * time.Hour})
	site := bound(t, zone(t, Config{Store: s, Name: "site"}), limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 3})
	same := []limitgate.Leg{{Limiter: client, Key: "{a}"}, {Limiter: day, Key: "{a}"}}
	apart := []limitgate.Leg{{Limiter: client, Key: "b"}, {Limiter: site, Key: "site"}, {Limiter: day, Key: "b"}}
	if v, err := limitgate.All(ctx, 0, same); err != nil || !v.Admitted() {
		t.Fatal(v, err)
	}
	before := all()
	if v, err := limitgate.All(ctx, 0, same); err != nil || !v.Admitted() || all() != before+1 {
		t.Errorf("two limits on one key: %+v %v, %d scripts", v, err, all()-before)
	}
	for i := range 20 {
		v, err := limitgate.All(ctx, 0, apart)
		if err != nil || v.Admitted() != (i < 3) {
			t.Fatalf("request %d over two slots: %+v %v", i, v, err)
		}
	}
	for _, l := range []*limitgate.Limiter{client, day} {
		d, err := l.CheckAt(ctx, 0, "b", 1)
		if err != nil || d.Remaining != 96 {
			t.Errorf("%v: %+v %v, want 96 of 100 left besides this one: three were admitted", l.Algorithm().Kind(), d, err)
		}
	}
	places(t, s)
}

// Giving back what was charged in vain takes no longer than deciding may: a server may have gone in between.
func TestGivingBackIsBounded(t *testing.T) {
	server := redistest.Start(t)
	z := zone(t, Config{Store: open(t, server.URL()), Name: "z"})
	l := limit(t, z, limitgate.Token{Rate: limitgate.PerMinute(1), Capacity: 3})
	_, c, err := z.Do(t.Context(), limitgate.Now(), l, "k", 1, limitgate.Take)
	if err != nil {
		t.Fatal(err)
	}
	server.Pause()
	defer server.Resume()
	begin := time.Now()
	asks := []limitgate.Ask{{Zone: z, Limit: l, Key: "k", Charge: c}}
	if err := z.back(t.Context(), limitgate.Now(), asks, 50*time.Millisecond); err == nil || asks[0].Charge != (limitgate.Charge{}) {
		t.Errorf("got %v and %+v, want that it is given up", err, asks[0].Charge)
	}
	if took := time.Since(begin); took > 500*time.Millisecond {
		t.Errorf("took %v, want 50ms", took)
	}
}

// places tests the same of places.
func places(t *testing.T, s *Store) {
	ctx := t.Context()
	ip := bound(t, zone(t, Config{Store: s, Name: "ip"}), limitgate.Conn{Limit: 10})
	site := bound(t, zone(t, Config{Store: s, Name: "sites"}), limitgate.Conn{Limit: 2})
	legs := []limitgate.Leg{{Limiter: ip, Key: "a"}, {Limiter: site, Key: "site"}}
	var held []limitgate.Place
	for i := range 5 {
		ps := make([]limitgate.Place, 2)
		v, err := limitgate.AcquireAll(ctx, 0, legs, ps)
		if err != nil || v.Admitted() != (i < 2) || v.Leg != 1 {
			t.Fatalf("place %d: %+v %v", i, v, err)
		}
		held = append(held, ps...)
	}
	if n := heldBy(t, ip, "a", 10); n != 2 {
		t.Errorf("%d held, want those of two requests", n)
	}
	for i := range held {
		if err := held[i].Release(ctx); err != nil {
			t.Error(err)
		}
	}
	if n := heldBy(t, ip, "a", 10) + heldBy(t, site, "site", 2); n != 0 {
		t.Errorf("%d held after all were released", n)
	}
}

// When the master of a pair is gone its replica goes on with what it was told: nobody gets an error once it does, though it has
// never seen a script, and debts stay.
func TestFailover(t *testing.T) {
	w := redistest.Sentinel(t)
	s := open(t, w.URL())
	var ls []*limitgate.Limiter
	for i, a := range kinds() {
		if a.Kind() == limitgate.KindPace {
			continue // is paid before the failover is over
		}
		l := bound(t, zone(t, Config{Store: s, Name: strconv.Itoa(i)}), a)
		for range 5 {
			if d := take(t, l, "k"); !d.Admitted() {
				t.Fatal(d)
			}
		}
		ls = append(ls, l)
	}
	want := w.Master.Do("DBSIZE")
	eventually(t, 5*time.Second, "the replica does not follow", func() bool { return w.Replica.Do("DBSIZE") == want })
	time.Sleep(100 * time.Millisecond) // and the last writes
	w.Master.Kill()
	eventually(t, 30*time.Second, "no failover", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		_, err := ls[0].CheckAt(ctx, 0, "k", 1)
		return err == nil && strings.Contains(w.Replica.Do("INFO", "replication"), "role:master")
	})
	for _, l := range ls {
		if d, err := l.Take(t.Context(), "k"); err != nil || d.Admitted() {
			t.Errorf("%v: after the failover %+v %v, want a refusal", l.Algorithm().Kind(), d, err)
		}
		if d, err := l.Take(t.Context(), "another"); err != nil || !d.Admitted() {
			t.Errorf("%v: after the failover %+v %v for a new key", l.Algorithm().Kind(), d, err)
		}
	}
}

// A store that fails for one of several limits charges none of them, as far as it can be reached.
func TestSeveralLimitsWithoutAnAnswer(t *testing.T) {
	server := redistest.Start(t)
	p := redistest.NewProxy(t, server.Addr())
	ctx := t.Context()
	here, there := open(t, server.URL()), open(t, p.URL())
	a := bound(t, zone(t, Config{Store: here, Name: "a"}), limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	b := bound(t, zone(t, Config{Store: there, Name: "b"}), limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	legs := []limitgate.Leg{{Limiter: a, Key: "k"}, {Limiter: b, Key: "k"}}
	if v, err := limitgate.All(ctx, 0, legs); err != nil || !v.Admitted() {
		t.Fatal(v, err)
	}
	p.Deaf.Store(true)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if v, err := limitgate.All(short, 0, legs); !errors.Is(err, context.DeadlineExceeded) || v.Admitted() {
		t.Errorf("got %+v %v", v, err)
	}
	if d, err := a.CheckAt(ctx, 0, "k", 1); err != nil || d.Remaining != 3 {
		t.Errorf("the limit in the store that answers: %+v %v, want 3 left besides this one", d, err)
	}
}

// Turns that were promised are given back as in memory, where a later one was promised and where not.
func TestTurnsAreGivenBack(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	ctx := t.Context()
	left := errors.New("left")
	for i, a := range []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 50},
		limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 50, Arithmetic: limitgate.Nginx},
		limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 5, Queue: 50},
		limitgate.Pace{Rate: 10, Burst: 5},
	} {
		for _, later := range []int{0, 1, 3, 8} {
			wait := func(z limitgate.Zone) (d limitgate.Decision) {
				l, err := limitgate.NewLimiter(z, a)
				if err != nil {
					t.Fatal(err)
				}
				turn := func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
					return now.Add(d), nil
				}
				for range 7 {
					_, _ = l.WaitAt(ctx, t0, "k", 1, turn)
				}
				_, err = l.WaitAt(ctx, t0, "k", 4, func(context.Context, limitgate.Time, time.Duration) (limitgate.Time, error) {
					for range later {
						_, _ = l.WaitAt(ctx, t0, "k", 1, turn)
					}
					return t0.Add(120 * time.Millisecond), left
				})
				if !errors.Is(err, left) {
					t.Fatalf("%+v: %v", a, err)
				}
				d, err = l.WaitAt(ctx, t0.Add(130*time.Millisecond), "k", 1, turn)
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			got := wait(zone(t, Config{Store: s, Name: strconv.Itoa(i) + "/" + strconv.Itoa(later), Clock: CallerTime}))
			if want := wait(memzone.New(memzone.Config{})); got != want {
				t.Errorf("%+v, %d later turns: got %+v, want %+v", a, later, got, want)
			}
		}
	}
}

// What the zone asks of the root package's caller: a key of any bytes and any length is one of its own.
func TestKeys(t *testing.T) {
	nodes := redistest.Cluster(t)
	z := zone(t, Config{Store: open(t, nodes[0].URL()), Name: "a{b}:%"})
	a := limitgate.Req{Rate: limitgate.PerHour(1)}
	l := bound(t, z, a)
	long := strings.Repeat("x", 5000)
	seen := map[string]string{}
	for _, k := range []string{
		"", "a", "{", "}", "{}", "}{", "{a}", "%7B", "%", "%0", "%#", "a}b", "\x00", "\xff\xfe", "\r\n", " ", long, long + "y", long[:128], long[:129],
		"lg:1r:z:{a}", string([]byte{0, 1, 2, 3}),
	} {
		if d := take(t, l, k); !d.Admitted() {
			t.Errorf("%.20q shares its state with another key", k)
		}
		if d := take(t, l, k); d.Admitted() {
			t.Errorf("%.20q has no state", k)
		}
		name := z.key(limit(t, z, a), k)
		if other, ok := seen[name]; ok {
			t.Errorf("%.20q and %.20q are both stored as %q", k, other, name)
		}
		seen[name] = k
		if open := strings.IndexByte(name, '{'); open < 0 || strings.IndexByte(name[open:], '}') < 2 || !strings.HasSuffix(name, "}") || len(name) > 200 {
			t.Errorf("%.20q is stored as %q, which keeps no slot", k, name)
		}
	}
}

// Keys of two kinds, two windows, two zones or two prefixes never meet, and the version stands in all of them.
func TestWhatSharesNoState(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	names := map[string]bool{}
	for _, c := range []Config{{Name: "a"}, {Name: "b"}, {Name: "a", Prefix: "x"}} {
		c.Store = s
		for _, a := range append(kinds(), limitgate.Conn{Limit: 1}, limitgate.Count{Limit: 5, Window: time.Minute}, limitgate.Count{Limit: 5, Window: time.Hour, Windowing: limitgate.Fixed}) {
			z := zone(t, c)
			name := z.key(limit(t, z, a), "k")
			if names[name] || !strings.Contains(name, ":1") {
				t.Errorf("%+v in %q: %q", a, c.Name, name)
			}
			names[name] = true
		}
	}
	for _, c := range []Config{{Name: "a"}, {Store: s}, {Store: s, Name: "a", Prefix: "{x}"}, {Store: s, Name: "a", Lease: time.Nanosecond}} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is no zone", c)
		}
	}
}

// Two instances, or two versions, that share one store under load, one of which sees a schema of the other, go on.
func TestForeignKeysDisturbNobody(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	for i, a := range append(kinds(), limitgate.Conn{Limit: 5}) {
		z := zone(t, Config{Store: s, Name: strconv.Itoa(i)})
		l := bound(t, z, a)
		name := z.key(limit(t, z, a), "k")
		for _, what := range [][]string{{"SET", name, "short"}, {"SET", name, "exactly 12 b"}, {"RPUSH", name, "a", "b"}, {"HSET", name, "a", "b"}, {"SADD", name, "a"}, {"ZADD", name, "1", "a"}} {
			do(t, c, "DEL", name)
			do(t, c, what...)
			ctx := t.Context()
			if a.Kind() == limitgate.KindConn {
				p, _, err := l.Acquire(ctx, "k")
				if err = errors.Join(err, p.Release(ctx)); err != nil {
					t.Errorf("%v on %v: %v", a.Kind(), what, err)
				}
				continue
			}
			r, _, err := l.TakeReceiptAt(ctx, limitgate.Now(), "k", 1)
			if err = errors.Join(err, r.Refund(ctx)); err != nil {
				t.Errorf("%v on %v: %v", a.Kind(), what, err)
			}
		}
	}
}

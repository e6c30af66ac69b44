package rediszone

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
)

// t0 is an instant like any other.
const t0 = limitgate.Time(1_800_000_000 * int64(time.Second))

// open connects to a server until the test ends.
func open(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Dial(t.Context(), Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// client is the connection of a store that is connected.
func client(t testing.TB, s *Store) rueidis.Client {
	t.Helper()
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// zone makes a zone until the test ends.
func zone(t testing.TB, c Config) *Zone {
	t.Helper()
	z, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// bound binds a limit to a zone.
func bound(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// drawAlgorithm draws a limit whose states are words.
func drawAlgorithm(t *rapid.T) limitgate.Algorithm {
	n := func(name string, most int64) int64 {
		if rapid.Bool().Draw(t, name+" is large") {
			return rapid.Int64Range(1, most).Draw(t, name)
		}
		return rapid.Int64Range(1, min(most, 20)).Draw(t, name)
	}
	rate := func() limitgate.Rate {
		return limitgate.Per(n("requests", 1_000_000), time.Duration(rapid.Int64Range(1e6, 1e15).Draw(t, "per")))
	}
	window := func() time.Duration {
		w := []time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, time.Minute, 61 * time.Second, time.Hour, 24 * time.Hour, 366 * 24 * time.Hour}
		return rapid.SampledFrom(w).Draw(t, "window")
	}
	places := []*time.Location{time.UTC, time.FixedZone("x", -5*3600-1800), must(time.LoadLocation("Europe/Berlin")), must(time.LoadLocation("Australia/Lord_Howe"))}
	switch rapid.IntRange(0, 6).Draw(t, "algorithm") {
	case 0:
		return limitgate.Req{Rate: rate(), Burst: n("burst", 1<<40), Delay: n("delay", 100)}
	case 1:
		return limitgate.Req{Rate: rate(), Burst: n("burst", 1_000_000), Delay: n("delay", 100), Arithmetic: limitgate.Nginx}
	case 2:
		return limitgate.Token{Rate: rate(), Capacity: n("capacity", 1<<40), Queue: n("queue", 1000)}
	case 3:
		return limitgate.Pace{Rate: n("rate", 1e11), Burst: n("burst", 1<<40), Queue: time.Duration(n("queue", 1<<60))}
	case 4:
		return limitgate.Count{Limit: n("limit", limitgate.Fixed.Max()), Window: window(), Windowing: limitgate.Fixed, First: rapid.Bool().Draw(t, "first")}
	case 5:
		return limitgate.Count{Limit: n("limit", limitgate.Fixed.Max()), Window: window(), Windowing: limitgate.Fixed, Calendar: rapid.SampledFrom(places).Draw(t, "place")}
	}
	return limitgate.Count{Limit: n("limit", limitgate.Sliding.Max()), Window: window()}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// drawWord draws a state: any word, or one that a limit may have near now.
func drawWord(t *rapid.T, s limitgate.Steps, now limitgate.Time, cost limitgate.Cost) limitgate.State {
	switch rapid.IntRange(0, 3).Draw(t, "state") {
	case 0:
		return 0
	case 1:
		return limitgate.State(rapid.Uint64().Draw(t, "word"))
	case 2:
		return limitgate.State(max(int64(now)+rapid.Int64Range(-1e12, 1e12).Draw(t, "from now"), 0))
	}
	at := max(now-limitgate.Time(rapid.Int64Range(0, 1e11).Draw(t, "ago")), 0)
	word, _ := s.Step(0, at, cost, 0)
	word, _ = s.Step(word, at, cost, 0)
	return word
}

// TestScriptsDecideAsSteps: over random limits, states, instants and costs a script decides as the step does, leaves the state
// that the step leaves, and gives back what Undo gives back.
func TestScriptsDecideAsSteps(t *testing.T) {
	s := open(t, redistest.Start(t).URL())
	c := client(t, s)
	ctx := context.Background()
	zones := 0
	rapid.Check(t, func(r *rapid.T) {
		a := drawAlgorithm(r)
		if a.Validate() != nil {
			r.Skip("no such limit")
		}
		zones++
		z := zone(t, Config{Store: s, Name: strconv.Itoa(zones), Clock: CallerTime})
		l := &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile(), Salt: uint64(zones)}
		if err := z.Bind(l); err != nil {
			r.Fatal(err)
		}
		now := limitgate.Time(rapid.SampledFrom([]int64{0, 1e9, int64(t0), 4e18, 9e18}).Draw(r, "epoch"))
		for range 20 {
			now = max(now+limitgate.Time(rapid.Int64Range(-1e8, 1e10).Draw(r, "gap")), 0)
			cost := limitgate.Cost(rapid.Int64Range(1, 3).Draw(r, "cost"))
			if rapid.IntRange(0, 9).Draw(r, "dear") == 0 {
				cost = limitgate.Cost(rapid.Int64Range(1, 1<<62).Draw(r, "dear cost"))
			}
			mode := rapid.SampledFrom([]limitgate.Mode{limitgate.Peek, limitgate.Check, limitgate.Take, limitgate.Take, limitgate.Take, limitgate.Spend}).Draw(r, "mode")
			word := load(r, c, z.key(l, "k"))
			if rapid.IntRange(0, 2).Draw(r, "another state") == 0 {
				word = drawWord(r, l.Steps, now, cost)
				put(r, c, z.key(l, "k"), word)
			}
			after, want := l.Step(word, now, cost)
			got, charge, err := z.Do(ctx, now, l, "k", cost, mode)
			if err != nil || got != want {
				r.Fatalf("%+v %+v on %x at %d, cost %d: got %+v %v, want %+v", l.Algorithm, l.Steps, word, now, cost, got, err, want)
			}
			if !mode.Stores(got) {
				after = word
			}
			if stored := load(r, c, z.key(l, "k")); stored != after {
				r.Fatalf("%+v on %x at %d, cost %d, mode %d: left %x, want %x", l.Algorithm, word, now, cost, mode, stored, after)
			}
			if charge == (limitgate.Charge{}) || rapid.IntRange(0, 3).Draw(r, "refund") > 0 {
				continue
			}
			if rapid.Bool().Draw(r, "others came") {
				_, _, _ = z.Do(ctx, now, l, "k", 1, limitgate.Spend)
				now += limitgate.Time(rapid.Int64Range(0, 1e9).Draw(r, "later"))
				after = load(r, c, z.key(l, "k"))
			}
			if err := z.RefundKey(ctx, now, l, "k", charge); err != nil {
				r.Fatal(err)
			}
			back := l.Steps.Undo(after, charge.Before, charge.After, now)
			if stored := load(r, c, z.key(l, "k")); stored != back {
				r.Fatalf("%+v, %x from %x to %x at %d: refund left %x, want %x", l.Algorithm, after, charge.Before, charge.After, now, stored, back)
			}
		}
	})
}

// load reads a state.
func load(t rapid.TB, c rueidis.Client, key string) limitgate.State {
	t.Helper()
	b, err := c.Do(context.Background(), c.B().Get().Key(key).Build()).AsBytes()
	if rueidis.IsRedisNil(err) {
		return 0
	}
	if err != nil || len(b) != 12 {
		t.Fatalf("state of %q: %x %v", key, b, err)
	}
	return limitgate.State(binary.BigEndian.Uint64(b))
}

// put stores a state of some life.
func put(t rapid.TB, c rueidis.Client, key string, s limitgate.State) {
	t.Helper()
	b := binary.BigEndian.AppendUint64(nil, uint64(s))
	v := string(append(b, 1, 2, 3, 4))
	if err := c.Do(context.Background(), c.B().Set().Key(key).Value(v).PxMilliseconds(3_600_000).Build()).Error(); err != nil {
		t.Fatal(err)
	}
}

// TestScriptsAreSmall: each is made of its parts only, and no part is forgotten.
func TestScriptsAreSmall(t *testing.T) {
	files, err := sources.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	used := slices.Concat(slices.Concat(forms[:]...), slices.Concat(undoes[:]...), []string{"clock", "decide", "renew", "roster", "leave", "note", "notes", "unnote", "probe"})
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".lua"); !slices.Contains(used, name) {
			t.Errorf("no script is made of %s", f.Name())
		}
	}
	for f, s := range newScripts().decide {
		if n := strings.Count(s.text, "\n"); limitgate.Form(f) != mixed && n > 140 {
			t.Errorf("the script of form %d has %d lines", f, n)
		}
	}
}

package limitgate_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

const t0 = limitgate.Time(1_800_000_000 * int64(time.Second))

func limiter(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestNoAllocation: no verb makes garbage, whatever it answers.
func TestNoAllocation(t *testing.T) {
	ctx := context.Background()
	open := limitgate.Req{Rate: limitgate.PerSecond(1_000_000), Burst: 1 << 40, Delay: 1 << 39}
	nginx := limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 1_000_000, Arithmetic: limitgate.Nginx}
	a, b := limiter(t, memzone.New(memzone.Config{}), open), limiter(t, memzone.New(memzone.Config{}), nginx)
	shut := limiter(t, memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerDay(1)})
	conn := limiter(t, memzone.New(memzone.Config{}), limitgate.Conn{Limit: 2})
	one := limiter(t, memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	keys := make([]string, 4096)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	buf := []byte("192.0.2.7")
	legs := []limitgate.Leg{{Limiter: a, Key: "a"}, {Limiter: b, Key: "b"}, {Limiter: a, Key: "c"}}
	refused := []limitgate.Leg{{Limiter: a, Key: "a"}, {Limiter: shut, Key: "b"}}
	held := []limitgate.Leg{{Limiter: conn, Key: "a"}, {Limiter: one, Key: "b"}}
	full := []limitgate.Leg{{Limiter: conn, Key: "a"}, {Limiter: one, Key: "full"}}
	var places [2]limitgate.Place
	if _, _, err := one.AcquireAt(ctx, t0, "full"); err != nil {
		t.Fatal(err)
	}
	mixed := []limitgate.Leg{{Limiter: a, Key: "m"}}
	takes := map[string]*limitgate.Limiter{}
	for name, limit := range map[string]limitgate.Algorithm{
		"token":   limitgate.Token{Rate: limitgate.PerSecond(1), Capacity: 1 << 20, Queue: 10},
		"sliding": limitgate.Count{Limit: 1_000_000, Window: time.Minute},
		"fixed":   limitgate.Count{Limit: 1_000_000, Window: time.Minute, Windowing: limitgate.Fixed},
		"first":   limitgate.Count{Limit: 1_000_000, Window: time.Minute, Windowing: limitgate.Fixed, First: true},
		"days":    limitgate.Count{Limit: 1_000_000, Window: 24 * time.Hour, Windowing: limitgate.Fixed, Calendar: time.UTC},
		"log":     limitgate.Count{Limit: 10_000, Window: time.Minute, Windowing: limitgate.Log},
		"pace":    limitgate.Pace{Rate: 1_000_000},
	} {
		takes[name] = limiter(t, memzone.New(memzone.Config{}), limit)
		mixed = append(mixed, limitgate.Leg{Limiter: takes[name], Key: "m"})
	}
	for name, l := range takes {
		j := 0
		for what, f := range map[string]func(){
			"take":    func() { _, _ = l.TakeAt(ctx, t0, "k", 1) },
			"new key": func() { _, _ = l.TakeAt(ctx, t0, keys[j&4095], 1); j++ },
			"refused": func() { _, _ = l.TakeAt(ctx, t0, "k", 1<<40) },
			"check":   func() { _, _ = l.CheckAt(ctx, t0, "k", 1) },
			"refund":  func() { r, _, _ := l.TakeReceiptAt(ctx, t0, "k", 2); _ = r.RefundAt(ctx, t0) },
			"reset":   func() { _ = l.Reset(ctx, "k") },
		} {
			if n := testing.AllocsPerRun(1000, f); n != 0 {
				t.Errorf("%s %s: %v allocations", name, what, n)
			}
		}
	}
	i := 0
	for name, f := range map[string]func(){
		"all kinds":   func() { _, _ = limitgate.All(ctx, t0, mixed); _ = limitgate.RefundAll(ctx, t0, mixed) },
		"take":        func() { _, _ = a.TakeAt(ctx, t0, limitgate.BytesKey(buf), 1) },
		"take now":    func() { _, _ = a.Take(ctx, "now") },
		"nginx":       func() { _, _ = b.TakeAt(ctx, t0, "k", 1) },
		"refused":     func() { _, _ = shut.TakeAt(ctx, t0, "k", 1) },
		"new key":     func() { _, _ = a.TakeAt(ctx, t0, keys[i&4095], 1); i++ },
		"check":       func() { _, _ = a.CheckAt(ctx, t0, "k", 1) },
		"all":         func() { _, _ = limitgate.All(ctx, t0, legs) },
		"all refused": func() { _, _ = limitgate.All(ctx, t0, refused) },
		"acquire":     func() { p, _, _ := conn.AcquireAt(ctx, t0, "k"); _ = p.Release(ctx) },
		"acquire all": func() {
			_, _ = limitgate.AcquireAll(ctx, t0, held, places[:])
			_, _ = places[0].Release(ctx), places[1].Release(ctx)
		},
		"acquire all, full": func() { _, _ = limitgate.AcquireAll(ctx, t0, full, places[:]) },
	} {
		if n := testing.AllocsPerRun(2000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestLimiterErrors(t *testing.T) {
	ctx := context.Background()
	zone := memzone.New(memzone.Config{})
	req := limiter(t, zone, limitgate.Req{Rate: limitgate.PerSecond(1)})
	conn := limiter(t, memzone.New(memzone.Config{}), limitgate.Conn{Limit: 1})
	for name, f := range map[string]func() error{
		"no zone":       func() error { _, err := limitgate.NewLimiter(nil, limitgate.Conn{Limit: 1}); return err },
		"no algorithm":  func() error { _, err := limitgate.NewLimiter(zone, nil); return err },
		"bad algorithm": func() error { _, err := limitgate.NewLimiter(zone, limitgate.Req{}); return err },
		"limit 0": func() error {
			_, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{})
			return err
		},
		"two kinds":     func() error { _, err := limitgate.NewLimiter(zone, limitgate.Conn{Limit: 1}); return err },
		"cost 0":        func() error { _, err := req.TakeAt(ctx, t0, "k", 0); return err },
		"check cost -1": func() error { _, err := req.CheckAt(ctx, t0, "k", -1); return err },
		"take conn":     func() error { _, err := conn.TakeAt(ctx, t0, "k", 1); return err },
		"acquire req":   func() error { _, _, err := req.AcquireAt(ctx, t0, "k"); return err },
		"all of conn":   func() error { _, err := limitgate.All(ctx, t0, []limitgate.Leg{{Limiter: conn, Key: "k"}}); return err },
		"65 legs":       func() error { _, err := limitgate.All(ctx, t0, make([]limitgate.Leg, 65)); return err },
	} {
		if err := f(); err == nil || len(err.Error()) < 20 {
			t.Errorf("%s: got %v, want an error that says what is wrong", name, err)
		}
	}
	if _, err := conn.TakeAt(ctx, t0, "k", 1); !errors.Is(err, limitgate.ErrKind) {
		t.Errorf("got %v, want ErrKind", err)
	}
	if v, err := limitgate.All(ctx, t0, nil); err != nil || v.Leg != -1 || v.Outcome != limitgate.Passed {
		t.Errorf("no legs: got %+v %v", v, err)
	}
}

package memzone

import (
	"context"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

func TestLayout(t *testing.T) {
	if s := unsafe.Sizeof(slot{}); s != 16 {
		t.Errorf("a slot has %d bytes", s)
	}
	if s := unsafe.Sizeof(counters{}); s%64 != 0 {
		t.Errorf("counters have %d bytes: shares meet on a cache line", s)
	}
	if s := unsafe.Sizeof(shard{}); s%64 != 0 {
		t.Errorf("a shard has %d bytes: locks meet on a cache line", s)
	}
	for _, size := range []int{0, 1, 128, 200, 1 << 16} {
		tb := newTable(size, 0)
		if a := uintptr(unsafe.Pointer(&tb.buckets[0])); a%bucketBytes != 0 || tb.bytes() != max(size/128, 1)*128 {
			t.Errorf("%d bytes: table of %d at %x", size, tb.bytes(), a)
		}
		for _, h := range []uint64{1 << 8, ownerMask, 0x123456789abcdef0 & ownerMask} {
			c, seen := tb.candidates(h), map[*slot]bool{}
			for i := range c.n {
				seen[c.slot(i)] = true
			}
			if want := ways * min(len(tb.buckets), 2); len(seen) > want || len(seen) < ways || len(seen) != int(c.n) {
				t.Errorf("%d bytes: %x has %d candidates, %d of them different", size, h, c.n, len(seen))
			}
		}
	}
	if z := New(Config{}); z.Bytes() != DefaultBytes {
		t.Errorf("the default is %d bytes", z.Bytes())
	}
}

// TestStatsAddUp: the counts of all shares, each under its name.
func TestStatsAddUp(t *testing.T) {
	z := New(Config{})
	for i := range z.counters {
		c := &z.counters[i]
		c.inserts.Add(1)
		c.reuses.Add(2)
		c.hot.Add(3)
		c.full.Add(4)
		c.retries.Add(5)
		c.refunds.Add(6)
		c.contended.Add(7)
	}
	if got, want := z.Stats(), (Stats{Inserts: 8, Reuses: 16, HotEvictions: 24, Full: 32, Retries: 40, Refunds: 48, Contended: 56}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestColumns(t *testing.T) {
	w := uint64(0)
	for i := range uint64(4 * 65535) {
		if held(w) != i {
			t.Fatalf("held %d, want %d", held(w), i)
		}
		w = acquire(w, 1)
	}
	if w != math.MaxUint64 {
		t.Errorf("full is %x", w)
	}
	w = release(w, 70_000)
	if held(w) != 4*65535-70_000 {
		t.Errorf("held %d", held(w))
	}
	if held(acquire(w, 70_000)) != 4*65535 || release(w, 1<<40) != 0 {
		t.Error("columns don't balance")
	}
}

// TestFull: what a zone with one bucket does with a ninth key.
func TestFull(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		policy Overflow
		limit  limitgate.Algorithm
		noRoom bool
	}{
		{"evict", Evict, limitgate.Req{Rate: limitgate.PerSecond(1)}, false},
		{"reject", Reject, limitgate.Req{Rate: limitgate.PerSecond(1)}, true},
		{"held", Evict, limitgate.Conn{Limit: 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			z := New(Config{Bytes: 128, Overflow: c.policy})
			l := limiter(t, z, c.limit)
			ask := func(k string, now limitgate.Time) limitgate.Decision {
				check, _ := l.CheckAt(ctx, now, k, 1)
				var d limitgate.Decision
				if z.Kind() == limitgate.KindConn {
					_, d, _ = l.AcquireAt(ctx, now, k)
				} else {
					d, _ = l.TakeAt(ctx, now, k, 1)
				}
				if d != check {
					t.Errorf("%s: checked %+v, got %+v", k, check, d)
				}
				return d
			}
			ks := keys(9)
			for i, k := range ks[:8] {
				if d := ask(k, t0.Add(time.Duration(i))); !d.Admitted() {
					t.Fatalf("key %d: %+v", i, d)
				}
			}
			d := ask(ks[8], t0)
			if d.NoRoom() != c.noRoom || d.NoRoom() != (d.Outcome == limitgate.Rejected) {
				t.Errorf("ninth key: got %+v", d)
			}
			if !c.noRoom { // the one closest to drained went
				if d, _ := l.CheckAt(ctx, t0, ks[0], 1); !d.Admitted() {
					t.Error("the first key was not the one forgotten")
				}
				if d, _ := l.CheckAt(ctx, t0, ks[1], 1); d.Admitted() {
					t.Error("the second key was forgotten")
				}
			}
			if z.Kind() != limitgate.KindConn { // drained states make room
				if d := ask("late", t0.Add(time.Minute)); !d.Admitted() || z.Stats().Reuses == 0 {
					t.Errorf("a minute later: %+v, %+v", d, z.Stats())
				}
			}
		})
	}
}

// TestRebind: after a reload with a smaller burst debt is cut to the new full bucket; two bursts of one configuration know of
// each other; the limiter from before goes on with its own.
func TestRebind(t *testing.T) {
	ctx := context.Background()
	req := func(burst int64) limitgate.Req {
		return limitgate.Req{Rate: limitgate.PerSecond(1), Burst: burst, NoDelay: true}
	}
	for _, c := range []struct {
		name   string
		rebind bool
		want   limitgate.Excess
	}{{"same configuration", false, 10_000}, {"new configuration", true, 4_000}} {
		z := New(Config{})
		old := limiter(t, z, req(9))
		for range 10 {
			_, _ = old.TakeAt(ctx, t0, "k", 1)
		}
		if c.rebind {
			z.Rebind()
		}
		if d, _ := limiter(t, z, req(3)).TakeAt(ctx, t0, "k", 1); d.Outcome != limitgate.Rejected || d.Excess != c.want {
			t.Errorf("%s: got %+v, want excess %v", c.name, d, c.want)
		}
	}
}

func TestKindError(t *testing.T) {
	z := New(Config{})
	limiter(t, z, limitgate.Req{Rate: limitgate.PerSecond(1)})
	_, err := limitgate.NewLimiter(z, limitgate.Conn{Limit: 1})
	if err == nil || !strings.Contains(err.Error(), "kind req") || !strings.Contains(err.Error(), "kind conn") {
		t.Errorf("got %v", err)
	}
}

// TestAllLate: a leg that passed when it was asked and moved before it was charged. The verdict says so and nothing stays
// charged on the other.
func TestAllLate(t *testing.T) {
	ctx := context.Background()
	var late, admitted atomic.Int64
	rounds := 0
	for ; late.Load() == 0 && rounds < 200; rounds++ {
		z := New(Config{Bytes: 4096})
		a := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: 1 << 10, NoDelay: true})
		b := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: 40, NoDelay: true})
		admitted.Store(0)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() { // ends after its requests
				legs := []limitgate.Leg{{Limiter: a, Key: "a"}, {Limiter: b, Key: "b" + string(rune('0'+g&1))}, {Limiter: b, Key: "c"}}
				for range 60 {
					v, _ := limitgate.All(ctx, t0, legs)
					if v.Late {
						late.Add(1)
						if v.Outcome != limitgate.Rejected || v.RetryAfter() != 0 {
							t.Errorf("late: %+v", v)
						}
					}
					if v.Admitted() {
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		d, _ := a.CheckAt(ctx, t0, "a", 1)
		if got := 1<<10 - d.Remaining; got != admitted.Load() {
			t.Fatalf("charged %d, admitted %d", got, admitted.Load())
		}
	}
	t.Logf("a leg was late after %d rounds", rounds)
}

// TestCapacity: to a zone that holds Capacity keys, less than one in 10,000 new ones finds no drained state in its places.
func TestCapacity(t *testing.T) {
	racing.Alone(t)
	ctx := context.Background()
	for _, size := range []int{1 << 20, 4 << 20} {
		for _, a := range []limitgate.Algorithm{
			limitgate.Req{Rate: limitgate.PerDay(1)},
			limitgate.Count{Limit: 20, Window: time.Hour},
			limitgate.Count{Limit: 20, Window: time.Hour, Windowing: limitgate.Log},
		} {
			const zones, probes = 4, 50_000 // seeds are random: several of them
			capacity, none := 0, 0
			for range zones {
				z := New(Config{Bytes: size, Overflow: Reject})
				l := limiter(t, z, a)
				capacity = z.Capacity()
				ks := keys(capacity + probes)
				for i, k := range ks {
					if i < capacity {
						_, _ = l.TakeAt(ctx, t0, k, 1)
					} else if d, _ := l.CheckAt(ctx, t0, k, 1); d.NoRoom() {
						none++
					}
				}
				if n := z.Len(); n < capacity-capacity/10_000-5 {
					t.Errorf("%v, %d bytes: %d keys of %d were taken in", a.Kind(), size, n, capacity)
				}
			}
			t.Logf("%v, %d bytes: capacity %d, %.1f bytes each; %d in %d new keys found no room", a.Kind(), size, capacity, float64(size)/float64(capacity), none, zones*probes)
			if none > zones*probes/10_000 {
				t.Errorf("%v, %d bytes: %d in %d new keys found no room", a.Kind(), size, none, zones*probes)
			}
		}
	}
}

// TestReset: a reset empties the slot and ends the life that charges name.
func TestReset(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 128})
	l := limiter(t, z, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 3})
	r, _, _ := l.TakeReceiptAt(ctx, t0, "k", 3)
	if err := l.Reset(ctx, "k"); err != nil || z.Len() != 0 {
		t.Fatalf("%v, %d states", err, z.Len())
	}
	if err := l.Reset(ctx, "nobody"); err != nil {
		t.Error(err)
	}
	_, _ = l.TakeAt(ctx, t0, "k", 2)
	_ = r.RefundAt(ctx, t0)
	if d, _ := l.CheckAt(ctx, t0, "k", 2); d.Admitted() || d.Remaining != 1 {
		t.Errorf("got %+v", d)
	}
}

// TestResetRace: while keys are reset all the time, a life admits no more than its limit, and no key lives twice.
func TestResetRace(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 256})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1), Burst: 4, NoDelay: true})
	var admitted, resets, twice atomic.Int64
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() { // ends after its requests
			for i := range scale(60_000) {
				if (i+w)%50 == 0 {
					_ = l.Reset(ctx, "k")
					resets.Add(1)
				} else if d, _ := l.TakeAt(ctx, t0, "k", 1); d.Admitted() {
					admitted.Add(1)
				}
				if i&7 == 0 && z.table.Load().twice(named(z, "k")) {
					twice.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if most := 5 * (resets.Load() + 1); admitted.Load() > most || twice.Load() > 0 || admitted.Load() < resets.Load() {
		t.Errorf("admitted %d in %d lives, seen twice %d times", admitted.Load(), resets.Load()+1, twice.Load())
	}
}

// TestInForce: a zone says something from its first charge until that has drained, in a table and in logs.
func TestInForce(t *testing.T) {
	for _, a := range []limitgate.Algorithm{
		limitgate.Req{Rate: limitgate.PerSecond(1)}, limitgate.Count{Limit: 2, Window: time.Second, Windowing: limitgate.Log},
	} {
		z := New(Config{})
		if z.InForce(t0) {
			t.Errorf("%T: a zone without a limit says something", a)
		}
		l := limiter(t, z, a)
		if z.InForce(t0) {
			t.Errorf("%T: an empty zone says something", a)
		}
		if _, err := l.TakeAt(context.Background(), t0, "k", 1); err != nil {
			t.Fatal(err)
		}
		if !z.InForce(t0.Add(time.Second-1)) || z.InForce(t0.Add(time.Second)) {
			t.Errorf("%T: want a second of debt in force for a second", a)
		}
	}
}

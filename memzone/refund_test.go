package memzone

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// kindsOfOne are limits of every kind of word that admit one request of a key at t0.
func kindsOfOne() map[string]limitgate.Algorithm {
	return map[string]limitgate.Algorithm{
		"req":     limitgate.Req{Rate: limitgate.PerDay(1)},
		"nginx":   limitgate.Req{Rate: limitgate.PerMinute(1), Arithmetic: limitgate.Nginx},
		"token":   limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 1},
		"sliding": limitgate.Count{Limit: 1, Window: time.Hour},
		"fixed":   limitgate.Count{Limit: 1, Window: time.Hour, Windowing: limitgate.Fixed},
		"pace":    limitgate.Pace{Rate: 1, Burst: 1, Queue: time.Nanosecond},
		"log":     limitgate.Count{Limit: 1, Window: time.Hour, Windowing: limitgate.Log},
	}
}

// TestReceiptsOfEarlierLives: what was charged before a reset, or before the state was evicted, is gone, whatever resizes come
// before or behind that; what was charged since is given back exactly.
func TestReceiptsOfEarlierLives(t *testing.T) {
	ctx := context.Background()
	for name, a := range kindsOfOne() {
		for _, resizes := range []string{"", "before", "between", "behind", "before between behind"} {
			t.Run(name+" "+resizes, func(t *testing.T) {
				z := New(Config{Bytes: 8 << 10})
				l := limiter(t, z, a)
				size := 8 << 10
				resize := func(when string) {
					if resizes == when || len(resizes) > 8 {
						size = 24<<10 - size
						if _, err := z.Resize(size, t0); err != nil {
							t.Fatal(err)
						}
					}
				}
				take := func() limitgate.Receipt {
					t.Helper()
					r, d, err := l.TakeReceiptAt(ctx, t0, "k", 1)
					if err != nil || !d.Admitted() {
						t.Fatalf("got %+v %v", d, err)
					}
					return r
				}
				first := take()
				resize("before")
				if err := l.Reset(ctx, "k"); err != nil {
					t.Fatal(err)
				}
				resize("between")
				second := take()
				resize("behind")
				if _ = first.RefundAt(ctx, t0); admitsOne(l) {
					t.Fatal("a charge from before the reset was given back")
				}
				if _ = second.RefundAt(ctx, t0); !admitsOne(l) {
					t.Fatal("the charge from behind the reset was not given back")
				}
			})
		}
	}
}

// TestReceiptOfAnEvictedLife: the key came back, at another place perhaps, before the resize.
func TestReceiptOfAnEvictedLife(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 256})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1)})
	for round := range 20 {
		if err := l.Reset(ctx, "k"); err != nil {
			t.Fatal(err)
		}
		first, _, _ := l.TakeReceiptAt(ctx, t0, "k", 1)
		for i := 0; !admitsOne(l); i++ {
			_, _ = l.TakeAt(ctx, t0, strconv.Itoa(round)+"/"+strconv.Itoa(i), 1)
		}
		second, _, _ := l.TakeReceiptAt(ctx, t0, "k", 1)
		for _, size := range []int{4 << 10, 8 << 10} { // no smaller: nothing more is evicted
			if _, err := z.Resize(size, t0); err != nil {
				t.Fatal(err)
			}
		}
		if _ = first.RefundAt(ctx, t0); admitsOne(l) {
			t.Fatal("a charge that was evicted was given back")
		}
		if _ = second.RefundAt(ctx, t0); !admitsOne(l) {
			t.Fatal("the charge of the life that goes on was not given back")
		}
		z = New(Config{Bytes: 256})
		l = limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1)})
	}
}

// TestReceiptsWhileResizing: each worker charges, resets and refunds keys of its own while the table is replaced all the time.
// No receipt pays for another life, and none of the life that goes on is lost.
func TestReceiptsWhileResizing(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 8 << 10})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1)})
	var stop atomic.Bool
	var resizes atomic.Int64
	var wg, rs sync.WaitGroup
	for w := range 6 {
		wg.Go(func() { // ends after its rounds
			for i := 0; i < scale(20000) || resizes.Load() < 3; i++ {
				key := strconv.Itoa(w) + "/" + strconv.Itoa(i%7)
				first, d, _ := l.TakeReceiptAt(ctx, t0, key, 1)
				if !d.Admitted() {
					t.Errorf("%s round %d: the charge before was not given back", key, i)
					return
				}
				_ = l.Reset(ctx, key)
				second, _, _ := l.TakeReceiptAt(ctx, t0, key, 1)
				_ = first.RefundAt(ctx, t0)
				if d, _ := l.CheckAt(ctx, t0, key, 1); d.Admitted() {
					t.Errorf("%s round %d: a charge from before a reset was given back", key, i)
					return
				}
				_ = second.RefundAt(ctx, t0)
			}
		})
	}
	rs.Go(func() { resizer(t, z, []int{16 << 10, 12 << 10, 8 << 10}, &stop, &resizes) }) // ends with stop
	wg.Wait()
	stop.Store(true)
	rs.Wait()
	if st := z.Stats(); st.HotEvictions > 0 {
		t.Errorf("%+v", st)
	}
}

// TestTrailIsBounded: what is kept of earlier resizes is no more than the table, or what it says; a receipt from before all that
// is paid by the state that its key has then.
func TestTrailIsBounded(t *testing.T) {
	ctx := context.Background()
	z := New(Config{Bytes: 1 << 20})
	l := limiter(t, z, limitgate.Req{Rate: limitgate.PerDay(1)})
	first, _, _ := l.TakeReceiptAt(ctx, t0, "k", 1)
	for i := range 10_000 {
		_, _ = l.TakeAt(ctx, t0, strconv.Itoa(i), 1)
	}
	for i := range 20 {
		if _, err := z.Resize(1<<20+i%2<<10, t0); err != nil {
			t.Fatal(err)
		}
	}
	moves := 0
	for _, s := range *z.trail.Load() {
		moves += len(s.moves)
	}
	if moves != 6*10_001 {
		t.Errorf("%d moves are kept, want those of the last six resizes", moves)
	}
	if _ = first.RefundAt(ctx, t0); !admitsOne(l) {
		t.Error("a charge from before the trail was not given back")
	}
}

func admitsOne(l *limitgate.Limiter) bool {
	d, _ := l.CheckAt(context.Background(), t0, "k", 1)
	return d.Admitted()
}

package memzone

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
)

// scale shortens loops in builds that are slow on purpose.
func scale(n int) int {
	switch {
	case racing.Detector:
		return n / 25
	case injecting:
		return n / 8
	}
	return n
}

// named gives the fingerprint of a key under the limit that was bound last.
func named(z *Zone, key string) uint64 {
	salt := uint64(0)
	if l := z.drain.Load(); l != nil {
		salt = l.Salt
	}
	return fingerprint(z.seed.sum(key) ^ salt)
}

// names are n keys and where their fingerprints lead back to.
func names(z *Zone, n int) ([]string, map[uint64]int) {
	ks := keys(n)
	of := map[uint64]int{}
	for i, k := range ks {
		of[named(z, k)] = i
	}
	return ks, of
}

// twice looks for two places of h that are live at one instant, and proves it by reading the first again.
func (t *table) twice(h uint64) bool {
	c := t.candidates(h)
	for i := range c.n {
		p := c.slot(i)
		a := atomic.LoadUint64(&p.W0)
		if a&^versionMask != h|live {
			continue
		}
		for k := i + 1; k < c.n; k++ {
			b := atomic.LoadUint64(&c.slot(k).W0)
			if b&^versionMask == h|live && atomic.LoadUint64(&p.W0) == a {
				return true
			}
		}
	}
	return false
}

// counted are limits whose states tell what was charged to them: 5 within a second of t0, then none for a while.
func counted() []struct {
	limit   limitgate.Algorithm
	charges func(s uint64) int64
} {
	debt := func(s uint64) int64 { return (int64(s) - int64(t0)) / int64(time.Millisecond) }
	return []struct {
		limit   limitgate.Algorithm
		charges func(s uint64) int64
	}{
		{limitgate.Req{Rate: limitgate.PerSecond(1000), Burst: 4, NoDelay: true}, debt},
		{limitgate.Token{Rate: limitgate.PerSecond(1000), Capacity: 5}, debt},
		{limitgate.Count{Limit: 5, Window: time.Second, Windowing: limitgate.Fixed}, func(s uint64) int64 { return int64(s & (1<<24 - 1)) }},
		{limitgate.Count{Limit: 5, Window: time.Second}, func(s uint64) int64 { return int64(s & (1<<20 - 1)) }},
	}
}

// TestEvictionConservation: in zones so small that the keys do not fit, every admitted request is charged in exactly one life
// of its own key, no life is charged more than its limit, and no key lives twice.
func TestEvictionConservation(t *testing.T) {
	for _, bytes := range []int{128, 256, 512} {
		for _, policy := range []Overflow{Evict, Reject} {
			for _, c := range counted() {
				t.Run(fmt.Sprintf("%d/%d/%v", bytes, policy, c.limit.Kind()), func(t *testing.T) {
					evictionConservation(t, New(Config{Bytes: bytes, Overflow: policy}), c.limit, c.charges)
				})
			}
		}
	}
}

func evictionConservation(t *testing.T, z *Zone, a limitgate.Algorithm, charges func(uint64) int64) {
	const workers, nkeys, limit = 8, 40, 5
	l := limiter(t, z, a)
	ks, of := names(z, nkeys)
	var admitted, gone [nkeys]atomic.Int64
	var bad, twice atomic.Int64
	z.gone = func(h, s uint64) {
		k, ok := of[h]
		if c := charges(s); !ok || c < 1 || c > limit {
			bad.Add(1)
		} else {
			gone[k].Add(c)
		}
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { // ends after its requests
			r := rand.New(rand.NewPCG(uint64(w), 3))
			for i := range scale(30000) {
				k := r.IntN(nkeys)
				if r.IntN(3) == 0 {
					k = r.IntN(4)
				}
				if d, _ := l.TakeAt(context.Background(), t0, ks[k], 1); d.Admitted() {
					admitted[k].Add(1)
				}
				if i&7 == 0 && z.table.Load().twice(named(z, ks[k])) {
					twice.Add(1)
				}
			}
		})
	}
	wg.Wait()
	lives := [nkeys]int64{}
	z.each(func(h, s uint64) {
		lives[of[h]]++
		gone[of[h]].Add(charges(s))
	})
	for k := range nkeys {
		if admitted[k].Load() != gone[k].Load() || lives[k] > 1 {
			t.Errorf("key %d: admitted %d, charged %d, in %d places", k, admitted[k].Load(), gone[k].Load(), lives[k])
		}
	}
	st := z.Stats()
	if bad.Load()+twice.Load() > 0 || z.Overflow() == Reject && st.HotEvictions > 0 {
		t.Errorf("%d impossible states, %d keys seen twice, %+v", bad.Load(), twice.Load(), st)
	}
}

// TestHeldAreNeverEvicted: places balance to zero in zones so small that not all keys fit.
func TestHeldAreNeverEvicted(t *testing.T) {
	const workers, nkeys, limit = 8, 60, 3
	z := New(Config{Bytes: 256})
	z.gone = func(_, s uint64) {
		if held(s) != 0 {
			t.Errorf("a state with %d held places lost its slot", held(s))
		}
	}
	l := limiter(t, z, limitgate.Conn{Limit: limit})
	ks := keys(nkeys)
	var over, noRoom atomic.Int64
	var count [nkeys]atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { // ends after its operations, holding nothing
			holder(l, ks, uint64(w), scale(100000), func(k int, d int64) {
				if d == 0 {
					noRoom.Add(1)
				} else if count[k].Add(d) > limit {
					over.Add(1)
				}
			})
		})
	}
	wg.Wait()
	if z.Held() != 0 || over.Load() > 0 {
		t.Errorf("left %d, over the limit %d", z.Held(), over.Load())
	}
	if noRoom.Load() == 0 {
		t.Error("the zone never was full: the test tests nothing")
	}
}

// holder takes and releases places at random and tells how many more of a key are held: 1, -1, and 0 for no room.
func holder(l *limitgate.Limiter, ks []string, seed uint64, ops int, tell func(k int, d int64)) {
	type mine struct {
		p limitgate.Place
		k int
	}
	ctx := context.Background()
	r := rand.New(rand.NewPCG(seed, 9))
	var ps []mine
	drop := func() {
		j := r.IntN(len(ps))
		tell(ps[j].k, -1)
		_ = ps[j].p.Release(ctx)
		ps[j] = ps[len(ps)-1]
		ps = ps[:len(ps)-1]
	}
	for i := range ops {
		if i%100 == 0 {
			runtime.Gosched() // let others see places held
		}
		if len(ps) > 0 && (len(ps) > 12 || r.IntN(5) < 2) {
			drop()
			continue
		}
		k := r.IntN(len(ks))
		switch p, d, _ := l.AcquireAt(ctx, t0, ks[k]); {
		case d.Admitted():
			tell(k, 1)
			ps = append(ps, mine{p, k})
		case d.NoRoom():
			tell(k, 0)
		}
	}
	for len(ps) > 0 {
		drop()
	}
}

// TestVersionGrows: the same key under the same slot, again and again, is a new life each time.
func TestVersionGrows(t *testing.T) {
	z := New(Config{Bytes: 128})
	l := limitOf(t, z)
	seen := map[uint64]bool{}
	for i := range 300 {
		now := t0.Add(time.Duration(i) * time.Minute)
		_, c, _ := z.Do(context.Background(), now, l, "k"+strconv.Itoa(i%9), 1, limitgate.Take)
		seen[c.Life] = true
	}
	if len(seen) < 10 {
		t.Errorf("300 inserts into 8 slots named %d lives", len(seen))
	}
}

// limitOf binds a limit as NewLimiter does.
func limitOf(t testing.TB, z *Zone) *limitgate.Limit {
	t.Helper()
	a := limitgate.Req{Rate: limitgate.PerSecond(1)}
	l := &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	if err := z.Bind(l); err != nil {
		t.Fatal(err)
	}
	return l
}

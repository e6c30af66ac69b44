package main

import (
	"context"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ulule "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// What every contestant allows a key.
const (
	perSecond = 1_000_000
	burst     = 1_000
)

// contestants read the clock in every decision. Ours is the first.
func contestants() []contestant {
	return []contestant{
		{name: "limitgate", make: func(keys int) (take, func()) {
			l := ours(keys)
			return func(key string, _ int64) bool {
				d, _ := l.Take(context.Background(), key)
				return d.Admitted()
			}, func() {}
		}},
		{name: "x/time/rate in a map", make: func(int) (take, func()) {
			m := rates{byKey: map[string]*rate.Limiter{}}
			return func(key string, _ int64) bool { return m.of(key).Allow() }, func() {}
		}},
		{name: "go-limiter", make: func(keys int) (take, func()) {
			s, err := memorystore.New(&memorystore.Config{Tokens: perSecond, Interval: time.Second, InitialAlloc: keys})
			must(err)
			return func(key string, _ int64) bool {
				_, _, _, ok, _ := s.Take(context.Background(), key)
				return ok
			}, func() { must(s.Close(context.Background())) }
		}},
		{name: "throttled", make: func(int) (take, func()) {
			g, _ := gcra()
			return g, func() {}
		}},
		{name: "ulule/limiter", make: func(int) (take, func()) {
			l := limiter.New(ulule.NewStore(), limiter.Rate{Period: time.Second, Limit: perSecond})
			return func(key string, _ int64) bool {
				c, _ := l.Get(context.Background(), key)
				return !c.Reached
			}, func() {}
		}},
		floor(true),
	}
}

// givenTime are those that can be told what time it is.
func givenTime() []contestant {
	return []contestant{
		{name: "limitgate", make: func(keys int) (take, func()) {
			l := ours(keys)
			return func(key string, now int64) bool {
				d, _ := l.TakeAt(context.Background(), limitgate.Time(now), key, 1)
				return d.Admitted()
			}, func() {}
		}},
		{name: "x/time/rate in a map", make: func(int) (take, func()) {
			m := rates{byKey: map[string]*rate.Limiter{}}
			return func(key string, now int64) bool { return m.of(key).AllowN(time.Unix(0, now), 1) }, func() {}
		}},
		{name: "throttled, its clock standing", make: func(int) (take, func()) {
			// It takes a clock once, not an instant each time: the cheapest clock is one that stands.
			g, store := gcra()
			now := time.Now()
			store.SetTimeNow(func() time.Time { return now })
			return g, func() {}
		}},
		floor(false),
	}
}

// ours is a limiter on a zone of the default size, or where that is too small on one that is three quarters full.
func ours(keys int) *limitgate.Limiter {
	zone := memzone.New(memzone.Config{Bytes: max(memzone.DefaultBytes, keys*16*4/3)})
	l, err := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(perSecond), Burst: burst - 1, NoDelay: true})
	must(err)
	return l
}

// rates is what everybody writes around x/time/rate.
type rates struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]*rate.Limiter
}

func (r *rates) of(key string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.byKey[key]
	if l == nil {
		l = rate.NewLimiter(perSecond, burst)
		r.byKey[key] = l
	}
	return l
}

// gcra is throttled on its memory store, without a bound, which is its faster form.
func gcra() (take, *memstore.MemStore) {
	store, err := memstore.New(0)
	must(err)
	g, err := throttled.NewGCRARateLimiterCtx(throttled.WrapStoreWithContext(store), throttled.RateQuota{MaxRate: throttled.PerSec(perSecond), MaxBurst: burst - 1})
	must(err)
	return func(key string, _ int64) bool {
		limited, _, _ := g.RateLimitCtx(context.Background(), key, 1)
		return !limited
	}, store
}

// must ends the program where a contestant can't be made.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

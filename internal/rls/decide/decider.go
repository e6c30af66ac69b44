package decide

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/stats"
	"github.com/limitgate/limitgate/internal/rls/tally"
	"github.com/limitgate/limitgate/memzone"
)

// Options are the settings that decide.
type Options struct {
	Shadow    bool    // answer OK whatever the limits say
	Quota     bool    // all rules are of quota mode
	StopOver  bool    // count nothing of a request that one rule refuses
	NearRatio float32 // of a limit, from which on a hit is near it; only counters tell
	Prefix    string  // of the keys of counters
}

// Zones are where states live. Zones of one name are one; a zone outlives the rules that use it.
type Zones interface {
	// Zone gives the zone of a name for limits that fail in a way. Kind and window are those of all limits that will be bound to it.
	Zone(name string, fail config.Fail, lease bool) (limitgate.Zone, error)

	// Leases tells whether the zones can lend: where not, a rule with a lease counts as one without.
	Leases() bool

	// Rebind begins a new table: limits that are bound from now on do not know of those bound before.
	Rebind()

	// Places are where the places of limits of requests at once are held.
	Places() Places
}

// Decider answers by one table of rules. It is safe for concurrent use.
type Decider struct {
	table     *match.Table
	options   Options
	counters  *stats.Registry
	cache     *Cache
	rules     []*bound // by Index
	overrides [config.Week + 1]*bound
	other     *stats.Rule // of limits that came with requests, where their names are too many
	places    Places
	works     sync.Pool
}

// bound is a rule with what it counts in.
type bound struct {
	zone     limitgate.Zone
	joint    limitgate.Joint    // zone, if it is one
	tally    *limitgate.Limit   // of algorithm fixed
	limiter  *limitgate.Limiter // of the others
	fail     config.Fail
	window   int64 // seconds
	fill     int64 // of buckets: ns for a token
	holds    int64 // of buckets: how many requests an unused one lets pass at once
	near     uint64
	counters *stats.Rule
}

// New binds the rules of a table. cache may be nil.
func New(t *match.Table, o Options, z Zones, r *stats.Registry, cache *Cache) (*Decider, error) {
	d := &Decider{table: t, options: o, counters: r, cache: cache, other: r.Rule("other"), places: z.Places()}
	z.Rebind()
	d.works.New = func() any { return new(work) }
	for _, rule := range t.Rules {
		b := &bound{counters: r.Rule(rule.Path), fail: rule.Limit.Fail}
		d.rules = append(d.rules, b)
		if rule.Limit.Unlimited || rule.Limit.Places > 0 {
			continue
		}
		if err := b.bind(&rule.Limit, z, o.NearRatio); err != nil {
			return nil, fmt.Errorf("%s: %w", rule.Pos, err)
		}
	}
	for u := config.Second; u <= config.Week; u++ {
		b := new(bound)
		if err := b.bind(&config.Limit{Unit: u, Multiplier: 1, Requests: math.MaxUint32}, z, o.NearRatio); err != nil {
			return nil, fmt.Errorf("limits of requests: %w", err)
		}
		d.overrides[u] = b
	}
	return d, nil
}

// near is the count from which on a limit is near, as envoyproxy/ratelimit rounds it. It is for counters only.
func near(limit uint32, ratio float32) uint64 {
	return uint64(math.Floor(float64(float32(limit) * ratio)))
}

// bind binds a limit to its zone.
func (b *bound) bind(l *config.Limit, z Zones, ratio float32) (err error) {
	window := l.Window()
	b.window, b.near = int64(window/time.Second), near(l.Requests, ratio)
	lease := l.Lease && z.Leases()
	name := l.Algorithm.String()
	var a limitgate.Algorithm
	switch {
	case l.Algorithm == config.Token || l.Algorithm == config.Leaky:
		rate := limitgate.Per(int64(l.Requests), window)
		b.fill = int64(rate.Interval())
		if l.Algorithm == config.Leaky {
			a, b.holds = limitgate.Req{Rate: rate, Burst: int64(l.Burst), NoDelay: true}, 1+int64(l.Burst)
			break
		}
		b.holds = int64(l.Requests)
		if l.HasBurst {
			b.holds = int64(l.Burst)
		}
		a = limitgate.Token{Rate: rate, Capacity: b.holds}
	case l.Algorithm == config.Sliding:
		a = limitgate.Count{Limit: int64(l.Requests), Window: window}
		name = fmt.Sprintf("sliding-%d", b.window)
	case lease:
		a = limitgate.Count{Limit: int64(l.Requests), Window: window, Windowing: limitgate.Fixed}
		name = fmt.Sprintf("lease-%d", b.window)
	default:
		t := tally.Tally{Limit: int64(l.Requests), Window: window}
		if b.zone, err = z.Zone("tally", l.Fail, false); err != nil {
			return err
		}
		b.tally = &limitgate.Limit{Algorithm: t, Kind: t.Kind(), Steps: t.Compile()}
		b.joint, _ = b.zone.(limitgate.Joint)
		return b.zone.Bind(b.tally)
	}
	if b.zone, err = z.Zone(name, l.Fail, lease); err != nil {
		return err
	}
	b.limiter, err = limitgate.NewLimiter(b.zone, a)
	return err
}

// Cache remembers which counters are over their limits, so that the store is not asked about them: LOCAL_CACHE_SIZE_IN_BYTES.
type Cache struct {
	zone  *memzone.Zone
	limit *limitgate.Limit
}

// minCache is what envoyproxy/ratelimit gives a cache at least.
const minCache = 512 << 10

// NewCache makes one; nil for 0 bytes.
func NewCache(bytes int) *Cache {
	if bytes == 0 {
		return nil
	}
	t := tally.Tally{Window: 365 * 24 * time.Hour} // what a key is about, its window, is part of it
	c := &Cache{zone: memzone.New(memzone.Config{Bytes: max(bytes, minCache)}), limit: &limitgate.Limit{Algorithm: t, Kind: t.Kind(), Steps: t.Compile()}}
	if err := c.zone.Bind(c.limit); err != nil {
		panic("decide: a new zone has no kind yet: " + err.Error())
	}
	return c
}

// over tells whether a counter is known to be over its limit.
func (c *Cache) over(now limitgate.Time, key string) bool {
	if c == nil {
		return false
	}
	d, _, _ := c.zone.Do(context.Background(), now, c.limit, key, 0, limitgate.Peek) // never fails
	return d.Remaining < 0
}

// note notes that a counter is.
func (c *Cache) note(now limitgate.Time, key string) {
	if c != nil {
		c.zone.Spend(now, c.limit, key, 1)
	}
}

package meter

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/top"
)

// Outcome is what became of a request at a limit.
type Outcome uint8

// The outcomes. Those of dry run did not happen: the request went on, and so it did where a limit only watched the key, because it is
// enforced for a part of its keys and not for this one. Local is what this instance decided for a store that did not
// answer, Open and Closed what nobody decided.
const (
	Passed Outcome = iota
	Delayed
	Refused
	NoRoom // refused because the zone had no place for one more key
	DryPassed
	DryDelayed
	DryRefused
	WatchedPassed
	WatchedDelayed
	WatchedRefused
	LocalPassed
	LocalDelayed
	LocalRefused
	Open
	Closed

	// Outcomes is their number.
	Outcomes
)

var outcomeNames = [Outcomes]string{"passed", "delayed", "refused", "no_room", "dry_run_passed", "dry_run_delayed", "dry_run_refused",
	"watched_passed", "watched_delayed", "watched_refused",
	"local_passed", "local_delayed", "local_refused", "fail_open", "fail_closed"}

// String is the outcome's name in metrics.
func (o Outcome) String() string { return outcomeNames[o] }

// limited tells whether the key was limited, or would have been.
func (o Outcome) limited() bool {
	switch o {
	case Delayed, Refused, DryDelayed, DryRefused, WatchedDelayed, WatchedRefused, LocalDelayed, LocalRefused:
		return true
	}
	return false
}

// lanes is in how many places counters are kept, so that processors don't wait for each other.
const lanes = 8

// lane is the counters of some connections, on cache lines of their own.
type lane struct {
	counts         [Outcomes]atomic.Uint64
	looked, direct atomic.Uint64 // requests that were looked at, and those no proxy brought
	_              [15]uint64
}

// Zone counts the decisions of one zone. A nil Zone counts nothing. It is safe for concurrent use.
type Zone struct {
	seed    maphash.Seed
	lanes   [lanes]lane
	waits   Histogram
	hits    atomic.Pointer[top.Sketch] // nil: nothing came yet
	limited atomic.Pointer[top.Sketch] // nil: nobody was limited yet

	unsaid atomic.Uint64 // refusals that could not say when to come again
	told   atomic.Int64  // when it was last told that one address is everybody
}

// waitBounds are the upper bounds of delays.
var waitBounds = []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second}

func newZone() *Zone { return &Zone{seed: maphash.MakeSeed(), waits: NewHistogram(waitBounds)} }

// Count counts a decision at now about a request of a key. Who calls says which lane: any number, the same for requests that don't
// come at the same time. wait is how long the request is delayed, or would be in dry run. The key is copied.
func (z *Zone) Count(now limitgate.Time, lane uint64, o Outcome, key string, wait time.Duration) {
	if z == nil {
		return
	}
	z.lanes[lane%lanes].counts[o].Add(1)
	hits := z.hits.Load()
	if hits == nil {
		hits = z.begin(&z.hits, now)
	}
	hits.Add(now, key, 0)
	if o != Passed && o.limited() {
		z.limit(now, key, wait)
	}
}

// limit counts a key that is limited.
func (z *Zone) limit(now limitgate.Time, key string, wait time.Duration) {
	limited := z.limited.Load()
	if limited == nil {
		limited = z.begin(&z.limited, now)
	}
	limited.Add(now, key, wait)
	if wait > 0 {
		z.waits.Observe(wait)
	}
}

// begin makes a sketch, with its first key.
func (z *Zone) begin(at *atomic.Pointer[top.Sketch], now limitgate.Time) *top.Sketch {
	at.CompareAndSwap(nil, top.New(z.seed, now))
	return at.Load()
}

// Unsaid counts a refusal without a Retry-After.
func (z *Zone) Unsaid() {
	if z != nil {
		z.unsaid.Add(1)
	}
}

// Look notes of one request in some whether it came from its client directly, not through a trusted proxy. lane is as for Count.
func (z *Zone) Look(lane uint64, direct bool) {
	if z == nil {
		return
	}
	l := &z.lanes[lane%lanes]
	l.looked.Add(1)
	if direct {
		l.direct.Add(1)
	}
}

// Tell reports whether the error log is to be told at now that one address is counted as everybody, and notes that it was: it was not
// for some time. Nobody's count tells always.
func (z *Zone) Tell(now limitgate.Time, within time.Duration) bool {
	if z == nil {
		return true
	}
	was := z.told.Load()
	if since := now.Sub(limitgate.Time(was)); was != 0 && since >= 0 && since < within {
		return false
	}
	return z.told.CompareAndSwap(was, int64(now))
}

// Counts are what a zone has counted since the process began.
type Counts struct {
	Outcomes [Outcomes]uint64
	Waits    Buckets
	Looked   uint64         // requests of which it is known where they came from
	Direct   uint64         // of these, that no trusted proxy brought
	Unsaid   uint64         // refusals without a Retry-After
	Told     limitgate.Time // when it was last told that one address is everybody; 0: never
}

// Sum is how many decisions there were.
func (c *Counts) Sum() (n uint64) {
	for _, o := range c.Outcomes {
		n += o
	}
	return n
}

// Counts reads the counters, one after the other.
func (z *Zone) Counts() Counts {
	c := Counts{Waits: z.waits.Read(), Unsaid: z.unsaid.Load(), Told: limitgate.Time(z.told.Load())}
	for i := range z.lanes {
		c.Looked += z.lanes[i].looked.Load()
		c.Direct += z.lanes[i].direct.Load()
		for o := range c.Outcomes {
			c.Outcomes[o] += z.lanes[i].counts[o].Load()
		}
	}
	return c
}

// Hits are the keys that came most in the last minutes, n of them at most.
func (z *Zone) Hits(now limitgate.Time, n int) top.View { return view(&z.hits, now, n) }

// Limited are the keys that were limited most in the last minutes, n of them at most.
func (z *Zone) Limited(now limitgate.Time, n int) top.View { return view(&z.limited, now, n) }

func view(at *atomic.Pointer[top.Sketch], now limitgate.Time, n int) top.View {
	if s := at.Load(); s != nil {
		return s.View(now, n)
	}
	return top.View{}
}

// Set is the counters of a process, those of its zones by name. It outlives configurations. The zero value has counted nothing; a nil Set
// counts nothing. It is safe for concurrent use.
type Set struct {
	mu     sync.Mutex // guards byName
	byName map[string]*Zone
}

// Zone returns the counters of a zone.
func (s *Set) Zone(name string) *Zone {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = map[string]*Zone{}
	}
	if s.byName[name] == nil {
		s.byName[name] = newZone()
	}
	return s.byName[name]
}

// Find returns the counters of a zone if there are any, else nil.
func (s *Set) Find(name string) *Zone {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// Keep forgets the counters of all zones but some. Configurations that are on their way out go on counting, and nobody sees it.
func (s *Set) Keep(stays func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.byName {
		if !stays(name) {
			delete(s.byName, name)
		}
	}
}

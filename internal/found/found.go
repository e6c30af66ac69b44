// Package found keeps, for the keys of a zone, the limits that find themselves: limit_conn with adaptive. It stands beside the zone, which
// holds the places and decides; it outlives the configuration as the zone does, and forgets keys that were not seen for the longest.
package found

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// Most is how many keys of a zone have a limit of their own at one time.
const Most = sets * ways

const (
	sets = 256
	ways = 4
)

// Table is the limits of a zone, by key. It is safe for concurrent use.
type Table struct {
	seed maphash.Seed
	sets [sets]set
}

// set is the keys whose hashes begin alike.
type set struct {
	mu     sync.Mutex // guards what follows
	limits [ways]*Limit
}

// New makes an empty table.
func New() *Table { return &Table{seed: maphash.MakeSeed()} }

// Limit is what is known of one key. It is safe for concurrent use.
type Limit struct {
	hash uint64
	seen limitgate.Time // guarded by the lock of its set

	mu       sync.Mutex // guards what follows, for some arithmetic
	estimate adaptive.Estimate
}

// Of gives the limit of a key. A key that is new takes the place of the one in its set that was seen least recently; requests of that one
// which are at work end as they began, and tell nobody.
func (t *Table) Of(key []byte, now limitgate.Time) *Limit {
	h := maphash.Bytes(t.seed, key)
	s := &t.sets[h%sets]
	s.mu.Lock()
	defer s.mu.Unlock()
	old := 0
	for i, l := range s.limits {
		switch {
		case l == nil:
			old = i
		case l.hash == h:
			l.seen = now
			return l
		case s.limits[old] != nil && l.seen < s.limits[old].seen:
			old = i
		}
	}
	s.limits[old] = &Limit{hash: h, seen: now}
	return s.limits[old]
}

// Site is where limits are asked: one limit_conn.
type Site struct {
	Config adaptive.Config // complete
	Now    func() limitgate.Time
}

// Now is the limit at a site.
func (l *Limit) Now(at *Site) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.estimate.Limit(&at.Config)
}

// Seat is a request that is counted by a limit. The zero Seat is none.
type Seat struct {
	limit *Limit
	site  *Site
	mark  adaptive.Mark
}

// Begin notes a request that got a place.
func (l *Limit) Begin(at *Site) Seat {
	now := at.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	return Seat{l, at, l.estimate.Begin(&at.Config, now)}
}

// End notes that it gave it back, once. took is how long the backend had it; below 0: as long as the place was held.
func (s *Seat) End(took time.Duration, o adaptive.Outcome) {
	l := s.limit
	if l == nil {
		return
	}
	s.limit = nil
	now := s.site.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if took < 0 {
		took = s.mark.Since(now)
	}
	l.estimate.End(&s.site.Config, now, s.mark, took, o)
}

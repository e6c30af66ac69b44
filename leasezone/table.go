package leasezone

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
)

const (
	ways   = 16  // places among which a key has its own
	shards = 128 // locks

	// longest is how long a key may be that has a place.
	longest = 256
)

// table is where entries are: so many and never more. A key has its place among few, by its hash; all limits on one key are among
// the same.
type table struct {
	seed    maphash.Seed
	buckets uint64
	prints  []uint64 // the hash of each entry's key: those of a bucket are two cache lines, to be looked at before the entries are
	entries []entry
	locks   [shards]lock
}

// lock guards the entries of the buckets whose numbers end alike.
type lock struct {
	sync.Mutex

	// refunds counts what was taken back in the zone: an answer to what was asked before says nothing of what is there now.
	refunds uint64

	_ [48]byte // a cache line each
}

// newTable makes one for so many keys.
func newTable(keys int) *table {
	n := uint64(max(keys, 1)+ways-1) / ways
	return &table{seed: maphash.MakeSeed(), buckets: n, prints: make([]uint64, n*ways), entries: make([]entry, n*ways)}
}

// bucket is the place of a key: its hash, the entries and their lock.
type bucket struct {
	print   uint64
	prints  []uint64
	entries []entry
	lock    *lock
}

// of gives the bucket of a key.
func (t *table) of(key string) bucket {
	h := maphash.String(t.seed, key)
	return t.at(h%t.buckets, h)
}

// at gives the bucket of a number.
func (t *table) at(n, print uint64) bucket {
	i, j := n*ways, (n+1)*ways
	return bucket{print, t.prints[i:j:j], t.entries[i:j:j], &t.locks[n%shards]}
}

// find gives the entry of a key by a limit; nil if there is none. The lock is held.
func (b *bucket) find(l *limitgate.Limit, key string) *entry {
	for i, p := range b.prints {
		if p != b.print {
			continue
		}
		if e := &b.entries[i]; e.limit == l && e.key == key {
			return e
		}
	}
	return nil
}

// add makes an entry, in a free place or in that of one that is worth nothing and was asked for longest ago; nil if there is no
// room. The lock is held.
func (b *bucket) add(now limitgate.Time, l *limitgate.Limit, key string, p plan) *entry {
	if len(key) > longest {
		return nil
	}
	best := -1
	for i := range b.entries {
		e := &b.entries[i]
		if e.limit == nil {
			best = i
			break
		}
		if e.worthless(now) && (best < 0 || e.last < b.entries[best].last) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	b.prints[best] = b.print
	b.entries[best] = entry{key: strings.Clone(key), limit: l, plan: p, size: 1, last: now}
	return &b.entries[best]
}

// note notes the state that the zone was seen in for all limits on the key: they share it. The lock is held.
func (b *bucket) note(a *limitgate.Ask, now limitgate.Time, took time.Duration) {
	for i := range b.entries {
		if e := &b.entries[i]; b.prints[i] == b.print && e.limit != nil && e.key == a.Key && e.limit.Kind == a.Limit.Kind && e.limit.Salt == a.Limit.Salt {
			if e.off == 0 {
				e.clock(a, now, took)
			}
			if e.off == 0 && a.At < e.seen { // the caller's time went back: what is there now may be less
				e.forget()
			}
			e.note(a)
		}
	}
}

package decide

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
)

// PlaceKey is the key of a last entry that is none: its value is the caller's name for a place of a limit of requests at once.
const PlaceKey = "limitgate.place"

// What is wrong with a request that is about places.
var (
	ErrPlace    = errors.New("a limit with concurrency needs a last entry " + PlaceKey + " with a name for the place")
	ErrNegative = errors.New("is_negative_hits gives back a place of a limit with concurrency, and nothing else can be given back")
)

// PlaceOp is what is done about a place.
type PlaceOp uint8

// What is done.
const (
	Look    PlaceOp = iota // only tell what is free
	Hold                   // hold it, or hold it for longer
	Release                // give it back
)

// PlaceAsk is what is asked of Places.
type PlaceAsk struct {
	Key, ID string
	Limit   int64
	Hold    time.Duration // how long it is held if nothing more is heard
	Op      PlaceOp
	Fail    config.Fail
}

// Places are where places are held: by a key, under names that callers give.
type Places interface {
	// Place does what is asked, and tells how many are free then. Held is false only of a Hold that found none free, or of a Look that
	// would.
	Place(ctx context.Context, now limitgate.Time, a PlaceAsk) (free int64, held bool, err error)
}

// MemoryPlaces are Places in memory. The zero MemoryPlaces is ready.
type MemoryPlaces struct {
	Most int // that are held at one time; 0 means a million

	mu    sync.Mutex // guards what follows
	keys  map[string]*crowd
	total int            // of all places, those that ran out included
	swept limitgate.Time // when those were last looked for
}

// crowd are the places of one key: never none.
type crowd struct {
	held  map[string]limitgate.Time // until when, by name
	first limitgate.Time            // none runs out before
}

const (
	defaultMost = 1 << 20
	sweepEvery  = limitgate.Time(time.Second)
)

// Place implements Places. It never fails.
func (m *MemoryPlaces) Place(_ context.Context, now limitgate.Time, a PlaceAsk) (free int64, held bool, err error) {
	a.Key, a.ID = short(a.Key), short(a.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(a.Key, now)
	n, has := int64(0), false
	mine := m.keys[a.Key]
	if mine != nil {
		n = int64(len(mine.held))
		_, has = mine.held[a.ID]
	}
	switch {
	case a.Op == Release:
		if has {
			delete(mine.held, a.ID)
			m.total--
			n--
		}
		if has && n == 0 {
			delete(m.keys, a.Key)
		}
		return max(a.Limit-n, 0), true, nil
	case a.Op == Look || !has && n >= a.Limit:
		return max(a.Limit-n, 0), n < a.Limit, nil
	}
	if !has && !m.room(now) {
		return 0, false, nil
	}
	until := now.Add(a.Hold)
	mine = m.keys[a.Key] // a sweep may have taken it
	if mine == nil {
		mine = &crowd{held: map[string]limitgate.Time{}, first: until}
		if m.keys == nil {
			m.keys = map[string]*crowd{}
		}
		m.keys[string([]byte(a.Key))] = mine // the key's memory is the caller's
	}
	if !has {
		m.total++
	}
	mine.held[string([]byte(a.ID))], mine.first = until, min(mine.first, until)
	return a.Limit - int64(len(mine.held)), true, nil
}

// longest is how long a key or a name may be that is kept as it is, in bytes.
const longest = 256

// short is a key or a name as it is kept. Clients say how long they are: of long ones a digest is kept.
func short(name string) string {
	if len(name) <= longest {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return string(digest[:])
}

// expire gives back the places of a key that ran out. It looks at them only when one may have.
func (m *MemoryPlaces) expire(key string, now limitgate.Time) {
	c := m.keys[key]
	if c == nil || now < c.first {
		return
	}
	c.first = math.MaxInt64
	for id, until := range c.held {
		if until <= now {
			delete(c.held, id)
			m.total--
		} else {
			c.first = min(c.first, until)
		}
	}
	if len(c.held) == 0 {
		delete(m.keys, key)
	}
}

// room tells whether one more may be held. If not, it gives back what ran out, of all keys, at most once a second.
func (m *MemoryPlaces) room(now limitgate.Time) bool {
	most := m.Most
	if most <= 0 {
		most = defaultMost
	}
	if since := now - m.swept; m.total >= most && (since < 0 || since >= sweepEvery) {
		m.swept = now
		m.sweep(now)
	}
	return m.total < most
}

// sweep gives back the places of all keys that ran out.
func (m *MemoryPlaces) sweep(now limitgate.Time) {
	for key := range m.keys {
		m.expire(key, now)
	}
}

// place asks for the place of a leg.
func (d *Decider) place(ctx context.Context, w *work, l *leg, now limitgate.Time) error {
	a := PlaceAsk{Key: w.keyOf(l), ID: l.place, Limit: int64(l.limit.Places), Hold: l.limit.Hold, Op: Hold, Fail: l.b.fail}
	switch {
	case l.release:
		a.Op = Release
	case l.add == 0:
		a.Op = Look
	}
	free, held, err := d.places.Place(ctx, now, a)
	switch {
	case err == nil:
		l.over, l.free = !held, free
	case l.b.fail == config.FailOpen:
		l.free = a.Limit
	case l.b.fail == config.FailClosed:
		l.closed, l.over = true, true
	default:
		return &StoreError{err}
	}
	return nil
}

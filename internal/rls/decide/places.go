package decide

import (
	"context"
	"errors"
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
	keys  map[string]map[string]limitgate.Time
	total int            // of all places, those that ran out included
	swept limitgate.Time // when those were last looked for
}

const (
	defaultMost = 1 << 20
	sweepEvery  = limitgate.Time(time.Second)
)

// Place implements Places. It never fails.
func (m *MemoryPlaces) Place(_ context.Context, now limitgate.Time, a PlaceAsk) (free int64, held bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mine := m.keys[a.Key]
	m.expire(mine, now)
	_, has := mine[a.ID]
	switch n := int64(len(mine)); {
	case a.Op == Release:
		if has {
			delete(mine, a.ID)
			m.total--
		}
		if len(mine) == 0 {
			delete(m.keys, a.Key)
		}
		return max(a.Limit-int64(len(mine)), 0), true, nil
	case a.Op == Look || !has && n >= a.Limit:
		return max(a.Limit-n, 0), n < a.Limit, nil
	}
	if !has && !m.room(now) {
		return 0, false, nil
	}
	mine = m.keys[a.Key] // a sweep may have taken it
	if mine == nil {
		mine = map[string]limitgate.Time{}
		if m.keys == nil {
			m.keys = map[string]map[string]limitgate.Time{}
		}
		m.keys[string([]byte(a.Key))] = mine // the key's memory is the caller's
	}
	if !has {
		m.total++
	}
	mine[string([]byte(a.ID))] = now.Add(a.Hold)
	return a.Limit - int64(len(mine)), true, nil
}

// expire gives back the places of a key that ran out.
func (m *MemoryPlaces) expire(held map[string]limitgate.Time, now limitgate.Time) {
	for id, until := range held {
		if until <= now {
			delete(held, id)
			m.total--
		}
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
	for key, held := range m.keys {
		if m.expire(held, now); len(held) == 0 {
			delete(m.keys, key)
		}
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

package leasezone

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/zonetest"
)

// t0 is an instant like any other, at which no window begins.
const t0 = limitgate.Time(1_800_000_000*int64(time.Second) + 123_456_789)

var errLost = errors.New("the reply was lost")

// distant is a zone that keeps states by the steps of limits, as a store does, and counts its calls.
type distant struct {
	*zonetest.Model // where states are no words

	offset time.Duration // of its own clock; 0: the caller's time decides
	during func()        // is called before each decision

	mu     sync.Mutex
	states map[string]word
	lives  uint64
	calls  int
	asked  int64 // the largest cost
	lose   int   // so many replies are lost
	backs  int   // charges given back
}

type word struct {
	s    limitgate.State
	life uint64
}

func newDistant() *distant {
	return &distant{Model: zonetest.NewModel(), states: map[string]word{}}
}

// name is what a state is called.
func name(l *limitgate.Limit, key string) string { return key + strconv.FormatUint(l.Salt, 36) }

// words tells whether the states of a limit are words.
func words(l *limitgate.Limit) bool {
	return l.Kind != limitgate.KindConn && l.Kind != limitgate.KindLog
}

// Do implements limitgate.Zone.
func (f *distant) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	if !words(l) {
		return f.Model.Do(ctx, now, l, key, cost, m)
	}
	if m == limitgate.Reset {
		f.mu.Lock()
		delete(f.states, name(l, key))
		f.mu.Unlock()
		return limitgate.Decision{}, limitgate.Charge{}, nil
	}
	if m == limitgate.Spend {
		m = limitgate.Take
	}
	asks := []limitgate.Ask{{Limit: l, Key: key, Cost: cost, Mode: m}}
	err := f.DoAll(ctx, now, asks)
	return asks[0].Decision, asks[0].Charge, err
}

// Joins implements limitgate.Joint.
func (f *distant) Joins(z limitgate.Zone) bool {
	_, is := z.(*distant)
	return is && z == limitgate.Zone(f)
}

// DoAll implements limitgate.Joint.
func (f *distant) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	if f.during != nil {
		f.during()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	now = now.Add(f.offset)
	all := true
	for i := range asks {
		q := &asks[i]
		f.asked = max(f.asked, int64(q.Cost))
		if q.Charge = (limitgate.Charge{}); words(q.Limit) {
			q.State, q.Decision = q.Limit.Step(f.states[name(q.Limit, q.Key)].s, now, q.Cost)
			q.At = now
		} else {
			q.Decision, _, _ = f.Model.Do(ctx, now, q.Limit, q.Key, q.Cost, min(q.Mode, limitgate.Check))
		}
		all = all && q.Decision.Admitted()
	}
	for i := range asks {
		q := &asks[i]
		n := name(q.Limit, q.Key)
		w := f.states[n]
		switch {
		case !words(q.Limit):
			if all && q.Mode == limitgate.Take {
				_, q.Charge, _ = f.Model.Do(ctx, now, q.Limit, q.Key, q.Cost, limitgate.Take)
			}
		case !q.Decision.Admitted() && q.Mode != limitgate.Peek && q.State != w.s:
			f.states[n] = word{q.State, w.life}
		case all && q.Mode == limitgate.Take:
			if w.life == 0 {
				f.lives += 2
				w.life = f.lives
			}
			q.Charge = limitgate.Charge{Life: w.life, Before: w.s, After: q.State}
			f.states[n] = word{q.State, w.life}
		}
	}
	if f.lose > 0 {
		f.lose--
		return errLost
	}
	return nil
}

// RefundKey implements limitgate.Keyed.
func (f *distant) RefundKey(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backs++
	if !words(l) {
		return f.Refund(ctx, now, l, c)
	}
	if w := f.states[name(l, key)]; w.life == c.Life && c != (limitgate.Charge{}) {
		f.states[name(l, key)] = word{l.Steps.Undo(w.s, c.Before, c.After, now.Add(f.offset)), w.life}
	}
	return nil
}

// GiveBack implements Strict.
func (f *distant) GiveBack(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	for _, q := range asks {
		f.mu.Lock()
		behind := f.states[name(q.Limit, q.Key)].s != q.Charge.After
		f.mu.Unlock()
		if _, window := q.Limit.Algorithm.(limitgate.Count); behind && !window {
			continue
		}
		_ = f.RefundKey(ctx, now, q.Limit, q.Key, q.Charge)
	}
	return nil
}

// lost forgets all, as a store that fails over without having copied anything.
func (f *distant) lost() {
	f.mu.Lock()
	clear(f.states)
	f.mu.Unlock()
}

// leaseOf makes a zone that does nothing on its own.
func leaseOf(t testing.TB, inner Strict, c Config) *Zone {
	t.Helper()
	c.Zone, c.Every = inner, -1
	z, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// bind binds a limit or ends the test.
func bind(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

package leasezone

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// t0 is an instant like any other, at which no window begins.
const t0 = limitgate.Time(1_800_000_000*int64(time.Second) + 123_456_789)

var errLost = errors.New("the reply was lost")

// distant is a zone that keeps states by the steps of limits, as a store does, and counts its calls.
type distant struct {
	offset time.Duration // of its own clock; 0: the caller's time decides
	during func()        // is called before each decision

	mu     sync.Mutex
	bound  *limitgate.Bound
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
	return &distant{bound: new(limitgate.Bound), states: map[string]word{}}
}

// Bind implements limitgate.Zone.
func (f *distant) Bind(l *limitgate.Limit) error { return f.bound.Join(l) }

// Do implements limitgate.Zone.
func (f *distant) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	if m == limitgate.Reset {
		f.mu.Lock()
		delete(f.states, key)
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
func (f *distant) Joins(z limitgate.Zone) bool { return z == limitgate.Zone(f) }

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
		q.State, q.Decision = q.Limit.Step(f.states[q.Key].s, now, q.Cost)
		q.At, q.Charge = now, limitgate.Charge{}
		all = all && q.Decision.Admitted()
	}
	for i := range asks {
		q := &asks[i]
		w := f.states[q.Key]
		switch {
		case !q.Decision.Admitted() && q.Mode != limitgate.Peek && q.State != w.s:
			f.states[q.Key] = word{q.State, w.life}
		case all && q.Mode == limitgate.Take:
			if w.life == 0 {
				f.lives += 2
				w.life = f.lives
			}
			q.Charge = limitgate.Charge{Life: w.life, Before: w.s, After: q.State}
			f.states[q.Key] = word{q.State, w.life}
		}
	}
	if f.lose > 0 {
		f.lose--
		return errLost
	}
	return nil
}

// Refund implements limitgate.Zone.
func (f *distant) Refund(context.Context, limitgate.Time, *limitgate.Limit, limitgate.Charge) error {
	return errors.New("needs a key")
}

// RefundKey implements limitgate.Keyed.
func (f *distant) RefundKey(_ context.Context, now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backs++
	if w := f.states[key]; w.life == c.Life && c != (limitgate.Charge{}) {
		f.states[key] = word{l.Steps.Undo(w.s, c.Before, c.After, now.Add(f.offset)), w.life}
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
		behind := f.states[q.Key].s != q.Charge.After
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

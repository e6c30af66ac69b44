package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

var errGone = errors.New("connection refused")

// remote is a zone elsewhere: one in memory that fails, hangs until the call ends, or answers, as the test says.
type remote struct {
	*memzone.Zone
	mode  atomic.Int32 // answers, fails, hangs
	calls atomic.Int64

	mu   sync.Mutex
	held int // places
}

const (
	answers int32 = iota
	fails
	hangs
)

func newRemote() *remote { return &remote{Zone: memzone.New(memzone.Config{})} }

func (r *remote) answer(ctx context.Context) error {
	r.calls.Add(1)
	switch r.mode.Load() {
	case fails:
		return errGone
	case hangs:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// Do implements limitgate.Zone.
func (r *remote) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	if err := r.answer(ctx); err != nil {
		return d, c, err
	}
	d, c, err = r.Zone.Do(ctx, now, l, key, cost, m)
	if l.Kind == limitgate.KindConn && m == limitgate.Take && d.Admitted() {
		r.mu.Lock()
		r.held++
		r.mu.Unlock()
	}
	return d, c, err
}

// Refund implements limitgate.Zone.
func (r *remote) Refund(ctx context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	if err := r.answer(ctx); err != nil {
		return err
	}
	if l.Kind == limitgate.KindConn {
		r.mu.Lock()
		r.held--
		r.mu.Unlock()
	}
	return r.Zone.Refund(ctx, now, l, c)
}

func (r *remote) places() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// roster is one that a test writes.
type roster struct {
	mu    sync.Mutex
	names []string
	left  []string
	fails bool
	signs int
}

// Sign implements Roster.
func (r *roster) Sign(_ context.Context, name string, _ time.Duration) (live, left []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signs++
	if r.fails {
		return nil, nil, errGone
	}
	return append([]string{name}, r.names...), r.left, nil
}

// Leave implements Roster.
func (r *roster) Leave(_ context.Context, name string, _ time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails {
		return errGone
	}
	r.left = append(r.left, name)
	return nil
}

func (r *roster) set(fails bool, names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails, r.names = fails, names
}

// shelf is a remote that decides on several limits in one go.
type shelf struct{ *remote }

// Joins implements limitgate.Joint.
func (shelf) Joins(z limitgate.Zone) bool { _, is := z.(shelf); return is }

// DoAll implements limitgate.Joint.
func (s shelf) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	if err := s.answer(ctx); err != nil {
		return err
	}
	all := true
	for i := range asks {
		a := &asks[i]
		a.Decision, _, _ = a.Zone.(shelf).Zone.Do(ctx, now, a.Limit, a.Key, a.Cost, min(a.Mode, limitgate.Check))
		all = all && a.Decision.Admitted()
	}
	for i := range asks {
		if a := &asks[i]; all && a.Mode.Charges() {
			a.Decision, a.Charge, _ = a.Zone.(shelf).Zone.Do(ctx, now, a.Limit, a.Key, a.Cost, a.Mode)
		}
	}
	return nil
}

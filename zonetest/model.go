package zonetest

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/limitgate/limitgate"
)

var _ limitgate.Zone = (*Model)(nil)

// Model is a zone of one map and one lock that never forgets a key: the reference for real ones.
type Model struct {
	mu     sync.Mutex // guards what follows
	kind   limitgate.Kind
	bound  limitgate.Bound
	states map[uint64]limitgate.State
	seed   maphash.Seed
}

// NewModel makes an empty one.
func NewModel() *Model {
	return &Model{states: map[uint64]limitgate.State{}, seed: maphash.MakeSeed()}
}

// Bind implements limitgate.Zone.
func (m *Model) Bind(l *limitgate.Limit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kind != limitgate.KindNone && m.kind != l.Kind {
		return fmt.Errorf("model zone: holds states of kind %v, not %v", m.kind, l.Kind)
	}
	m.kind = l.Kind
	l.Bound = &m.bound
	m.bound.Raise(l.Steps.Span())
	return nil
}

// Do implements limitgate.Zone.
func (m *Model) Do(_ context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, mode limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := maphash.String(m.seed, key)
	s := m.states[h]
	n, d := l.Step(s, now, cost)
	if mode == limitgate.Peek || mode == limitgate.Check && d.Admitted() {
		return d, limitgate.Charge{}, nil
	}
	if n != 0 {
		m.states[h] = n
	}
	if !d.Admitted() {
		return d, limitgate.Charge{}, nil
	}
	return d, limitgate.Charge{Key: h, Before: s, After: n}, nil
}

// Refund implements limitgate.Zone.
func (m *Model) Refund(_ context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c != (limitgate.Charge{}) {
		m.states[c.Key] = l.Steps.Undo(m.states[c.Key], c.Before, c.After, now)
	}
	return nil
}

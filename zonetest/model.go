package zonetest

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/limitgate/limitgate"
)

var _ limitgate.Zone = (*Model)(nil)

// Model is a zone of one map and one lock that never forgets a key: the reference for real ones.
type Model struct {
	mu     sync.Mutex // guards what follows
	kind   limitgate.Kind
	bound  *limitgate.Bound
	states map[uint64]*state
	lives  uint64
	seed   maphash.Seed
}

// state is what a key has: a word, or a log.
type state struct {
	life   uint64
	word   limitgate.State
	stamps times
}

// NewModel makes an empty one.
func NewModel() *Model {
	return &Model{states: map[uint64]*state{}, bound: new(limitgate.Bound), seed: maphash.MakeSeed()}
}

// Rebind begins a new configuration.
func (m *Model) Rebind() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bound = new(limitgate.Bound)
}

// Bind implements limitgate.Zone.
func (m *Model) Bind(l *limitgate.Limit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kind != limitgate.KindNone && m.kind != l.Kind {
		return fmt.Errorf("model zone: holds states of kind %v, not %v", m.kind, l.Kind)
	}
	m.kind = l.Kind
	return m.bound.Join(l)
}

// Do implements limitgate.Zone.
func (m *Model) Do(_ context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, mode limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if mode == limitgate.Spend {
		mode = limitgate.Take
	}
	h := maphash.String(m.seed, key) ^ l.Salt
	if mode == limitgate.Reset {
		delete(m.states, h)
		return limitgate.Decision{}, limitgate.Charge{}, nil
	}
	s := m.states[h]
	if s == nil {
		m.lives++
		s = &state{life: m.lives}
	}
	c := limitgate.Charge{Key: h, Life: s.life}
	var a limitgate.Decision
	if g, ok := l.Steps.(*limitgate.LogSteps); ok {
		stamps, a2 := log(g, s.stamps, now, cost, l.Bound.Full())
		a, c.Before, c.After = a2, limitgate.State(cost), limitgate.State(stamps.last())
		if mode == limitgate.Take || mode == limitgate.Check && !a.Admitted() {
			s.stamps = stamps
		}
	} else {
		var n limitgate.State
		n, a = l.Step(s.word, now, cost)
		c.Before, c.After = s.word, n
		if mode == limitgate.Take || mode == limitgate.Check && !a.Admitted() {
			s.word = n
		}
	}
	if mode != limitgate.Peek {
		m.states[h] = s
	}
	if mode != limitgate.Take || !a.Admitted() {
		c = limitgate.Charge{}
	}
	return a, c, nil
}

// times are stamps, oldest first.
type times []limitgate.Time

// last is the newest one.
func (t times) last() limitgate.Time {
	if len(t) == 0 {
		return 0
	}
	return t[len(t)-1]
}

// log decides by a log and gives the one to store. The old one is not to be used after a Take.
func log(g *limitgate.LogSteps, old times, now limitgate.Time, cost limitgate.Cost, bound int64) (times, limitgate.Decision) {
	all := old
	if old.last() > g.Cut(now) {
		all = slices.Clone(old)
		for i := range all {
			all[i] = min(all[i], g.Cut(now))
		}
	}
	held := all
	for len(held) > 0 && held[0] <= g.Since(now) {
		held = held[1:]
	}
	if full := int(max(g.Full(), bound)); len(held) > full {
		held = held[len(held)-full:]
	}
	a := g.Decide(now, cost, int64(len(held)), func(n int64) limitgate.Time { return held[n] })
	if !a.Admitted() {
		return all, a
	}
	stamp := max(now, 0, held.last())
	for range cost {
		held = append(held, stamp)
	}
	return held, a
}

// Refund implements limitgate.Zone.
func (m *Model) Refund(_ context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[c.Key]
	if s == nil || s.life != c.Life {
		return nil
	}
	if _, ok := l.Steps.(*limitgate.LogSteps); !ok {
		s.word = l.Steps.Undo(s.word, c.Before, c.After, now)
		return nil
	}
	left := c.Before
	s.stamps = slices.DeleteFunc(s.stamps, func(t limitgate.Time) bool {
		if left == 0 || limitgate.State(t) != c.After {
			return false
		}
		left--
		return true
	})
	return nil
}

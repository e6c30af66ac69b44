package limitgate

import (
	"context"
	"errors"
	"fmt"
)

// Conn limits how many requests of a key are in work at once: each holds a place from Acquire to Release.
type Conn struct {
	// Limit is how many places a key has, at least 1.
	Limit int64
}

var (
	_ Algorithm = Conn{}
	_ Steps     = connSteps{}
)

// maxConn is what four columns of 16 bits can count.
const maxConn = 4 * 65535

// Validate says what is wrong with c.
func (c Conn) Validate() error {
	if c.Limit < 1 || c.Limit > maxConn {
		return fmt.Errorf("limit of requests at once: %d is not between 1 and %d", c.Limit, maxConn)
	}
	return nil
}

// Kind is KindConn.
func (c Conn) Kind() Kind { return KindConn }

// Compile gives the steps.
func (c Conn) Compile() Steps { return connSteps{c.Limit} }

// connSteps counts. The state is the number of places held.
type connSteps struct{ limit int64 }

// Step implements Steps.
func (c connSteps) Step(s State, _ Time, cost Cost, _ int64) (State, Decision) {
	held := int64(min(s, maxConn))
	if free := c.limit - held; int64(cost) > free {
		return s, Decision{Outcome: Rejected, Excess: addExcess(Excess(1-free)*1000, cost)}
	}
	return State(held + int64(cost)), Decision{Remaining: c.limit - held - int64(cost)}
}

// Undo implements Steps.
func (c connSteps) Undo(s, before, after State, _ Time) State {
	return s - min(s, after-min(before, after))
}

// DrainAt implements Steps: time frees no place.
func (c connSteps) DrainAt(s State, _ Time) Time {
	if s == 0 {
		return 0
	}
	return Never
}

// Full implements Steps.
func (c connSteps) Full() int64 { return 0 }

// Place is a held place of a Conn limit. The zero Place is none. It belongs to one goroutine at a time, and is not to be
// copied once somebody may release it: each copy would give the place back.
type Place struct {
	limiter *Limiter
	charge  Charge
}

// Held tells whether there is a place to release.
func (p *Place) Held() bool { return p.limiter != nil }

// Release gives the place back, once: a second call does nothing. It needs no key and works after the zone was resized
// and after the limit it was acquired through was replaced. A release is not cancelled by ctx in zones in memory.
func (p *Place) Release(ctx context.Context) error {
	l := p.limiter
	if l == nil {
		return nil
	}
	p.limiter = nil
	return l.zone.Refund(ctx, 0, &l.limit, p.charge)
}

// ErrKind says that a call does not fit the limit: a Conn limit is acquired and released, any other is taken.
var ErrKind = errors.New("a limit of requests at once is acquired and released, any other is taken")

// Acquire is AcquireAt now.
func (l *Limiter) Acquire(ctx context.Context, key string) (Place, Decision, error) {
	return l.AcquireAt(ctx, Now(), key)
}

// AcquireAt takes one of key's places at now. The Place is zero when the decision is Rejected, or with an error.
// It fails with ErrKind unless the limit is a Conn.
func (l *Limiter) AcquireAt(ctx context.Context, now Time, key string) (Place, Decision, error) {
	if l.limit.Kind != KindConn {
		return Place{}, undecided(), fmt.Errorf("acquiring a place: %w", ErrKind)
	}
	d, c, err := l.zone.Do(ctx, now, &l.limit, key, 1, Take)
	if err != nil {
		return Place{}, undecided(), err
	}
	if !d.Admitted() {
		return Place{}, d, nil
	}
	return Place{limiter: l, charge: c}, d, nil
}

// AcquireAll takes a place for each leg, in order. The first leg that refuses is the verdict's; what was taken until then
// is given back at once. Otherwise places, which must be as long as legs, holds what to release, and the verdict's leg
// is the one with the fewest places left. The decision of each leg that was asked is left in it. The costs are 1. Each leg
// takes a place of its own: two legs should not name one state.
//
// A dry run asks the same way: a request that would be refused holds nothing.
func AcquireAll(ctx context.Context, now Time, legs []Leg, places []Place) (Verdict, error) {
	v := Verdict{Leg: -1}
	if len(places) < len(legs) {
		return Verdict{Decision: undecided(), Leg: -1}, fmt.Errorf("%d limits on one request, but room for %d places", len(legs), len(places))
	}
	for i := range legs {
		legs[i].Decision = Decision{}
	}
	if inOneGo(legs) {
		return acquireTogether(ctx, now, legs, places)
	}
	for i := range legs {
		var err error
		places[i], legs[i].Decision, err = legs[i].Limiter.AcquireAt(ctx, now, legs[i].Key)
		d := legs[i].Decision
		if err == nil && d.Admitted() {
			if v.Leg < 0 || d.Remaining < v.Remaining {
				v.Decision, v.Leg = d, i
			}
			continue
		}
		for j := i - 1; j >= 0; j-- {
			if e := places[j].Release(ctx); e != nil {
				err = errors.Join(err, fmt.Errorf("giving back a place: %w", e))
			}
		}
		return Verdict{Decision: d, Leg: i}, err
	}
	return v, nil
}

package limitgate

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Limiter applies one limit to the keys of one zone. It is small, immutable and safe for concurrent use.
type Limiter struct {
	zone    Zone
	spender Spender // zone, if it is one and the limit is none of places
	limit   Limit
	turns   *Limit // what Wait asks, where the limit promises turns
	keyed   Keyed  // zone, if it is one and the limit is none of places
	joint   Joint  // zone, if it is one
}

// NewLimiter binds a limit to a zone. It fails if the parameters are wrong, or if the zone already holds states of another
// kind. Several limits may share a zone: those with the same key share its state.
func NewLimiter(z Zone, a Algorithm) (*Limiter, error) {
	if z == nil || a == nil {
		return nil, errors.New("limiter: needs a zone and an algorithm, neither may be nil")
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{zone: z, limit: Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}}
	if c, ok := a.(Count); ok {
		l.limit.Salt = c.salt()
	}
	if err := z.Bind(&l.limit); err != nil {
		return nil, fmt.Errorf("binding a limit to its zone: %w", err)
	}
	l.joint, _ = z.(Joint)
	if l.limit.Kind != KindConn {
		l.spender, _ = z.(Spender)
		l.keyed, _ = z.(Keyed)
	}
	if p, ok := l.limit.Steps.(promiser); ok {
		if s := p.promises(); s != nil {
			l.turns = new(Limit)
			*l.turns = l.limit
			l.turns.Steps = s
			l.turns.quicken()
		}
	}
	return l, nil
}

// Algorithm gives the parameters the limiter was made with.
func (l *Limiter) Algorithm() Algorithm { return l.limit.Algorithm }

// Zone gives the zone the limiter works on.
func (l *Limiter) Zone() Zone { return l.zone }

// undecided is what comes with an error.
func undecided() Decision { return Decision{Outcome: Rejected} }

// Take is TakeAt now, for a request of cost 1.
func (l *Limiter) Take(ctx context.Context, key string) (Decision, error) {
	return l.TakeAt(ctx, Now(), key, 1)
}

// TakeAt decides on a request of key at now and charges it if it is admitted, now or after a delay. The zone keeps no part
// of key. It fails if cost is below 1, with ErrKind if the limit is a Conn, and if the zone can't decide; the decision that
// comes with an error is Rejected, so that who drops the error refuses.
func (l *Limiter) TakeAt(ctx context.Context, now Time, key string, cost Cost) (Decision, error) {
	if l.spender != nil && cost >= 1 {
		return l.spender.Spend(now, &l.limit, key, cost), nil
	}
	if cost < 1 || l.limit.Kind == KindConn {
		return undecided(), l.fits(cost)
	}
	d, _, err := l.zone.Do(ctx, now, &l.limit, key, cost, Spend)
	if err != nil {
		return undecided(), err
	}
	return d, nil
}

// CheckAt tells what TakeAt, or AcquireAt, would answer, and changes nothing.
func (l *Limiter) CheckAt(ctx context.Context, now Time, key string, cost Cost) (Decision, error) {
	if cost < 1 {
		return undecided(), costError(cost)
	}
	d, _, err := l.zone.Do(ctx, now, &l.limit, key, cost, Peek)
	if err != nil {
		return undecided(), err
	}
	return d, nil
}

// Reset forgets what key was charged: afterwards it is one that nobody has seen, and receipts from before are for nothing. It
// fails with ErrKind if the limit is a Conn, whose places are released.
func (l *Limiter) Reset(ctx context.Context, key string) error {
	if err := l.fits(1); err != nil {
		return err
	}
	_, _, err := l.zone.Do(ctx, 0, &l.limit, key, 1, Reset)
	return err
}

// refund gives back what was charged to key by limit, the limiter's own or the one of turns.
func (l *Limiter) refund(ctx context.Context, now Time, limit *Limit, key string, c Charge) error {
	if l.keyed != nil {
		return l.keyed.RefundKey(ctx, now, limit, key, c)
	}
	return l.zone.Refund(ctx, now, limit, c)
}

// keep gives the key to be kept with a charge: none, where the charge is enough.
func (l *Limiter) keep(key string) string {
	if l.keyed == nil {
		return ""
	}
	return strings.Clone(key)
}

// fits tells whether the limit can be taken with this cost.
func (l *Limiter) fits(cost Cost) error {
	if cost < 1 {
		return costError(cost)
	}
	if l.limit.Kind == KindConn {
		return fmt.Errorf("taking from a limit: %w", ErrKind)
	}
	return nil
}

func costError(c Cost) error { return fmt.Errorf("cost %d: must be at least 1", c) }

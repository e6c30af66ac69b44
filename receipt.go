package limitgate

import (
	"context"
	"errors"
	"fmt"
)

// Receipt is for one charge, to give back exactly this later: of a request that failed and is not to count. The zero Receipt
// is for nothing. It belongs to one goroutine at a time, and is not to be copied once somebody may refund it.
type Receipt struct {
	limiter *Limiter
	key     string // where the zone needs it
	charge  Charge
}

// Charged tells whether there is something to refund.
func (r *Receipt) Charged() bool { return r.limiter != nil }

// Refund is RefundAt now.
func (r *Receipt) Refund(ctx context.Context) error { return r.RefundAt(ctx, Now()) }

// RefundAt gives back at now what was charged, or what is left of it: what has leaked, slid out of its window or been
// evicted since is gone. A second call does nothing.
func (r *Receipt) RefundAt(ctx context.Context, now Time) error {
	l := r.limiter
	if l == nil {
		return nil
	}
	r.limiter = nil
	return l.refund(ctx, now, &l.limit, r.key, r.charge)
}

// TakeReceiptAt is TakeAt with a receipt, which is zero unless the request was admitted.
func (l *Limiter) TakeReceiptAt(ctx context.Context, now Time, key string, cost Cost) (r Receipt, d Decision, err error) {
	if err = l.fits(cost); err != nil {
		return r, undecided(), err
	}
	d, c, err := l.zone.Do(ctx, now, &l.limit, key, cost, Take)
	if err != nil {
		return r, undecided(), err
	}
	if d.Admitted() {
		r.limiter, r.key, r.charge = l, l.keep(key), c
	}
	return r, d, nil
}

// RefundAll gives back at now what All charged to legs it admitted. A second call does nothing.
func RefundAll(ctx context.Context, now Time, legs []Leg) error {
	return refundAll(ctx, now, legs, false)
}

// RefundPart gives back at now what is worth cost of what All charged to a leg, in one step: of a request that turned out to cost less.
// What stays charged was so all the time, so that nobody is admitted in its place. A cost of all that the leg was charged, or more, is all
// of it; below 1 is nothing. What stays can be given back later.
func RefundPart(ctx context.Context, now Time, leg *Leg, cost Cost) error {
	switch {
	case cost < 1 || leg.charge == (Charge{}):
		return nil
	case cost >= leg.Cost:
		return leg.refund(ctx, now, false)
	}
	p, ok := leg.Limiter.limit.Steps.(divisible)
	if !ok {
		return errors.New("giving back a part of a charge: these steps know of none")
	}
	part, rest := p.split(leg.charge, cost)
	if err := leg.Limiter.refund(ctx, now, &leg.Limiter.limit, leg.kept, part); err != nil {
		return fmt.Errorf("giving back a part of a charge: %w", err)
	}
	leg.charge, leg.Cost = rest, leg.Cost-cost
	return nil
}

// LeaveAll is RefundAll for a request that leaves before its turn. Of a leg that delays it, it gives back what no later grant was
// promised after it, as Limiter.Wait does: else who asks next would be promised a turn that somebody has.
func LeaveAll(ctx context.Context, now Time, legs []Leg) error {
	return refundAll(ctx, now, legs, true)
}

func refundAll(ctx context.Context, now Time, legs []Leg, leaves bool) error {
	var err error
	for i := range legs {
		if e := legs[i].refund(ctx, now, leaves); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}

// refund gives back all that the leg was charged.
func (l *Leg) refund(ctx context.Context, now Time, leaves bool) error {
	if l.charge == (Charge{}) {
		return nil
	}
	limit := &l.Limiter.limit
	if leaves && l.Decision.Outcome == Delayed && l.Limiter.turns != nil {
		limit = l.Limiter.turns
	}
	err := l.Limiter.refund(ctx, now, limit, l.kept, l.charge)
	if l.charge = (Charge{}); err != nil {
		return fmt.Errorf("giving back a charge: %w", err)
	}
	return nil
}

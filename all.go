package limitgate

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
)

// Leg is one of several limits on one request. A caller keeps a slice of them, fills in the first three and hands it to
// All or AcquireAll, which leave each leg's own decision in it. Empty legs are not allowed: a limit that does not apply
// to a request is left out.
type Leg struct {
	Limiter *Limiter
	Key     string
	Cost    Cost // 0 means 1

	// Decision is what this limit says; of a leg that was not asked it is the zero Decision.
	Decision Decision

	charge Charge
	kept   string // the key, where the zone needs it to take the charge back
}

// Verdict is what several limits say together.
type Verdict struct {
	// Decision: Rejected with the numbers of the first leg that refuses, but the longest RetryAfter of all that would
	// refuse now (0 if one of them has none); else the decision of the leg with the longest delay, of the later one where
	// they are equal; else that of the leg with the least remaining.
	Decision

	// Leg is the index of the leg the decision is from; -1 if there were no legs.
	Leg int

	// Late: all legs passed when asked, then the named one moved and no longer did, again and again. What had been charged was
	// taken back. A zone that has a method Contended, such as memzone's, was told.
	Late bool
}

const (
	maxLegs  = 64 // that the bit sets in All can name
	maxTries = 8  // at charging legs that all passed
)

// contended is implemented by zones that count what All gives up.
type contended interface{ Contended() }

// All decides on one request by several limits at once. Either all legs admit it and all are charged, or none is: in dry
// run, too, a request that would be refused leaves no trace, and one that would wait is charged.
//
// All legs are checked, then charged, the tightest first; when one moved in between and no longer passes, what was
// charged is taken back by the exact amount, and all legs are asked again. When that has happened several times over, the
// request is refused, without a time after which to retry. Legs may live in different zones. Legs that name the same state (one
// zone, one key, such as two bursts) each judge it, and it is charged once, by the leg with the highest cost.
//
// It makes no garbage. It fails if a leg can't be taken (Limiter.TakeAt), if there are more than 64, and if a zone can't
// decide; then nothing stays charged, as far as the zones can be reached.
func All(ctx context.Context, now Time, legs []Leg) (Verdict, error) {
	if len(legs) > maxLegs {
		return Verdict{Decision: undecided(), Leg: -1}, fmt.Errorf("%d limits on one request: at most %d", len(legs), maxLegs)
	}
	elsewhere := false
	for i := range legs {
		l := &legs[i]
		l.Decision, l.charge = Decision{}, Charge{}
		elsewhere = elsewhere || l.Limiter.joint != nil
		if l.Cost == 0 {
			l.Cost = 1
		}
		if err := l.Limiter.fits(l.Cost); err != nil {
			return Verdict{Decision: undecided(), Leg: i}, err
		}
	}
	if len(legs) == 1 {
		l := &legs[0]
		var err error
		l.charge, err = l.take(ctx, now)
		return Verdict{Decision: l.Decision}, err
	}
	if elsewhere {
		return together(ctx, now, legs)
	}
	var v Verdict
	for range maxTries {
		refused := -1
		for i := range legs {
			l := &legs[i]
			var err error
			if _, err = l.do(ctx, now, Check); err != nil {
				return Verdict{Decision: undecided(), Leg: i}, err
			}
			if l.Decision.Outcome == Rejected && refused < 0 {
				refused = i
			}
		}
		if refused >= 0 {
			return Verdict{Leg: refused}.refused(legs[refused].Decision, legs), nil
		}
		var err error
		if v, err = account(ctx, now, legs, chargers(legs), 0); err != nil || !v.Late {
			return v, err
		}
	}
	return v.late(legs), nil
}

// late is the verdict after the last try.
func (v Verdict) late(legs []Leg) Verdict {
	if z, ok := legs[v.Leg].Limiter.zone.(contended); ok {
		z.Contended()
	}
	if !v.NoRoom() {
		v.Decision = v.until(0)
	}
	return v
}

// do has the leg's limit decide, and leaves the decision in the leg.
func (l *Leg) do(ctx context.Context, now Time, m Mode) (Charge, error) {
	d, c, err := l.Limiter.zone.Do(ctx, now, &l.Limiter.limit, l.Key, l.Cost, m)
	if err != nil {
		l.Decision = undecided()
		return Charge{}, err
	}
	l.Decision = d
	return c, nil
}

// take charges the leg's limit.
func (l *Leg) take(ctx context.Context, now Time) (Charge, error) {
	if l.Limiter.keyed != nil {
		l.kept = l.Limiter.keep(l.Key)
	}
	return l.do(ctx, now, Take)
}

// chargers are the legs that charge their states.
func chargers(legs []Leg) uint64 {
	todo := uint64(1)<<len(legs) - 1 // all ones for 64
	for i := range legs {
		if !charges(legs, i) {
			todo &^= 1 << i
		}
	}
	return todo
}

// account charges those of todo, legs that all pass; charged are the ones that are already.
func account(ctx context.Context, now Time, legs []Leg, todo, charged uint64) (Verdict, error) {
	for todo != 0 {
		i := tightest(legs, todo)
		todo &^= 1 << i
		l := &legs[i]
		c, err := l.take(ctx, now)
		if err == nil && l.Decision.Admitted() {
			l.charge = c
			charged |= 1 << i
			continue
		}
		err = errors.Join(err, takeBack(ctx, now, legs, charged))
		v := Verdict{Leg: i, Late: true}.refused(l.Decision, legs)
		return v, err
	}
	return binding(legs), nil
}

// takeBack refunds the charged legs.
func takeBack(ctx context.Context, now Time, legs []Leg, charged uint64) error {
	var err error
	for ; charged != 0; charged &= charged - 1 {
		l := &legs[bits.TrailingZeros64(charged)]
		if e := l.Limiter.refund(ctx, now, &l.Limiter.limit, l.kept, l.charge); e != nil {
			err = errors.Join(err, fmt.Errorf("taking back a charge: %w", e))
		}
		l.charge = Charge{}
	}
	return err
}

// charges tells whether leg i is the one that charges its state: of the legs with the same state the one with the highest
// cost, and of those the tightest.
func charges(legs []Leg, i int) bool {
	a := &legs[i]
	for j := range legs {
		b := &legs[j]
		if j == i || b.Key != a.Key || b.Limiter.zone != a.Limiter.zone || b.Limiter.limit.Salt != a.Limiter.limit.Salt {
			continue
		}
		switch {
		case b.Cost != a.Cost:
			if b.Cost > a.Cost {
				return false
			}
		case b.Decision.Remaining != a.Decision.Remaining:
			if b.Decision.Remaining < a.Decision.Remaining {
				return false
			}
		case j < i:
			return false
		}
	}
	return true
}

// tightest is the leg of todo with the least remaining: with much of it, a leg rarely flips after others were charged.
func tightest(legs []Leg, todo uint64) int {
	best := bits.TrailingZeros64(todo)
	for s := todo & (todo - 1); s != 0; s &= s - 1 {
		if i := bits.TrailingZeros64(s); legs[i].Decision.Remaining < legs[best].Decision.Remaining {
			best = i
		}
	}
	return best
}

// binding is the verdict of legs that were all admitted.
func binding(legs []Leg) Verdict {
	v := Verdict{Leg: -1}
	for i := range legs {
		d := &legs[i].Decision
		switch {
		case v.Leg < 0, d.Delay() > v.Delay(), d.Delay() == v.Delay() && d.Delay() > 0,
			d.Delay() == v.Delay() && d.Remaining < v.Remaining:
			v.Decision, v.Leg = *d, i
		}
	}
	return v
}

// refused makes v the refusal d, with the longest RetryAfter of all legs that refuse.
func (v Verdict) refused(d Decision, legs []Leg) Verdict {
	v.Decision = d
	for i := range legs {
		wait := legs[i].Decision.RetryAfter()
		switch {
		case v.RetryAfter() == 0:
			return v
		case wait > 0:
			v.Decision = v.until(max(v.RetryAfter(), wait))
		case legs[i].Decision.Outcome == Rejected:
			v.Decision = v.until(0)
		}
	}
	return v
}

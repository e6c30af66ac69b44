package guard

import (
	"context"

	"github.com/limitgate/limitgate"
)

var (
	_ limitgate.Joint = (*view)(nil)
	_ limitgate.Keyed = (*view)(nil)
	_ limitgate.Keyed = (*Zone)(nil)
)

// Joins implements limitgate.Joint: zones of one store go together where the zones in it do.
func (v *view) Joins(z limitgate.Zone) bool {
	other, is := z.(*view)
	if !is || other.store != v.store {
		return false
	}
	inner, joint := v.inner.(limitgate.Joint)
	return joint && inner.Joins(other.inner)
}

// DoAll implements limitgate.Joint. Where the store does not answer, each ask is decided by the fallback of its own limit; all pass
// or nothing is charged, there too.
func (v *view) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	inner, joint := v.inner.(limitgate.Joint)
	if !joint {
		return v.doOne(ctx, now, &asks[0]) // nothing Joins it
	}
	far := make([]limitgate.Ask, len(asks))
	for i := range asks {
		far[i] = asks[i]
		far[i].Zone = asks[i].Zone.(*view).inner
	}
	if v.near != nil && v.near.NearAll(now, far) {
		for i := range far {
			asks[i].Decision, asks[i].Charge = far[i].Decision, far[i].Charge
		}
		return nil
	}
	err, gone := v.store.call(ctx, now, func(ctx context.Context) error { return inner.DoAll(ctx, now, far) })
	if gone != nil {
		return gone
	}
	if err != nil {
		allWithout(ctx, now, asks, err)
		return nil
	}
	all := true
	for i := range far {
		all = all && far[i].Decision.Admitted()
	}
	for i := range asks {
		a, z := &asks[i], asks[i].Zone.(*view)
		a.Decision, a.Charge = far[i].Decision, z.keep(ctx, now, &far[i], all)
	}
	return nil
}

// doOne is DoAll for the only ask.
func (v *view) doOne(ctx context.Context, now limitgate.Time, a *limitgate.Ask) (err error) {
	a.Decision, a.Charge, err = v.Do(ctx, now, a.Limit, a.Key, a.Cost, a.Mode)
	return err
}

// keep keeps what the store said to an ask, and gives the charge to hand out. all tells whether all that were asked passed.
func (v *view) keep(ctx context.Context, now limitgate.Time, a *limitgate.Ask, all bool) limitgate.Charge {
	switch {
	case a.Limit.Kind == limitgate.KindConn:
		if all && a.Mode == limitgate.Take {
			return v.places.add(a.Key, place{stored: true, limit: a.Limit, charge: a.Charge, cost: a.Cost})
		}
		return limitgate.Charge{}
	case !a.Decision.Admitted(), all && a.Mode.Charges():
		v.mirror.remember(ctx, now, a.Limit, a.Key, a.Cost, a.Decision)
	}
	return a.Charge
}

// allWithout decides on asks without the store.
func allWithout(ctx context.Context, now limitgate.Time, asks []limitgate.Ask, why error) {
	all := true
	for i := range asks {
		a := &asks[i]
		a.Decision, a.Charge = a.Zone.(*view).without(ctx, now, a.Limit, a.Key, a.Cost, min(a.Mode, limitgate.Check), why)
		all = all && a.Decision.Admitted()
	}
	for i := range asks {
		if a := &asks[i]; all && a.Mode.Charges() {
			a.Decision, a.Charge = a.Zone.(*view).without(ctx, now, a.Limit, a.Key, a.Cost, a.Mode, why)
		}
	}
}

// RefundKey implements limitgate.Keyed, as Refund does.
func (z *Zone) RefundKey(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) error {
	if l.Kind == limitgate.KindConn || c.Life&ours != 0 {
		return z.Refund(ctx, now, l, c)
	}
	err, _ := z.store.call(ctx, now, func(ctx context.Context) error {
		if k, keyed := z.inner.(limitgate.Keyed); keyed {
			return k.RefundKey(ctx, now, l, key, c)
		}
		return z.inner.Refund(ctx, now, l, c)
	})
	if err != nil {
		z.store.unpaid.Add(1)
	}
	return nil
}

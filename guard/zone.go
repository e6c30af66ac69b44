package guard

import (
	"context"
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
)

// Zone stands around a zone in a store. It is a limitgate.Zone itself, whose limits fall back as NoFallback says: to this instance's
// share where it is known how many there are, and open otherwise. Fail gives the same zone with another fallback.
type Zone struct {
	store  *Store
	inner  limitgate.Zone
	near   Near // inner, if it is one
	mirror *mirror
	places places
	views  [4]view // by Fallback
}

// view is a zone for limits with one fallback.
type view struct {
	*Zone
	fallback limitgate.Fallback
}

var (
	_ limitgate.Zone = (*Zone)(nil)
	_ limitgate.Zone = (*view)(nil)
)

// Zone makes the zone around inner, with a mirror of so many bytes: 24 for each key of which something is to be known when the
// store fails. 0 means a megabyte.
func (s *Store) Zone(inner limitgate.Zone, bytes int) *Zone {
	if bytes <= 0 {
		bytes = 1 << 20
	}
	z := &Zone{store: s, inner: inner, mirror: newMirror(bytes)}
	z.near, _ = inner.(Near)
	z.places.init()
	for f := range z.views {
		z.views[f] = view{z, limitgate.Fallback(f)}
	}
	return z
}

// Fail gives the zone for limits that fall back by f. All these zones are one: they share its states. A request should not be asked
// by two limits of different fallbacks on one key of it, because it would be charged by both.
func (z *Zone) Fail(f limitgate.Fallback) limitgate.Zone {
	return &z.views[min(f, limitgate.FailLocal)]
}

// Inner is the zone that it stands around.
func (z *Zone) Inner() limitgate.Zone { return z.inner }

// Mirror is the memory in which it remembers what was last known.
func (z *Zone) Mirror() *memzone.Zone { return z.mirror.zone }

// Rebind begins a new configuration, in the inner zone, if that has such a method, and in the mirror: limits bound from now on do
// not know of those bound before.
func (z *Zone) Rebind() {
	if r, ok := z.inner.(interface{ Rebind() }); ok {
		r.Rebind()
	}
	z.mirror.rebind()
}

// Bind implements limitgate.Zone.
func (z *Zone) Bind(l *limitgate.Limit) error { return z.bind(l) }

// Do implements limitgate.Zone. It fails only if ctx ends, or a key can't be reset.
func (z *Zone) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return z.views[0].Do(ctx, now, l, key, cost, m)
}

// Refund implements limitgate.Zone. It never fails: of what can't be given back a store is told later, if it was a place, and
// never otherwise; then it drains.
func (z *Zone) Refund(ctx context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	if l.Kind == limitgate.KindConn {
		z.release(ctx, now, c)
		return nil
	}
	if c.Life&ours != 0 {
		c.Life &^= ours
		return z.mirror.refund(ctx, now, l, c)
	}
	err, _ := z.store.call(ctx, now, func(ctx context.Context) error { return z.inner.Refund(ctx, now, l, c) })
	if err != nil {
		z.store.unpaid.Add(1)
	}
	return nil
}

func (z *Zone) bind(l *limitgate.Limit) error {
	if err := z.inner.Bind(l); err != nil {
		return fmt.Errorf("guarded zone: %w", err)
	}
	return nil
}

// ours is the bit of Charge.Life that tells a charge of the mirror, or a place, from one of the inner zone.
const ours = 1

// Do implements limitgate.Zone.
func (v *view) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	if v.near != nil {
		if d, c, ok := v.near.Near(now, l, key, cost, m); ok {
			return d, c, nil
		}
	}
	err, gone := v.store.call(ctx, now, func(ctx context.Context) error {
		var err error
		d, c, err = v.inner.Do(ctx, now, l, key, cost, m)
		return err
	})
	switch {
	case gone != nil:
		return limitgate.Decision{Outcome: limitgate.Rejected}, limitgate.Charge{}, gone
	case err != nil && m == limitgate.Reset:
		return limitgate.Decision{Outcome: limitgate.Rejected}, limitgate.Charge{}, err
	case err != nil:
		d, c = v.without(ctx, now, l, key, cost, m, err)
		return d, c, nil
	case m == limitgate.Reset:
		v.mirror.forget(ctx, l, key)
	case l.Kind == limitgate.KindConn:
		if m == limitgate.Take && d.Admitted() {
			c = v.places.add(key, place{stored: true, limit: l, charge: c, cost: cost})
		}
	case m.Charges() || !d.Admitted():
		v.mirror.remember(ctx, now, l, key, cost, d)
	}
	return d, c, nil
}

// without decides without the store.
func (v *view) without(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode, why error) (d limitgate.Decision, c limitgate.Charge) {
	by := v.by()
	switch {
	case by == limitgate.FailClosed:
		d = limitgate.Decision{Outcome: limitgate.Rejected}
	case l.Kind == limitgate.KindConn:
		d, c = v.places.without(l, key, cost, m, by, v.store.instances())
	case by == limitgate.FailOpen:
		_, fresh := l.Step(0, now, cost)
		d.Remaining = fresh.Remaining // nothing is known of the key
	default:
		d, c = v.mirror.decide(ctx, now, l, key, cost, m, v.store.instances())
	}
	if m.Charges() || m == limitgate.Check && !d.Admitted() {
		v.store.fell(now, by, why)
	}
	return d.By(by), c
}

// by is what decides in place of the store.
func (v *view) by() limitgate.Fallback {
	switch {
	case v.fallback != limitgate.NoFallback:
		return v.fallback
	case v.store.Live() > 0:
		return limitgate.FailLocal
	}
	return limitgate.FailOpen
}

// instances is among how many a limit is shared.
func (s *Store) instances() int64 { return max(s.live.Load(), 1) }

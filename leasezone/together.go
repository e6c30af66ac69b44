package leasezone

import (
	"context"
	"time"

	"github.com/limitgate/limitgate"
)

// Joins implements limitgate.Joint: what the zones they borrow from can be asked together can be asked together here.
func (z *Zone) Joins(other limitgate.Zone) bool {
	o, ok := other.(*Zone)
	return ok && z.inner.Joins(o.inner)
}

// leg is an ask that goes on to the other zone.
type leg struct {
	ask   *limitgate.Ask
	zone  *Zone
	plan  plan
	entry *entry // if it borrows; it has a flight then
	dry   bool   // and its limit was reached
	seen  uint64 // refunds of the key's lock when it was asked
}

// NearAll decides without a call, if what is known suffices: for all of them, or for a refusal of one.
func (z *Zone) NearAll(now limitgate.Time, asks []limitgate.Ask) bool {
	if legs, refused := nearAll(now, asks); len(legs) > 0 && !refused {
		takeBack(now, asks)
		return false
	}
	return true
}

// nearAll decides on what it can without a call, and gives the others. If one is refused nothing stays charged, and the others are of
// no interest.
func nearAll(now limitgate.Time, asks []limitgate.Ask) (legs []leg, refused bool) {
	for i := range asks {
		q := &asks[i]
		of, ok := q.Zone.(*Zone), false
		if q.Decision, q.Charge, ok = of.Near(now, q.Limit, q.Key, q.Cost, q.Mode); !ok {
			legs = append(legs, leg{ask: q, zone: of, plan: planOf(q.Limit, of.lease)})
		}
		refused = refused || ok && q.Decision.Outcome == limitgate.Rejected
	}
	if refused {
		takeBack(now, asks)
	}
	return legs, refused
}

// DoAll implements limitgate.Joint. What one of them refuses by what is known is refused without a call, and the others are not asked
// then; else those that need a call are asked in one, or in two if there was less left than was to be borrowed, unless one of them
// waits for a whole batch to be there.
func (z *Zone) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	legs, refused := nearAll(now, asks)
	if refused || len(legs) == 0 {
		return nil
	}
	more := false // is to be borrowed than the requests need
	sub := make([]limitgate.Ask, len(legs))
	for i := range legs {
		sub[i] = legs[i].prepare(now)
		more = more || sub[i].Cost > legs[i].ask.Cost
	}
	begin := time.Now()
	err := z.inner.DoAll(ctx, now, sub)
	if more && err == nil && !admitted(sub) && !patient(legs, sub) {
		for i := range legs {
			sub[i].Cost = legs[i].ask.Cost // only what is needed, then
		}
		begin = time.Now()
		err = z.inner.DoAll(ctx, now, sub)
	}
	took := time.Since(begin)
	for i := range legs {
		legs[i].done(ctx, now, &sub[i], took, err)
	}
	if err != nil || !admitted(sub) {
		takeBack(now, asks)
	}
	return err
}

// admitted tells whether all asks passed.
func admitted(asks []limitgate.Ask) bool {
	for i := range asks {
		if !asks[i].Decision.Admitted() {
			return false
		}
	}
	return true
}

// patient tells whether one was refused that waits for a whole batch to be there, as it will go on doing.
func patient(legs []leg, sub []limitgate.Ask) bool {
	for i := range legs {
		if legs[i].dry && sub[i].Cost > legs[i].ask.Cost && !sub[i].Decision.Admitted() {
			return true
		}
	}
	return false
}

// takeBack takes back what was charged in vain, in memory: where the batch is gone by now, when the zone gives back next.
func takeBack(now limitgate.Time, asks []limitgate.Ask) {
	for i := range asks {
		q := &asks[i]
		of := q.Zone.(*Zone)
		if q.Charge != (limitgate.Charge{}) && q.Charge.Life&leased != 0 && !of.putBack(now, q.Limit, q.Key, q.Charge) {
			q.Charge.Key, q.Charge.Life = 0, q.Charge.Life&^leased
			of.later(limitgate.Ask{Zone: of.inner, Limit: q.Limit, Key: q.Key, Cost: q.Cost, Charge: q.Charge})
		}
		q.Charge = limitgate.Charge{}
	}
}

// prepare gives the ask for the other zone: of more than is needed, if the key has room to borrow and nobody does just now.
func (g *leg) prepare(now limitgate.Time) limitgate.Ask {
	q := limitgate.Ask{Zone: g.zone.inner, Limit: g.ask.Limit, Key: g.ask.Key, Cost: g.ask.Cost, Mode: g.ask.Mode}
	if !q.Mode.Charges() || g.plan.most == 0 || g.zone.closed.Load() {
		g.zone.single.Add(1)
		return q
	}
	b := g.zone.table.of(q.Key)
	b.lock.Lock()
	defer b.lock.Unlock()
	g.seen = b.lock.refunds
	e := g.zone.entry(&b, now, q.Limit, q.Key, g.plan)
	if e == nil || e.flight != nil || g.plan.most == 1 {
		g.zone.single.Add(1)
		return q
	}
	n, ok := e.next(now, q.Cost)
	if !ok {
		g.zone.single.Add(1)
		return q
	}
	g.zone.borrows.Add(1)
	g.entry, g.dry, e.flight = e, e.dry, &flight{done: make(chan struct{})}
	q.Cost = limitgate.Cost(n)
	return q
}

// done notes the answer to an ask, and makes it that of the leg.
func (g *leg) done(ctx context.Context, now limitgate.Time, a *limitgate.Ask, took time.Duration, err error) {
	r := answer{cost: g.ask.Cost, took: took, refunds: g.seen, err: err}
	b := g.zone.table.of(g.ask.Key)
	switch {
	case g.entry != nil:
		b.lock.Lock()
		g.zone.land(ctx, now, &b, g.entry, a, r)
		b.lock.Unlock()
	case err != nil:
		g.zone.failed.Add(1)
	case g.plan.most > 0 && a.Mode.Charges():
		g.zone.learn(now, &b, a, r, g.plan)
	}
	g.ask.Decision, g.ask.Charge = a.Decision, a.Charge
}

package admit

import (
	"context"
	"errors"
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// Asked is what the limits of requests have said of the work, for who tells a client what they leave it.
type Asked struct {
	// Legs have their decisions; they are the visit's memory. None: no limit of requests was asked, or a zone could not decide.
	Legs    []limitgate.Leg
	At      limitgate.Time // when they were asked
	Charged bool           // the work was charged, and is still
}

// Asked is to be called between Ask and End.
func (v *Visit) Asked() Asked {
	if !v.known {
		return Asked{}
	}
	return Asked{v.requests.legs, v.at, v.charged}
}

// Limit is the limit of one of the legs of Asked.
func (v *Visit) Limit(leg int) int { return v.requests.spans[leg].limit }

// Holds tells whether the work holds a place of any limit, so that somebody has to see when it ends.
func (v *Visit) Holds() bool {
	for i := range v.places {
		if v.places[i].Held() {
			return true
		}
	}
	return v.ticket.Held()
}

// Charged tells whether a limit of requests has charged the work, so that it matters how that ends.
func (v *Visit) Charged(limit int) bool { return v.charged && v.leg(limit) != nil }

// GiveBack gives back what the work was charged by one limit, exactly. A limit that did not charge it gets nothing.
func (v *Visit) GiveBack(ctx context.Context, limit int) error {
	if leg := v.leg(limit); leg != nil {
		v.calm.Context = ctx
		return limitgate.RefundAll(&v.calm, v.gate.config.Now(), leg)
	}
	return nil
}

// Settle has one limit charge what the work has cost in the end: what is less than it was charged is given back, exactly, and of what is
// more it takes all, or as much as is left. A limit that did not charge the work takes nothing.
func (v *Visit) Settle(ctx context.Context, limit int, cost limitgate.Cost) error {
	leg := v.leg(limit)
	if leg == nil || !v.charged {
		return nil
	}
	v.calm.Context = ctx
	now, less := v.gate.config.Now(), leg[0].Cost-max(cost, 0)
	if less > 0 {
		return limitgate.RefundPart(&v.calm, now, &leg[0], less)
	}
	return spend(&v.calm, now, leg[0].Limiter, leg[0].Key, -less)
}

// leg is that of a limit of requests, alone; nil: it takes no part.
func (v *Visit) leg(limit int) []limitgate.Leg {
	for i := range v.requests.spans {
		if v.requests.spans[i].limit == limit {
			return v.requests.legs[i : i+1]
		}
	}
	return nil
}

// spend takes cost, or as much as is left.
func spend(ctx context.Context, now limitgate.Time, l *limitgate.Limiter, key string, cost limitgate.Cost) error {
	const tries = 4 // others may be faster: then less is left
	for range tries {
		if cost < 1 {
			return nil
		}
		d, err := l.TakeAt(ctx, now, key, cost)
		if err != nil {
			return fmt.Errorf("charging what the work has cost: %w", err)
		}
		if d.Admitted() {
			return nil
		}
		left, err := l.CheckAt(ctx, now, key, 1)
		if err != nil {
			return fmt.Errorf("charging what the work has cost: %w", err)
		}
		if !left.Admitted() {
			return nil
		}
		cost = min(cost, limitgate.Cost(left.Remaining)+1)
	}
	return nil
}

// Learn tells the limit that finds itself how the work ended, which it does now. Without, it learns nothing from it.
func (v *Visit) Learn(o adaptive.Outcome) {
	if v.ticket.Held() {
		v.ticket.Done(v.gate.config.Now(), o)
	}
}

// Cancel is End for work that did not take place: all that it was charged is given back.
func (v *Visit) Cancel(ctx context.Context) error { return errors.Join(v.refund(ctx), v.End(ctx)) }

// Release gives back the places, whatever has become of ctx. It is for work that goes on in other hands, whose visit is never ended:
// it may be called while another goroutine settles, and a second call does nothing.
func (v *Visit) Release(ctx context.Context) error { return v.release(context.WithoutCancel(ctx)) }

func (v *Visit) release(ctx context.Context) error {
	var err error
	for i := range v.places {
		p := &v.places[i]
		if !p.Held() {
			continue
		}
		if e := p.Release(ctx); e != nil {
			err = errors.Join(err, fmt.Errorf("giving back a place: %w", e))
		}
	}
	v.gate.queues.released(v)
	return err
}

// End gives back the places, whatever has become of ctx, and the visit to its gate: it is not to be used any more. A visit that was
// refused is ended too.
func (v *Visit) End(ctx context.Context) error {
	v.Learn(adaptive.Ignored)
	v.calm.Context = ctx
	err := v.release(&v.calm)
	v.calm.Context = nil
	if v.keys, v.places = v.keys[:0], v.places[:0]; cap(v.keys) > keptKeys {
		v.keys = nil
	}
	v.requests.clear()
	v.conns.clear()
	v.known, v.charged = false, false
	v.gate.memory.Put(v)
	return err
}

func (s *side) clear() {
	clear(s.legs)
	s.legs, s.spans = s.legs[:0], s.spans[:0]
}

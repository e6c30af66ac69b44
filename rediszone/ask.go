package rediszone

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/limitgate/limitgate"
)

// ask is what a script is asked about one key, and what it says.
type ask struct {
	zone  *Zone
	limit *limitgate.Limit
	key   string // as it is stored
	cost  limitgate.Cost
	mode  limitgate.Mode
	place uint64 // what the place is called that may be acquired

	of    string // the client's key: what one slot holds
	index int    // among the asks of a caller

	form     limitgate.Form // set by write
	decision limitgate.Decision
	charge   limitgate.Charge
	state    limitgate.State // after the decision
	at       limitgate.Time  // of the decision
}

// newAsk makes one for a client's key.
func (z *Zone) newAsk(l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) ask {
	a := ask{zone: z, limit: l, key: z.key(l, key), cost: cost, mode: m}
	if a.acquires() {
		a.place = z.places.Load().next()
	}
	return a
}

// acquires tells whether the ask is for a place to be held.
func (a *ask) acquires() bool { return a.limit.Kind == limitgate.KindConn && a.mode.Charges() }

// write gives the script's argument for the ask, to be decided at about guess.
func (a *ask) write(guess limitgate.Time) string {
	t := a.limit.Steps.(limitgate.Portable).Terms(guess, a.cost, a.limit.Bound.Full())
	a.form = t.Form
	b := terms(t, a.mode)
	if t.Form == limitgate.FormConn {
		b = binary.BigEndian.AppendUint32(b, uint32(a.zone.lease.Milliseconds()))
		if a.place != 0 {
			b = append(b, a.zone.places.Load().member(a.place)...)
		}
	}
	return limitgate.BytesKey(b)
}

// decide has one script decide on all asks: all pass or nothing is charged. Their keys lie in one slot.
func (z *Zone) decide(ctx context.Context, now limitgate.Time, asks []ask) error {
	begin, guess := time.Now(), now // guess is the instant at which the store may decide
	keys, args := make([]string, len(asks)), make([]string, 1+len(asks))
	args[0] = z.instant(now)
	for range maxDrifts {
		form := mixed
		for i := range asks {
			keys[i], args[1+i] = asks[i].key, asks[i].write(guess)
			if i == 0 {
				form = asks[0].form
			} else if asks[i].form != form {
				form = mixed
			}
		}
		answer, err := z.scripts.decide[form].run(ctx, z.store, keys, args...).AsBytes()
		r := reply{answer, z.time(answer, now)}
		if err == nil && r.drifted() {
			guess = r.at
			continue
		}
		return settle(asks, &r, begin, err)
	}
	return errDrift
}

// settle notes what came of the asks, and of the places that were asked for at begin.
func settle(asks []ask, r *reply, begin time.Time, err error) error {
	all := true
	for i := range asks {
		if err == nil {
			err = asks[i].read(r)
		}
		all = all && asks[i].decision.Admitted()
	}
	for i := range asks {
		a := &asks[i]
		if err != nil || !all || a.mode != limitgate.Take {
			a.charge = limitgate.Charge{}
		}
		switch {
		case !a.acquires():
		case err != nil:
			a.zone.places.Load().doubtful(a.key, a.place)
		case all:
			a.zone.places.Load().acquired(a.key, a.place, begin)
		}
	}
	return err
}

// read reads the answer about the ask, and computes the decision by the steps of the limit.
func (a *ask) read(r *reply) error {
	word, life, held, passed, ok := r.next(a.form)
	if !ok {
		return errAnswer
	}
	c := limitgate.Charge{Life: life << 1} // the lowest bit is not the zone's
	switch g, log := a.limit.Steps.(*limitgate.LogSteps); {
	case log:
		a.decision = g.Decide(r.at, a.cost, held, func(int64) limitgate.Time { return limitgate.Time(word) })
		c.Before, c.After = limitgate.State(a.cost), word
	default:
		c.Before = word
		c.After, a.decision = a.limit.Step(word, r.at, a.cost)
	}
	a.state, a.at = c.After, r.at
	if a.place != 0 {
		c.Key, c.Life = a.zone.places.Load().id, a.place<<1
	}
	if a.charge = c; a.decision.Admitted() != passed {
		return errDisagree
	}
	return nil
}

package rediszone

import (
	"context"
	"errors"

	"github.com/limitgate/limitgate"
)

// GiveBack gives back what was charged ahead and never used, of many keys together: each ask's Charge, by its Limit and Key, in its Zone,
// which is one that Joins. Of a bucket it does so only if nothing was charged behind it: RefundKey would move that up, and who
// uses it later than it was charged would then be too late. What gets no answer may have been given back; it is not tried again.
func (z *Zone) GiveBack(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	if _, err := z.store.Client(); err != nil {
		return z.failed("giving back charges", err)
	}
	calls := make([]call, len(asks))
	for i := range asks {
		q := &asks[i]
		of := q.Zone.(*Zone)
		s, args := of.undoing(now, q.Limit, q.Charge, bucket(q.Limit.Kind))
		calls[i] = call{s, of.key(q.Limit, q.Key), args}
	}
	return z.failed("giving back charges", errors.Join(runAll(ctx, z.store, calls)...))
}

// bucket tells whether the states of a kind are debts that are paid one after the other.
func bucket(k limitgate.Kind) bool {
	return k != limitgate.KindFixed && k != limitgate.KindSliding && k != limitgate.KindLog
}

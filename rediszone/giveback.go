package rediszone

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
)

// GiveBack gives back what was charged ahead and never used, of many keys together: each ask's Charge, by its Limit and Key, in its Zone,
// which is one that Joins. Of a bucket it does so only if nothing was charged behind it: RefundKey would move that up, and who
// uses it later than it was charged would then be too late. What gets no answer may have been given back; it is not tried again.
func (z *Zone) GiveBack(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	c, err := z.store.Client()
	if err != nil {
		return z.failed("giving back charges", err)
	}
	calls := make([]undoCall, len(asks))
	cmds := make(rueidis.Commands, len(asks))
	for i := range asks {
		q := &asks[i]
		of := q.Zone.(*Zone)
		s, args := of.undoing(now, q.Limit, q.Charge, bucket(q.Limit.Kind))
		calls[i] = undoCall{s, of.key(q.Limit, q.Key), args}
		cmds[i] = c.B().Evalsha().Sha1(s.sha).Numkeys(1).Key(calls[i].key).Arg(args...).Build()
	}
	var errs []error
	for i, r := range c.DoMulti(ctx, cmds...) {
		err := r.Error()
		if e, ok := rueidis.IsRedisErr(err); ok && e.IsNoScript() { // it was not run
			err = calls[i].script.run(ctx, z.store, []string{calls[i].key}, calls[i].args...).Error()
		}
		errs = append(errs, err)
	}
	return z.failed("giving back charges", errors.Join(errs...))
}

// undoCall is a charge to give back.
type undoCall struct {
	script *script
	key    string
	args   []string
}

// bucket tells whether the states of a kind are debts that are paid one after the other.
func bucket(k limitgate.Kind) bool {
	return k != limitgate.KindFixed && k != limitgate.KindSliding && k != limitgate.KindLog
}

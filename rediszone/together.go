package rediszone

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/limitgate/limitgate"
)

// backTime bounds how long it may take to give back what was charged in vain: as long as deciding was allowed to, and at most so.
const backTime = time.Second

// Joins implements limitgate.Joint: zones in one store can be asked together.
func (z *Zone) Joins(other limitgate.Zone) bool {
	o, ok := other.(*Zone)
	return ok && o.store == z.store && o.caller == z.caller
}

// DoAll implements limitgate.Joint. In a single server, or one under Sentinel, all asks are one script. In a cluster those about
// one client's key are, since they lie in one slot; the others go to their nodes at the same time, and where one is refused what
// the others charged is given back.
func (z *Zone) DoAll(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error {
	all := make([]ask, len(asks))
	for i, q := range asks {
		all[i] = q.Zone.(*Zone).newAsk(q.Limit, q.Key, q.Cost, q.Mode)
		all[i].index, all[i].of = i, q.Key
	}
	groups, within := z.bySlot(all), backTime
	if end, bounded := ctx.Deadline(); bounded {
		within = min(within, max(time.Until(end), 0))
	}
	err := z.decideAll(ctx, now, groups)
	for i := range all {
		q := &asks[all[i].index]
		q.Decision, q.Charge, q.State, q.At = all[i].decision, all[i].charge, all[i].state, all[i].at
	}
	if len(groups) == 1 {
		return z.failed("deciding", err)
	}
	if passed := !slices.ContainsFunc(asks, func(q limitgate.Ask) bool { return !q.Decision.Admitted() }); passed && err == nil {
		return nil
	}
	return z.failed("deciding", errors.Join(err, z.back(ctx, now, asks, within)))
}

// bySlot sorts asks into those that one script can decide on.
func (z *Zone) bySlot(all []ask) [][]ask {
	if c, err := z.store.Client(); err != nil || c.Mode() != rueidis.ClientModeCluster {
		return [][]ask{all}
	}
	slices.SortStableFunc(all, func(a, b ask) int { return strings.Compare(a.of, b.of) })
	var groups [][]ask
	begin := 0
	for i := 1; i <= len(all); i++ {
		if i == len(all) || all[i].of != all[begin].of {
			groups = append(groups, all[begin:i])
			begin = i
		}
	}
	return groups
}

// decideAll decides on each group, at the same time.
func (z *Zone) decideAll(ctx context.Context, now limitgate.Time, groups [][]ask) error {
	if len(groups) == 1 {
		return z.decide(ctx, now, groups[0])
	}
	errs := make([]error, len(groups))
	var wg sync.WaitGroup
	for i, g := range groups {
		// owned by this call; ends with the answer
		wg.Go(func() { errs[i] = z.decide(ctx, now, g) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// back gives back all that was charged, and waits for so long at most.
func (z *Zone) back(ctx context.Context, now limitgate.Time, asks []limitgate.Ask, within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	errs := make([]error, len(asks))
	var wg sync.WaitGroup
	for i := range asks {
		if q := &asks[i]; q.Charge != (limitgate.Charge{}) {
			// owned by this call; ends with the answer
			wg.Go(func() {
				errs[i] = q.Zone.(*Zone).RefundKey(ctx, now, q.Limit, q.Key, q.Charge)
				q.Charge = limitgate.Charge{}
			})
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

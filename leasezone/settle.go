package leasezone

import (
	"context"
	"slices"
	"time"

	"github.com/limitgate/limitgate"
)

const (
	// maxBack bounds what waits to go back. What is beyond it stays charged until it drains.
	maxBack = 1 << 14

	// pipelined is how much goes back at a time.
	pipelined = 500

	// patience is how many times as long as it usually takes nobody asks before a batch goes back.
	patience = 4
)

// run gives back until ctx ends.
func (z *Zone) run(ctx context.Context, every time.Duration) {
	defer close(z.done)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			round, cancel := context.WithTimeout(ctx, max(every, time.Second))
			z.Settle(round, limitgate.Now())
			cancel()
		}
	}
}

// Settle gives back what is left of keys that nobody asks for any more. A zone does so on its own, unless Config.Every says
// otherwise. What gets no answer is not sent again: it drains.
func (z *Zone) Settle(ctx context.Context, now limitgate.Time) {
	z.settle(ctx, now, func(e *entry, now limitgate.Time) bool { return now.Sub(e.last) > max(z.idle, patience*e.gap) })
}

// settle gives back what is left of entries that go.
func (z *Zone) settle(ctx context.Context, now limitgate.Time, goes func(*entry, limitgate.Time) bool) {
	for n := range z.table.buckets {
		b := z.table.at(n, 0)
		b.lock.Lock()
		for i := range b.entries {
			if e := &b.entries[i]; e.left > 0 && e.flight == nil && goes(e, now) {
				z.retire(e, now)
			}
		}
		b.lock.Unlock()
	}
	z.mu.Lock()
	back := z.back
	z.back = nil
	z.mu.Unlock()
	for part := range slices.Chunk(back, pipelined) {
		if z.inner.GiveBack(ctx, now, part) != nil {
			z.failed.Add(1)
		}
		for i := range part {
			z.eachOf(part[i].Key, (*entry).forget)
		}
	}
}

// retire ends the entry's batch: what may still be spent of it is to go back. It tells how many that are. The lock is held.
func (z *Zone) retire(e *entry, now limitgate.Time) (n int64) {
	if e.got == 0 {
		return 0
	}
	if late, _, ok := e.instants(now); ok {
		n = e.alive(late)
	}
	if aged := e.got - e.spent - n; aged > 0 && e.left > 0 {
		z.aged.Add(uint64(aged))
	}
	e.left = 0
	if n == 0 {
		return 0
	}
	z.later(limitgate.Ask{
		Zone: z.inner, Limit: e.limit, Key: e.key, Cost: limitgate.Cost(n),
		Charge: limitgate.Charge{Life: e.life, Before: e.state(e.got - n), After: e.state(e.got)},
	})
	return n
}

// later has a charge go back when the zone gives back next.
func (z *Zone) later(a limitgate.Ask) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if len(z.back) < maxBack {
		z.back = append(z.back, a)
		z.returned.Add(uint64(a.Cost))
	}
}

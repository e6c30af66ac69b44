package leasezone

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// flight is a call that borrows for a key, and for those who wait for it.
type flight struct {
	done    chan struct{}
	waiting int64 // how many; guarded by the lock of the entry
	err     error // why there is no answer; set before done is closed
}

// rounds is how often a request waits for others, or asks for a batch and is told that only less is there, before it asks for
// itself alone.
const rounds = 3

// far decides about what is to be charged with a call, of this request or of another that is under way.
func (z *Zone) far(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	p := planOf(l, z.lease)
	if p.most == 0 {
		z.single.Add(1)
		return z.inner.Do(ctx, now, l, key, cost, m)
	}
	b, begin, own, asked := z.table.of(key), now, time.Duration(0), false
	for round := 0; ; round++ {
		b.lock.Lock()
		e := z.entry(&b, now, l, key, p)
		if e != nil && e.off != 0 {
			now = begin.Add(own) // the zone's time went on meanwhile
		}
		if e != nil {
			if d, c, ok := e.decide(now, cost, m, z.remember, asked); ok {
				b.lock.Unlock()
				return later(d, now.Sub(begin)), c, nil
			}
		}
		if e == nil || p.most == 1 || round == rounds {
			if e != nil && e.ahead(now) {
				e.forget() // what is there now may be less
			}
			b.lock.Unlock()
			d, c, err = z.alone(ctx, now, l, key, cost, m, p)
			return later(d, now.Sub(begin)), c, err
		}
		if f := e.flight; f != nil {
			f.waiting++
			b.lock.Unlock()
			took, err := f.wait(ctx)
			if own += took; err != nil {
				return limitgate.Decision{Outcome: limitgate.Rejected}, limitgate.Charge{}, err
			}
			continue
		}
		n, ok := e.next(now, cost)
		if !ok {
			e.forget() // what is there now may be less
			b.lock.Unlock()
			d, c, err = z.alone(ctx, now, l, key, cost, m, p)
			return later(d, now.Sub(begin)), c, err
		}
		patient := e.dry
		e.flight = &flight{done: make(chan struct{})}
		b.lock.Unlock()
		a := limitgate.Ask{Zone: z.inner, Limit: l, Key: key, Cost: limitgate.Cost(n), Mode: limitgate.Take}
		took, err := z.borrow(ctx, now, &b, e, &a, cost)
		if own += took; err != nil {
			return limitgate.Decision{Outcome: limitgate.Rejected}, limitgate.Charge{}, err
		}
		if a.Decision.Admitted() || n == int64(cost) || patient {
			if m != limitgate.Take {
				a.Charge = limitgate.Charge{}
			}
			return later(a.Decision, now.Sub(begin)), a.Charge, nil
		}
		asked = true
	}
}

// entry gives the one of a key, or makes it where batches are to be remembered; nil if there is none. The lock is held.
func (z *Zone) entry(b *bucket, now limitgate.Time, l *limitgate.Limit, key string, p plan) *entry {
	e := b.find(l, key)
	if e == nil && p.most > 1 {
		if e = b.add(now, l, key, p); e == nil {
			z.full.Add(1)
		}
	}
	return e
}

// wait waits until the flight has ended, and tells how long that took.
func (f *flight) wait(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	select {
	case <-f.done:
		return time.Since(begin), f.err
	case <-ctx.Done():
		return time.Since(begin), fmt.Errorf("lease zone: waiting for what another request borrows: %w", context.Cause(ctx))
	}
}

// borrow asks for a batch, for a request of cost that is the one borrower of the entry, and leaves the answer to the request in a.
func (z *Zone) borrow(ctx context.Context, now limitgate.Time, b *bucket, e *entry, a *limitgate.Ask, cost limitgate.Cost) (time.Duration, error) {
	b.lock.Lock()
	refunds := b.lock.refunds
	b.lock.Unlock()
	z.borrows.Add(1)
	asks, begin := []limitgate.Ask{*a}, time.Now()
	err := z.inner.DoAll(ctx, now, asks)
	took := time.Since(begin)
	b.lock.Lock()
	defer b.lock.Unlock()
	*a = asks[0]
	z.land(ctx, now, b, e, a, answer{cost, took, refunds, err})
	return took, err
}

// answer is what else there is to an answer.
type answer struct {
	cost    limitgate.Cost // of the request
	took    time.Duration
	refunds uint64 // when it was asked
	err     error
}

// land ends the flight of an entry with the answer to what it asked, and makes that the answer to the request. The lock is held.
func (z *Zone) land(ctx context.Context, now limitgate.Time, b *bucket, e *entry, a *limitgate.Ask, r answer) {
	f := e.flight
	e.flight = nil
	// What was asked by somebody who left is asked again by those who wait, and what was not answered is not.
	if f.err = r.err; errors.Is(ctx.Err(), context.Canceled) {
		f.err = nil
	}
	close(f.done)
	e.want = f.waiting + 1
	if r.err != nil {
		z.failed.Add(1)
		return
	}
	n := int64(a.Cost)
	if e.clock(a, now, r.took); b.lock.refunds == r.refunds && (a.Decision.Outcome == limitgate.Rejected || a.Charge != (limitgate.Charge{})) {
		b.note(a, now, r.took)
	}
	if !a.Decision.Admitted() {
		e.refused(a, r.cost)
		return
	}
	if a.Charge == (limitgate.Charge{}) { // another limit on the request refused
		a.Decision = e.plan.lessened(a.Decision, n, int64(r.cost))
		return
	}
	z.retire(e, now)
	z.borrowed.Add(uint64(n))
	e.grant(z.batches.Add(1), a, r.cost)
	a.Charge = e.charge(n, int64(r.cost))
	if a.Decision.Outcome == limitgate.Delayed {
		z.retire(e, now) // turns are not leased
	}
	a.Decision = e.plan.lessened(a.Decision, n, int64(r.cost))
}

// alone asks for one request, and remembers a refusal.
func (z *Zone) alone(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode, p plan) (limitgate.Decision, limitgate.Charge, error) {
	b := z.table.of(key)
	b.lock.Lock()
	refunds := b.lock.refunds
	b.lock.Unlock()
	z.single.Add(1)
	asks, begin := []limitgate.Ask{{Zone: z.inner, Limit: l, Key: key, Cost: cost, Mode: limitgate.Take}}, time.Now()
	err := z.inner.DoAll(ctx, now, asks)
	a, took := &asks[0], time.Since(begin)
	if err != nil {
		z.failed.Add(1)
		return limitgate.Decision{Outcome: limitgate.Rejected}, limitgate.Charge{}, err
	}
	z.learn(now, &b, a, answer{cost: cost, took: took, refunds: refunds}, p)
	if m != limitgate.Take {
		a.Charge = limitgate.Charge{}
	}
	return a.Decision, a.Charge, nil
}

// learn remembers the answer about a key that borrowed nothing, if it says that the next request will be refused, or if something
// is known of it already.
func (z *Zone) learn(now limitgate.Time, b *bucket, a *limitgate.Ask, r answer, p plan) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.lock.refunds != r.refunds || a.At == 0 {
		return
	}
	e, refused := b.find(a.Limit, a.Key), a.Decision.Outcome == limitgate.Rejected
	if e == nil && (refused || a.Decision.Remaining == 0) {
		e = b.add(now, a.Limit, a.Key, p)
	}
	if e != nil {
		e.clock(a, now, r.took)
	}
	if refused || a.Charge != (limitgate.Charge{}) {
		b.note(a, now, r.took)
	}
	if e != nil && refused {
		e.refused(a, r.cost)
	}
}

package leasezone

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// Strict is a zone that decides elsewhere, one call after the other: a rediszone.Zone is one.
type Strict interface {
	limitgate.Keyed

	// Joint, and it tells State and At of each ask.
	limitgate.Joint

	// GiveBack is RefundKey of many: each ask's Charge, by its Zone, Limit and Key; but of a bucket nothing is given back that others
	// were charged behind. Nothing is tried again.
	GiveBack(ctx context.Context, now limitgate.Time, asks []limitgate.Ask) error
}

// Config is what a zone is made of. Zone is needed.
type Config struct {
	// Zone is borrowed from. It stays open when the lease zone is closed.
	Zone Strict

	// Lease is how many requests of a key are borrowed at a time, at most: up to 32,767. 0 means a tenth of what its limit lets pass at
	// once: of the burst, the capacity, or what a window counts; at least 1. With 1 nothing is borrowed ahead.
	Lease int64

	// Keys is for how many keys something can be remembered, in about 250 bytes each and the key; 0 means 65,536. A key that finds
	// no room is decided about in the zone.
	Keys int

	// Idle is how long nobody asks for a key before what is left of its batch goes back, or four times as long as it usually is, if
	// that is longer. 0 means a second.
	Idle time.Duration

	// Every is how often is looked for what can go back; 0 means half a second. If it is negative the zone does nothing on its own,
	// and who uses it calls Settle.
	Every time.Duration

	// Remember bounds how long a refusal is remembered; 0 means until it can end. What somebody gives back elsewhere is seen after that.
	Remember time.Duration
}

const (
	defaultKeys  = 1 << 16
	defaultIdle  = time.Second
	defaultEvery = 500 * time.Millisecond
)

// Validate says what is wrong with c.
func (c Config) Validate() error {
	switch {
	case c.Zone == nil:
		return errors.New("lease zone: needs a zone to borrow from")
	case c.Lease < 0 || c.Lease > maxLease:
		return fmt.Errorf("lease zone: a lease of %d is not between 1 and %d, or 0 for a tenth of the burst", c.Lease, maxLease)
	case c.Keys < 0 || c.Idle < 0 || c.Remember < 0:
		return fmt.Errorf("lease zone: keys %d, idle %v and remember %v must not be negative", c.Keys, c.Idle, c.Remember)
	}
	return nil
}

// Zone borrows from another. It is safe for concurrent use. Make one with New, and Close it.
type Zone struct {
	inner    Strict
	lease    int64
	idle     time.Duration
	remember time.Duration
	table    *table

	batches                                                         atomic.Uint32 // numbers them
	borrows, single, spared, borrowed, returned, aged, failed, full atomic.Uint64

	mu   sync.Mutex      // guards back
	back []limitgate.Ask // what is to go back

	stop   context.CancelFunc
	done   chan struct{}
	closed atomic.Bool
}

var (
	_ limitgate.Keyed = (*Zone)(nil)
	_ limitgate.Joint = (*Zone)(nil)
)

// New makes a zone. It calls nobody.
func New(c Config) (*Zone, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Keys == 0 {
		c.Keys = defaultKeys
	}
	if c.Idle == 0 {
		c.Idle = defaultIdle
	}
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	ctx, stop := context.WithCancel(context.Background())
	z := &Zone{inner: c.Zone, lease: c.Lease, idle: c.Idle, remember: c.Remember, table: newTable(c.Keys), stop: stop, done: make(chan struct{})}
	if c.Every < 0 {
		close(z.done)
		return z, nil
	}
	// owned by the zone; ends with Close
	go z.run(ctx, c.Every)
	return z, nil
}

// Close gives back what is left, as far as the zone it was borrowed from answers within a second, and ends what the zone does on its
// own. What is decided afterwards is decided in the other one.
func (z *Zone) Close() {
	if z.closed.Swap(true) {
		return
	}
	z.stop()
	<-z.done
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	z.settle(ctx, limitgate.Now(), func(*entry, limitgate.Time) bool { return true })
}

// Inner is the zone that is borrowed from.
func (z *Zone) Inner() Strict { return z.inner }

// Bind implements limitgate.Zone.
func (z *Zone) Bind(l *limitgate.Limit) error {
	if err := z.inner.Bind(l); err != nil {
		return fmt.Errorf("lease zone: %w", err)
	}
	return nil
}

// Rebind begins a new configuration, as that of the other zone does. What limits bound before have borrowed goes back when they are
// idle.
func (z *Zone) Rebind() {
	if r, ok := z.inner.(interface{ Rebind() }); ok {
		r.Rebind()
	}
}

// Do implements limitgate.Zone. It calls the other zone, at most three times, where Near does not know; requests of one key that
// come while it is asked wait for that.
func (z *Zone) Do(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	if d, c, ok := z.Near(now, l, key, cost, m); ok {
		return d, c, nil
	}
	switch {
	case m == limitgate.Reset:
		z.drop(now, key, false)
		return z.inner.Do(ctx, now, l, key, cost, m)
	case !m.Charges() || l.Kind == limitgate.KindConn || z.closed.Load():
		z.single.Add(1)
		return z.inner.Do(ctx, now, l, key, cost, m)
	}
	return z.far(ctx, now, l, key, cost, m)
}

// Near decides without a call, if what is borrowed or known suffices. It allocates nothing.
func (z *Zone) Near(now limitgate.Time, l *limitgate.Limit, key string, cost limitgate.Cost, m limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, ok bool) {
	if m == limitgate.Reset {
		return d, c, false
	}
	b := z.table.of(key)
	b.lock.Lock()
	if e := b.find(l, key); e != nil {
		e.touch(now)
		d, c, ok = e.decide(now, cost, m, z.remember, false)
	}
	b.lock.Unlock()
	if ok {
		z.spared.Add(1)
	}
	return d, c, ok
}

// Refund implements limitgate.Zone, for places. What else was charged is given back by RefundKey.
func (z *Zone) Refund(ctx context.Context, now limitgate.Time, l *limitgate.Limit, c limitgate.Charge) error {
	return z.inner.Refund(ctx, now, l, c)
}

// RefundKey implements limitgate.Keyed. What is of the batch that is there is put back into it, without a call.
func (z *Zone) RefundKey(ctx context.Context, now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) error {
	if l.Kind == limitgate.KindConn || c == (limitgate.Charge{}) {
		return z.inner.Refund(ctx, now, l, c)
	}
	if c.Life&leased != 0 {
		if z.putBack(now, l, key, c) {
			return nil
		}
		c.Key, c.Life = 0, c.Life&^leased
	}
	err := z.inner.RefundKey(ctx, now, l, key, c)
	z.eachOf(key, (*entry).forget)
	return err
}

// putBack puts a charge back into the batch that it is of; false if that is not there any more.
func (z *Zone) putBack(now limitgate.Time, l *limitgate.Limit, key string, c limitgate.Charge) bool {
	b := z.table.of(key)
	b.lock.Lock()
	defer b.lock.Unlock()
	e := b.find(l, key)
	return e != nil && e.putBack(now, c)
}

// eachOf does something to all entries of a key, because its state in the zone is changed by more than decisions.
func (z *Zone) eachOf(key string, do func(*entry)) {
	b := z.table.of(key)
	b.lock.Lock()
	defer b.lock.Unlock()
	b.lock.refunds++
	for i := range b.entries {
		if e := &b.entries[i]; b.prints[i] == b.print && e.limit != nil && e.key == key {
			do(e)
		}
	}
}

// Forget gives back what is borrowed for key, when the zone does next, and forgets what is known of it: somebody has changed its
// state elsewhere.
func (z *Zone) Forget(now limitgate.Time, key string) { z.drop(now, key, true) }

// drop forgets a key, and gives back what is left of it, if that is still charged.
func (z *Zone) drop(now limitgate.Time, key string, charged bool) {
	z.eachOf(key, func(e *entry) {
		if !charged {
			e.left = 0
		}
		z.retire(e, now)
		e.got = 0
		e.forget()
	})
}

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/match"
	"github.com/limitgate/limitgate/internal/rls/stats"
)

// What is wrong with a request. They are told to the caller.
var (
	ErrNoDomain      = errors.New("the domain of the request must not be empty")
	ErrNoDescriptors = errors.New("the request must have at least one descriptor")
	ErrUnit          = errors.New("a limit that comes with the request must have a unit")
)

// StoreError is why nothing was decided: the store did not answer, and the rule does not say what to do then.
type StoreError struct{ Err error }

// Error tells what the store said.
func (e *StoreError) Error() string { return "asking the store: " + e.Err.Error() }

// Unwrap gives what the store said.
func (e *StoreError) Unwrap() error { return e.Err }

// errSilent is what is known of a store that a guard stands before.
var errSilent = errors.New("it does not answer")

// leg is a descriptor on its way through a decision.
type leg struct {
	b        *bound // nil: nothing is counted
	rule     *match.Rule
	limit    *config.Limit
	override config.Limit // what limit points to, of a limit that came with the request
	counters *stats.Rule
	hits     uint64
	add      uint64 // of the hits, what is counted
	from, to int    // its key in work.keys

	place   string // the name of a place of a limit of requests at once
	release bool   // it is given back
	free    int64  // how many such are free

	unlimited bool
	cached    bool // known to be over
	closed    bool // refused because the store is away
	over      bool
	after     uint64 // what was asked for with this
	wait      int64  // seconds until it would pass; 0 where that is not known
}

// work is the memory of one decision.
type work struct {
	walk match.Walk
	legs []leg
	keys []byte
	asks []limitgate.Ask
	of   []int // of asks, the leg
	name []byte
}

// Decide answers a request at now. What it puts into a belongs to the caller; r is only read. It fails with one of the Err values, or a
// StoreError, and nothing is answered then.
func (d *Decider) Decide(ctx context.Context, now limitgate.Time, r *Request, a *Answer) error {
	switch {
	case r.Domain == "":
		d.counters.Service.ServiceError.Add(1)
		return ErrNoDomain
	case len(r.Descriptors) == 0:
		d.counters.Service.ServiceError.Add(1)
		return ErrNoDescriptors
	}
	w := d.works.Get().(*work)
	defer d.works.Put(w)
	a.Statuses = slices.Grow(a.Statuses[:0], len(r.Descriptors))[:len(r.Descriptors)]
	clear(a.Statuses)
	if err := d.find(w, now, r, a); err != nil {
		d.counters.Service.ServiceError.Add(1)
		return err
	}
	if err := d.count(ctx, w, now); err != nil {
		d.counters.Service.RedisError.Add(1)
		return err
	}
	d.answer(w, now, a)
	return nil
}

// find finds the rule of each descriptor, and the key of its counter.
func (d *Decider) find(w *work, now limitgate.Time, r *Request, a *Answer) error {
	w.legs = slices.Grow(w.legs[:0], len(r.Descriptors))[:len(r.Descriptors)]
	clear(w.legs)
	w.keys = w.keys[:0]
	for i := range r.Descriptors {
		q, l := &r.Descriptors[i], &w.legs[i]
		l.hits = min(r.hits(q), maxCost)
		l.add = l.hits
		if q.Override.Set {
			if err := d.override(w, l, r.Domain, q); err != nil {
				return err
			}
		} else {
			d.table.Find(r.Domain, q.Entries, &w.walk)
			d.apply(w, l)
		}
		if err := l.fits(q); err != nil {
			return err
		}
		if !w.walk.Domain {
			d.counters.NotFound(r.Domain)
		}
		a.Statuses[i].Rule, a.Statuses[i].Metadata = l.rule, w.walk.Metadata
		if l.b != nil {
			d.key(w, l, now, r.Domain)
		}
	}
	d.replace(w)
	for i := range w.legs {
		if l := &w.legs[i]; l.b != nil {
			l.counters.Total.Add(l.hits)
		}
	}
	return nil
}

// fits tells what of a descriptor does not go with its limit.
func (l *leg) fits(q *Descriptor) error {
	places := l.b != nil && l.limit.Places > 0
	switch {
	case q.Release && !places && l.b != nil:
		return ErrNegative
	case places && q.Place == "" && (q.Release || l.hits > 0):
		return ErrPlace
	}
	l.place, l.release = q.Place, q.Release
	return nil
}

// apply takes the rule that the walk found.
func (d *Decider) apply(w *work, l *leg) {
	rule := w.walk.Rule
	if rule == nil {
		return
	}
	l.rule = rule
	if l.unlimited = rule.Limit.Unlimited; l.unlimited {
		return
	}
	l.b, l.limit = d.rules[rule.Index], &rule.Limit
	l.counters = l.b.counters
	if w.walk.Dynamic() {
		w.name = w.walk.AppendName(w.name[:0])
		l.counters = d.counters.Named(w.name, l.counters)
	}
}

// override takes a limit that came with the request.
func (d *Decider) override(w *work, l *leg, domain string, q *Descriptor) error {
	d.table.Bare(domain, q.Entries, &w.walk)
	if !w.walk.Domain {
		return nil
	}
	u := q.Override.Unit
	if u < config.Second || u > config.Week {
		return ErrUnit
	}
	l.override = config.Limit{Unit: u, Requests: q.Override.Requests, Multiplier: 1}
	l.b, l.limit = d.overrides[u], &l.override
	w.name = match.AppendOverride(w.name[:0], domain, q.Entries)
	l.counters = d.counters.Named(w.name, d.other)
	return nil
}

// key writes the key of a leg's counter: of a window it has its beginning in it.
func (d *Decider) key(w *work, l *leg, now limitgate.Time, domain string) {
	l.from = len(w.keys)
	w.keys = append(w.keys, d.options.Prefix...)
	w.keys = w.walk.AppendKey(w.keys, domain)
	if l.b.tally != nil {
		s := seconds(now)
		w.keys = strconv.AppendInt(w.keys, s-s%l.b.window, 10)
	}
	l.to = len(w.keys)
}

func seconds(now limitgate.Time) int64 { return int64(max(now, 0)) / 1e9 }

// keyOf is the key of a leg, good until w is used again.
func (w *work) keyOf(l *leg) string { return limitgate.BytesKey(w.keys[l.from:l.to]) }

// replace takes the rules out that others of the request replace.
func (d *Decider) replace(w *work) {
	for i := range w.legs {
		by := w.legs[i].rule
		if by == nil || len(by.Replaces) == 0 {
			continue
		}
		for j := range w.legs {
			if l := &w.legs[j]; l.b != nil && l.rule != nil && l.rule.Limit.Name != "" && slices.Contains(by.Replaces, l.rule.Limit.Name) {
				l.b = nil
			}
		}
	}
}

// count counts all legs.
func (d *Decider) count(ctx context.Context, w *work, now limitgate.Time) error {
	known := false
	if d.cache != nil {
		for i := range w.legs {
			if l := &w.legs[i]; l.b != nil && l.b.tally != nil && d.cache.over(now, w.keyOf(l)) {
				l.cached, known = true, true
			}
		}
	}
	if d.options.StopOver {
		if err := d.hold(ctx, w, now, known); err != nil {
			return err
		}
	}
	return d.take(ctx, w, now, limitgate.Spend)
}

// hold finds out what of the hits is counted where a request that is refused counts nothing: if a counter is known to be over, nothing;
// if some would be, only theirs.
func (d *Decider) hold(ctx context.Context, w *work, now limitgate.Time, known bool) error {
	would := false
	if !known {
		if err := d.take(ctx, w, now, limitgate.Peek); err != nil {
			return err
		}
		for i := range w.legs {
			l := &w.legs[i]
			if l.b == nil || l.b.tally == nil {
				continue
			}
			l.over = l.after+l.hits > uint64(l.limit.Requests)
			would = would || l.over
		}
	}
	for i := range w.legs {
		if l := &w.legs[i]; known || would && !l.over {
			l.add = 0
		}
		w.legs[i].over = false
	}
	return nil
}

// take counts, or looks. Counters in a store are asked together, where that can be.
func (d *Decider) take(ctx context.Context, w *work, now limitgate.Time, m limitgate.Mode) error {
	w.asks, w.of = w.asks[:0], w.of[:0]
	for i := range w.legs {
		l := &w.legs[i]
		if l.b == nil || l.cached {
			continue
		}
		if l.b.tally == nil {
			if m == limitgate.Peek {
				continue
			}
			ask := d.ask
			if l.limit.Places > 0 {
				ask = d.place
			}
			if err := ask(ctx, w, l, now); err != nil {
				return err
			}
			continue
		}
		add, mode := l.add, m
		if m == limitgate.Peek || add == 0 {
			add, mode = 0, limitgate.Peek
		}
		cost := limitgate.Cost(min(add, maxCost))
		if l.b.joint != nil && len(w.legs) > 1 {
			if mode == limitgate.Spend {
				mode = limitgate.Take
			}
			w.asks = append(w.asks, limitgate.Ask{Zone: l.b.zone, Limit: l.b.tally, Key: w.keyOf(l), Cost: cost, Mode: mode})
			w.of = append(w.of, i)
			continue
		}
		e, _, err := l.b.zone.Do(ctx, now, l.b.tally, w.keyOf(l), cost, mode)
		if err == nil {
			err = l.counted(e)
		}
		if err != nil {
			return &StoreError{err}
		}
	}
	if len(w.asks) == 0 {
		return nil
	}
	return d.together(ctx, w, now)
}

// maxCost bounds what one request counts: more than any limit.
const maxCost = 1 << 35

// together asks about all counters of one store at once.
func (d *Decider) together(ctx context.Context, w *work, now limitgate.Time) error {
	if err := w.legs[w.of[0]].b.joint.DoAll(ctx, now, w.asks); err != nil {
		return &StoreError{err}
	}
	for k := range w.asks {
		if err := w.legs[w.of[k]].counted(w.asks[k].Decision); err != nil {
			return &StoreError{err}
		}
	}
	return nil
}

// counted takes what a tally said.
func (l *leg) counted(d limitgate.Decision) error {
	if d.Outcome == limitgate.Rejected {
		return l.away(d)
	}
	whole := l.b.tally.Algorithm.(interface{ Counts() int64 }).Counts()
	l.after = uint64(max(whole-d.Remaining, 0))
	return nil
}

// away takes a refusal that is not the limit's: the store was away, or a zone has no room.
func (l *leg) away(d limitgate.Decision) error {
	if d.Fallback() == limitgate.FailClosed && l.b.fail == config.FailCall {
		return errSilent
	}
	l.closed, l.over = true, true
	return nil
}

// Explain tells of an error in a few words that a program may branch on.
func Explain(err error) string {
	var store *StoreError
	switch {
	case errors.Is(err, ErrNoDomain):
		return "empty_domain"
	case errors.Is(err, ErrNoDescriptors):
		return "empty_descriptors"
	case errors.Is(err, ErrUnit):
		return "bad_unit"
	case errors.Is(err, ErrPlace):
		return "no_place"
	case errors.Is(err, ErrNegative):
		return "negative_hits"
	case errors.As(err, &store):
		return "store"
	}
	return fmt.Sprint(err)
}

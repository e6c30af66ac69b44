package replay

import (
	"slices"

	"github.com/limitgate/limitgate/internal/accesslog"
)

// intake makes entries of records and puts them into the order in which their requests came.
type intake struct {
	plan   *plan
	names  fieldNames
	serial uint64
	clump  clump
	orders [spreads]order // by lane
	lanes  int            // 0 until the first record tells
	turns  []turn         // that are due
	spare  []*entry

	newest   int64 // stamp so far
	horizon  int64 // how far behind the newest stamp a request may have come to be put in its place
	released int64 // the latest instant of those that were let go

	counts  counts
	source  *accesslog.Source   // of the record
	met     []*accesslog.Source // so far
	listens [2]bool             // what it tells is what real_ip_header of a configuration asks for
}

// turn is a request whose turn it is in one lane.
type turn struct {
	at   int64
	lane int
	e    *entry
}

// counts is what is known of the log.
type counts struct {
	records int64 // as they were read, with those left out
	late    int64 // that fell out of their order
	refused int64 // when they were logged
	dropped int64 // of them, those that are left out
	timed   int64 // with a duration
	rough   int64 // with a stamp of seconds, where the first ones were finer
	garbage int64 // with a line that is no request
	// What requests lack.
	hostless, pathless, nameless, portless int64

	first, last int64 // instants
	grain       int64 // the coarsest
	atEnd       bool  // stamps are those of answers
}

const (
	mostHeld = 1 << 17 // entries that wait for their order
	learning = 8192    // entries that are kept before the first is let go, to learn how far out of order a log is
	second   = int64(1e9)
	farthest = 600 * second // of a horizon
)

func newIntake(p *plan) *intake {
	return &intake{plan: p, names: fieldNames{}, clump: newClump(), horizon: second}
}

// meet learns what a source tells.
func (k *intake) meet(s *accesslog.Source) {
	if k.source == s {
		return
	}
	k.source = s
	if !slices.Contains(k.met, s) {
		k.met = append(k.met, s)
	}
	k.listens = k.plan.meet(s)
}

// record takes a record in.
func (k *intake) record(r *accesslog.Record) {
	k.counts.records++
	e := k.take()
	e.serial = k.serial
	k.serial++
	e.read(r, k.names, k.plan)
	e.listens = k.listens
	if k.refused(e) {
		k.spare = append(k.spare, e)
		return
	}
	k.note(r, e)
	if k.lanes == 0 {
		k.lanes = 1
		if e.grain >= coarse {
			k.lanes = spreads
		}
	}
	if e.grain < coarse {
		k.place(e)
		k.release(false)
		return
	}
	if k.lanes == 1 {
		k.counts.rough++
	}
	if !k.clump.takes(e.second) {
		k.spread()
		k.release(false)
	}
	k.clump.list = append(k.clump.list, e)
}

// refused tells whether a request is left out because it was refused when it was logged.
func (k *intake) refused(e *entry) bool {
	e.refused = e.logged == rejected || e.logged == unasked && slices.Contains(k.plan.refusals, e.status)
	if !e.refused {
		return false
	}
	k.counts.refused++
	if k.plan.drop {
		k.counts.dropped++
	}
	return k.plan.drop
}

// note counts what the log tells of a request.
func (k *intake) note(r *accesslog.Record, e *entry) {
	c := &k.counts
	if c.first == 0 || e.stamp < c.first {
		c.first = e.stamp
	}
	c.last = max(c.last, e.second)
	c.grain = max(c.grain, e.grain)
	c.atEnd = c.atEnd || r.AtEnd
	if r.Duration >= 0 {
		c.timed++
	}
	switch {
	case e.broken:
		c.garbage++
		return
	case r.URI == nil:
		c.pathless++
	}
	if e.hostless {
		c.hostless++
	}
	if !r.Addr.IsValid() {
		c.nameless++
	}
	if e.port == 0 {
		c.portless++
	}
}

// spread gives the entries of the open clump their places.
func (k *intake) spread() {
	if len(k.clump.list) == 0 {
		return
	}
	k.clump.spread()
	for _, e := range k.clump.list {
		k.place(e)
	}
	k.clump.list = k.clump.list[:0]
}

// place puts an entry among those that wait.
func (k *intake) place(e *entry) {
	if k.newest == 0 {
		k.newest = e.second
	}
	k.newest = max(k.newest, e.second)
	if lag := k.newest - e.stamp; lag > k.horizon-second {
		k.horizon = min(lag+lag/4+second, farthest)
	}
	e.left = k.lanes * len(k.plan.configs)
	turn := e.serial
	if e.refused && e.grain < coarse {
		// A log has refusals before what came with them and took longer. Of what came in one instant they came behind: what was let
		// in is why they were refused.
		turn |= 1 << 63
	}
	for i := range k.lanes {
		at := e.stamp + e.offset[k.assumption(i)]
		if i == 0 && at < k.released {
			k.counts.late++
		}
		k.orders[i].add(arrival{at, turn, e})
	}
}

// assumption is the one that a lane makes: where there is only one, they do not differ.
func (k *intake) assumption(lane int) int {
	if k.lanes == 1 {
		return reference
	}
	return lane
}

// release lets go what nothing can come before any more, or everything.
func (k *intake) release(all bool) {
	if !all && k.serial < learning {
		return
	}
	until := k.newest - k.horizon
	for any := true; any; {
		any = false
		for i := range k.lanes {
			o := &k.orders[i]
			if o.len() == 0 || !all && o.next().at > until && o.len() <= mostHeld {
				continue
			}
			a := o.take()
			any = true
			if i == 0 {
				k.released = max(k.released, a.at)
			}
			k.turns = append(k.turns, turn{a.at, i, a.e})
		}
	}
}

// end lets everything go.
func (k *intake) end() {
	k.spread()
	k.release(true)
}

// take returns an entry to fill.
func (k *intake) take() *entry {
	n := len(k.spare)
	if n == 0 {
		return new(entry)
	}
	e := k.spare[n-1]
	k.spare = k.spare[:n-1]
	return e
}

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
	clumps clumps
	orders [spreads]order // by lane
	lanes  int            // 0 until the first record tells
	turns  []turn         // that are due
	spare  []*entry
	spares int // bytes of them

	doubted  []*entry       // whose stamps are not believed yet
	against  int            // lines since the first of them that stand against it
	newest   int64          // stamp so far
	horizon  int64          // how far behind the newest stamp a request may have come to be put in its place
	disorder int64          // how far behind the newest stamp one may stand for its second to be open
	released [spreads]int64 // by lane, the latest instant of those that were let go
	waiting  int            // bytes of entries that were not let go in all lanes
	waits    int            // their number
	behind   int            // lines in a row that stand far behind the newest stamp

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
	latest  int64 // by how much at most
	stray   int64 // that are left out for a stamp that no other line confirms
	back    int64 // times that the log begins anew, far back in time
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
	mostHeld  = 1 << 17  // entries that wait for their order
	mostBytes = 64 << 20 // of them
	mostSpare = 16 << 20 // bytes of entries that are kept to be used again
	learning  = 8192     // entries that are kept before the first is let go, to learn how far out of order a log is
	second    = int64(1e9)
	farthest  = 600 * second // of a horizon
)

func newIntake(p *plan) *intake {
	return &intake{plan: p, names: fieldNames{}, clumps: newClumps(), horizon: second, disorder: second}
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
		k.recycle(e)
		return
	}
	k.waiting += e.size()
	k.waits++
	k.doubt(e)
	k.release(false)
}

// admit takes an entry whose stamp is believed.
func (k *intake) admit(e *entry) {
	k.note(e)
	if k.lanes == 0 {
		k.lanes = 1
		if e.grain >= coarse {
			k.lanes = spreads
		}
	}
	k.newest = max(k.newest, e.second)
	k.horizon = stretched(k.horizon, k.newest-e.stamp)
	if e.grain < coarse {
		k.place(e)
		return
	}
	k.disorder = stretched(k.disorder, k.newest-e.second)
	if k.lanes == 1 {
		k.counts.rough++
	}
	if full := k.clumps.add(e); full != nil {
		k.spread(full)
	}
}

// stretched is how far back a log is waited for that has gone back so far.
func stretched(far, lag int64) int64 {
	if lag <= far-second {
		return far
	}
	return max(far, min(lag+lag/4+second, farthest))
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
func (k *intake) note(e *entry) {
	c := &k.counts
	if c.first == 0 || e.stamp < c.first {
		c.first = e.stamp
	}
	c.last = max(c.last, e.second)
	c.grain = max(c.grain, e.grain)
	c.atEnd = c.atEnd || e.atEnd
	if e.timed {
		c.timed++
	}
	switch {
	case e.broken:
		c.garbage++
		return
	case e.pathless:
		c.pathless++
	}
	if e.hostless {
		c.hostless++
	}
	if !e.client.Addr().IsValid() {
		c.nameless++
	}
	if e.port == 0 {
		c.portless++
	}
}

// spread gives the entries of a clump their places.
func (k *intake) spread(c *clump) {
	k.clumps.spread(c.list)
	for _, e := range c.list {
		k.place(e)
	}
	k.clumps.done(c)
}

// place puts an entry among those that wait.
func (k *intake) place(e *entry) {
	e.left = k.lanes * len(k.plan.configs)
	e.queued = k.lanes
	turn := e.serial
	if e.refused && e.grain < coarse {
		// A log has refusals before what came with them and took longer. Of what came in one instant they came behind: what was let
		// in is why they were refused.
		turn |= 1 << 63
	}
	for i := range k.lanes {
		at := e.stamp + e.offset[k.assumption(i)]
		if at < k.released[i] {
			// States of limits know no way back: it comes now, and ends when it did.
			if i == 0 {
				k.late(e, k.released[i]-at)
			}
			at = k.released[i]
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
	full := k.waiting > mostBytes || k.waits > mostHeld
	if !all && !full && k.serial < learning {
		return
	}
	for len(k.clumps.open) > 0 && (all || k.clumps.open[0].second < k.newest-k.disorder) {
		k.spread(k.clumps.next())
	}
	until := k.newest - k.horizon
	if len(k.clumps.open) > 0 {
		until -= k.disorder // whose entries have no place yet
	}
	for {
		any := false
		for i := range k.lanes {
			o := &k.orders[i]
			if o.len() > 0 && (all || full || o.next().at <= until) {
				k.let(i, o.take())
				any = true
			}
		}
		switch full = k.waiting > mostBytes || k.waits > mostHeld; {
		case any:
		case full && len(k.clumps.open) > 0:
			k.spread(k.clumps.next())
		default:
			return
		}
	}
}

// let makes it the turn of an arrival in a lane.
func (k *intake) let(lane int, a arrival) {
	k.released[lane] = max(k.released[lane], a.at)
	k.turns = append(k.turns, turn{a.at, lane, a.e})
	if a.e.queued--; a.e.queued == 0 {
		k.waiting -= a.e.size()
		k.waits--
	}
}

// end lets everything go.
func (k *intake) end() {
	k.believe()
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
	k.spares -= e.size()
	return e
}

// recycle takes an entry back for its memory, as long as that is little.
func (k *intake) recycle(list ...*entry) {
	for _, e := range list {
		if cap(e.text) > longText*16 {
			e.text = nil
		}
		if k.spares+e.size() > mostSpare {
			continue
		}
		k.spares += e.size()
		k.spare = append(k.spare, e)
	}
}

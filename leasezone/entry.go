package leasezone

import (
	"time"

	"github.com/limitgate/limitgate"
)

// entry is what is known of one key by one limit: what is left of the batch that was borrowed last, and the state that the zone was
// seen in last. Instants of the zone are by its clock, all others by the caller's.
type entry struct {
	key   string
	limit *limitgate.Limit // nil: the place is free
	plan  plan

	flight *flight // a call that borrows, under way

	// The batch.
	batch  uint32          // its number in the zone
	before limitgate.State // what the zone held before it
	at     limitgate.Time  // when it was charged
	end    limitgate.Time  // see plan.end
	life   uint64          // of the zone's charge
	got    int64           // how many were charged
	left   int64           // and were not spent, the last of them
	free   int64           // how many more the zone had, of a window
	spent  int64
	judged bool // the size says already what became of it

	// How the next one is borrowed.
	size int64 // how many
	want int64 // how many waited for the last one
	dry  bool  // the limit was reached: the next batch waits until it is there
	need int64 // how many must be there then, not less than size: more where others are faster

	// What is known of the zone.
	word limitgate.State
	seen limitgate.Time // when it was in this state; 0: nothing is known
	off  time.Duration  // how far its clock is ahead of the caller's, at most; 0 where the caller's time decides
	wide time.Duration  // and by how much less it may be

	last limitgate.Time // that somebody asked
	gap  time.Duration  // between two that ask, about
}

// touch notes that somebody asks at now.
func (e *entry) touch(now limitgate.Time) {
	if since := now.Sub(e.last); since > 0 {
		if e.gap == 0 {
			e.gap = since
		}
		e.gap += (since - e.gap) / 8
		e.last = now
	}
}

// instants are the latest and the earliest that it may be by the zone's clock; ok is false where time went back, by the
// caller's clock, behind what is known.
func (e *entry) instants(now limitgate.Time) (late, early limitgate.Time, ok bool) {
	late = now.Add(e.off)
	early = late.Add(-e.wide)
	if e.off != 0 { // the zone's own time goes on while a request is under way
		return max(late, e.at), max(early, e.seen), true
	}
	return late, early, late >= e.at && late >= e.seen
}

// ahead tells whether what is known lies ahead of now, by the caller's clock, which was set back.
func (e *entry) ahead(now limitgate.Time) bool {
	_, _, ok := e.instants(now)
	return !ok
}

// alive is how many of those left may still be spent at an instant of the zone. What is left are the last of the batch: the one
// i before the end is owed until end - i*each.
func (e *entry) alive(late limitgate.Time) int64 {
	switch room := int64(e.end - late); {
	case e.left == 0 || room <= 0:
		return 0
	case e.plan.each == 0 || room/e.plan.each >= e.left:
		return e.left
	default:
		return room / e.plan.each
	}
}

// decide decides without a call, if what is known suffices. hasty: the request does not wait for a whole batch to be there.
func (e *entry) decide(now limitgate.Time, cost limitgate.Cost, m limitgate.Mode, remember time.Duration, hasty bool) (d limitgate.Decision, c limitgate.Charge, ok bool) {
	late, early, ok := e.instants(now)
	if !ok {
		return d, c, false
	}
	k := e.alive(late)
	if m.Charges() {
		e.left = k
	}
	if k >= int64(cost) {
		if m == limitgate.Take {
			c = e.charge(k, int64(cost))
		}
		if k -= int64(cost); m.Charges() {
			e.left = k
			e.spent += int64(cost)
		}
		return e.passed(late, k), c, true
	}
	if k > 0 || e.seen == 0 || remember > 0 && early.Sub(e.seen) >= remember {
		return d, c, false
	}
	after, d := e.limit.Step(e.word, early, cost)
	lag := early.Sub(now.Add(e.off - e.wide)) // by which the estimate will be earlier, later on
	switch {
	case d.Outcome == limitgate.Rejected && after != e.word: // what it cuts is to be stored
		return d, c, false
	case d.Outcome == limitgate.Rejected && !e.dry:
		if m.Charges() {
			e.dry, e.size, e.need, e.judged = true, 1, 1, true
		}
		return later(d, lag), c, true
	case d.Outcome == limitgate.Rejected:
		e.judge(late)
		return later(e.patient(d, early, cost), lag), c, true
	case d.Outcome == limitgate.Passed && e.dry && !hasty:
		e.judge(late)
		if n := e.awaited(); int64(cost) < n && int64(cost)+d.Remaining-e.plan.slack < n {
			if p := e.patient(d, early, cost); p.Outcome == limitgate.Rejected {
				return later(p, lag), c, true
			}
		}
	}
	return d, c, false
}

// later has a refusal end later, if it ends.
func later(d limitgate.Decision, by time.Duration) limitgate.Decision {
	if d.Outcome == limitgate.Rejected && d.Wait > 0 {
		d.Wait += by
	}
	return d
}

// patient makes d, about cost, the refusal that ends when the next batch is there.
func (e *entry) patient(d limitgate.Decision, early limitgate.Time, cost limitgate.Cost) limitgate.Decision {
	n := e.awaited()
	if n <= int64(cost) {
		return d
	}
	_, all := e.limit.Step(e.word, early, limitgate.Cost(n))
	if all.Outcome != limitgate.Rejected || all.Wait <= 0 {
		return d
	}
	if d.Outcome == limitgate.Rejected {
		d.Wait = all.Wait
		return d
	}
	all = e.plan.lessened(all, n, int64(cost))
	all.Remaining = 0
	return all
}

// passed is the decision on what is spent of the batch, with k left behind it. It tells of the state that the zone would have if
// only what is spent were charged.
func (e *entry) passed(late limitgate.Time, k int64) (d limitgate.Decision) {
	each := e.plan.each
	if each == 0 {
		return limitgate.Decision{Remaining: e.free + k}
	}
	d.Remaining = e.plan.burst
	if over := int64(e.end-late) - (k+1)*each; over > 0 {
		q := over / each
		rest := over - q*each
		d.Excess = limitgate.Excess(q*1000 + rest*1000/each)
		if d.Remaining -= q; rest > 0 {
			d.Remaining--
		}
	}
	d.Remaining = max(d.Remaining, k)
	return d
}

// leased is the bit of Charge.Life that tells a charge of what was borrowed from one of the zone's own. The zone's lives have it 0.
const leased = 1 << 63

// charge identifies the first n of the k that are left. Before and After are what the zone held before and after these, so that it
// can take back exactly them; Key says where they were in the batch.
func (e *entry) charge(k, n int64) limitgate.Charge {
	return limitgate.Charge{
		Key: uint64(e.batch)<<32 | uint64(k)<<16 | uint64(n), Life: e.life | leased,
		Before: e.state(e.got - k), After: e.state(e.got - k + n),
	}
}

// state is what the zone held when n of the batch were charged.
func (e *entry) state(n int64) limitgate.State {
	if n == 0 {
		return e.before
	}
	s, _ := e.limit.Step(e.before, e.at, limitgate.Cost(n))
	return s
}

// putBack takes back what c charged, if it is of the batch that is there and may still be spent. What can't be any more is gone, as
// it is in the zone. It tells whether that is all.
func (e *entry) putBack(now limitgate.Time, c limitgate.Charge) bool {
	if e.got == 0 || uint64(e.batch) != c.Key>>32 || e.life != c.Life&^leased {
		return false
	}
	late, _, ok := e.instants(now)
	if !ok {
		return false
	}
	n, behind := int64(c.Key&0xffff), int64(c.Key>>16&0xffff)
	if c.Before != e.state(e.got-behind) || c.After != e.state(e.got-behind+n) { // a part of one: the zone knows what of it is left
		return false
	}
	behind -= n
	back := n
	if room := int64(e.end - late); e.plan.each == 0 && room <= 0 {
		back = 0
	} else if e.plan.each > 0 {
		back = min(n, max(room/e.plan.each-behind, 0))
	}
	// Those spent since came before the instant until which these are owed: they may count as having been these.
	e.left = e.alive(late) + back
	e.spent -= back
	return true
}

// judge lets what became of the batch say how large the next one is.
func (e *entry) judge(late limitgate.Time) {
	if e.judged || e.got == 0 {
		return
	}
	e.judged = true
	size, each := e.size, time.Duration(e.plan.each)
	switch {
	case e.got == 1 && e.dry:
		size = max(size, 4)
	case e.got == 1:
		// Would the others of four have been spent before they aged?
		if size = 1; late <= e.end.Add(2*each) {
			size = 4
		}
	case e.spent >= 2 && 2*e.spent >= e.got:
		size = max(size, 4*e.got)
	case each > 0 && late > e.end.Add(time.Duration(e.got)*each), each == 0 && (e.spent <= 1 || 4*e.spent < e.got):
		size = e.got / 2 // what is left of a bucket's batch by then has drained: nobody lacks it
	}
	if each > 0 && e.gap/each < time.Duration(e.plan.most) {
		size = max(size, int64((2*e.gap+each-1)/each)) // as many as take two requests to drain
	}
	e.size = min(max(size, 1), e.plan.most)
}

// next is how many to borrow for cost; ok is false where time went back.
func (e *entry) next(now limitgate.Time, cost limitgate.Cost) (n int64, ok bool) {
	late, early, ok := e.instants(now)
	if !ok {
		return 0, false
	}
	e.judge(late)
	if n = e.size; !e.dry {
		n = min(max(n, e.want), e.plan.most)
	}
	if e.seen != 0 {
		_, d := e.limit.Step(e.word, early, cost)
		fits := int64(cost) + d.Remaining - e.plan.slack
		switch {
		case d.Outcome != limitgate.Passed:
			fits = 0
		case !e.dry && fits < 2*n:
			fits /= 2 // what is left goes round
		}
		n = min(n, fits)
	}
	return max(n, int64(cost)), true
}

// clock sets how the zone's clock is ahead of the caller's, by an answer to what was asked at now and took so long.
func (e *entry) clock(a *limitgate.Ask, now limitgate.Time, took time.Duration) {
	if e.off, e.wide = a.At.Sub(now), took; e.off == 0 {
		e.wide = 0
	}
}

// note notes the state that the zone was seen in.
func (e *entry) note(a *limitgate.Ask) {
	if a.At != 0 && (a.At > e.seen || a.At == e.seen && a.State > e.word) {
		e.word, e.seen = a.State, a.At
	}
}

// refused notes that the zone refused n at a time, of which cost were asked for, and makes that the answer to the request: until
// the refusal is known to be over.
func (e *entry) refused(a *limitgate.Ask, cost limitgate.Cost) {
	n := int64(a.Cost)
	a.Decision = e.plan.lessened(a.Decision, n, int64(cost))
	e.judged = true
	switch {
	case e.dry: // others were faster, and come again as soon: the less often each asks, the more it finds
		e.size = min(4*e.size, e.plan.most)
		e.need = min(4*e.need, e.plan.patience())
		if e.seen != 0 {
			a.Decision = e.patient(a.Decision, a.At, cost)
		}
	case n > int64(cost):
		e.size = max(n/2, 1)
	default:
		e.dry, e.size, e.need = true, 1, 1
	}
	a.Decision = later(a.Decision, e.wide)
}

// awaited is how many must be there before the next batch is asked for, where the limit was reached.
func (e *entry) awaited() int64 { return max(e.size, e.need) }

// forget forgets what is known of the zone: something was taken back there.
func (e *entry) forget() { e.seen, e.word, e.dry = 0, 0, false }

// grant begins a batch: what a charged, of which cost is spent already.
func (e *entry) grant(batch uint32, a *limitgate.Ask, cost limitgate.Cost) {
	e.batch, e.before, e.at, e.life = batch, a.Charge.Before, a.At, a.Charge.Life
	e.end = e.plan.end(e.limit, a.Charge.After, a.At, a.Decision)
	e.got, e.left, e.free = int64(a.Cost), int64(a.Cost-cost), a.Decision.Remaining
	e.spent, e.judged = int64(cost), false
	if found := e.got + e.free - e.plan.slack; found >= e.plan.plenty() {
		e.dry = false
	}
	e.need -= e.need / 8
}

// worthless tells whether nothing is lost with the entry at now.
func (e *entry) worthless(now limitgate.Time) bool {
	if e.flight != nil {
		return false
	}
	late, early, ok := e.instants(now)
	if !ok || e.alive(late) > 0 {
		return !ok
	}
	if e.seen == 0 {
		return true
	}
	_, d := e.limit.Step(e.word, early, 1)
	return d.Outcome != limitgate.Rejected
}

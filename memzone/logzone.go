package memzone

import (
	"fmt"

	"github.com/limitgate/limitgate"
)

// bindLog makes the zone one of logs, with the first limit of that kind. A limit whose full log no shard could hold is an
// error.
func (z *Zone) bindLog(l *limitgate.Limit) error {
	z.resizing.Lock()
	defer z.resizing.Unlock()
	g := z.logs.Load()
	if g == nil {
		g = newLogs(z.table.Load().bytes())
	}
	if most := g.longest(); l.Steps.Full() > most {
		return fmt.Errorf("memory zone: %d bytes have no room for a log of %d; at most %d, or a larger zone", g.size, l.Steps.Full(), most)
	}
	if z.logs.CompareAndSwap(nil, g) {
		z.table.Store(newTable(0, 0))
	}
	return nil
}

// lock gives the shard of a fingerprint, locked.
func (z *Zone) lock(h uint64) *shard {
	for g := z.logs.Load(); ; {
		s := g.of(h)
		s.mu.Lock()
		if s.next == nil {
			return s
		}
		g = s.next
		s.mu.Unlock()
	}
}

// doLog is Do for logs.
func (z *Zone) doLog(now limitgate.Time, l *limitgate.Limit, h uint64, cost limitgate.Cost, m limitgate.Mode) (a limitgate.Decision, c limitgate.Charge) {
	g, ok := l.Steps.(*limitgate.LogSteps)
	if !ok {
		return limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, c
	}
	s := z.lock(h)
	defer s.mu.Unlock()
	lg := s.find(h)
	latest, skip, held := g.Cut(now), uint32(0), uint32(0)
	if lg != nil && lg.n > 0 {
		skip = s.past(lg, g.Since(now))
		held = lg.n - skip
		if full := uint32(max(g.Full(), l.Bound.Full())); held > full {
			skip, held = lg.n-full, full
		}
	}
	a = g.Decide(now, cost, int64(held), func(n int64) limitgate.Time { return min(*s.stamp(lg, skip+uint32(n)), latest) })
	if !a.Admitted() {
		if m != limitgate.Peek && held > 0 && s.last(lg) > latest {
			s.cut(lg, latest)
			lg.until = g.Until(latest)
		}
		return a, c
	}
	if !m.Charges() {
		if !s.hasRoom(lg, skip, uint32(cost), now, !z.rejects.Load()) {
			return limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, c
		}
		return a, c
	}
	stamp := max(now, 0)
	if held > 0 {
		if s.last(lg) > latest {
			s.cut(lg, latest)
		}
		stamp = max(stamp, s.last(lg))
	}
	if lg = z.extend(s, lg, h, skip, uint32(cost), now); lg == nil {
		z.count(h).full.Add(1)
		return limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, c
	}
	s.push(lg, stamp, uint32(cost))
	lg.until = g.Until(stamp)
	return a, limitgate.Charge{Key: h, Life: lg.life, Before: limitgate.State(cost), After: limitgate.State(stamp)}
}

// extend makes room for k more stamps of h after its oldest skip are forgotten. It gives its log, made if there is none, or
// nil if there is no room; then nothing has changed.
func (z *Zone) extend(s *shard, l *logState, h uint64, skip, k uint32, now limitgate.Time) *logState {
	if !s.hasRoom(l, skip, k, now, !z.rejects.Load()) {
		return nil
	}
	if l != nil {
		s.drop(l, skip)
	}
	if l == nil {
		if s.freeLog == 0 && s.usedLogs == len(s.logs) {
			z.evict(s, nil, now)
		} else {
			z.count(h).inserts.Add(1)
		}
		l = s.add(h, z.lives.Add(2)) // the lowest bit of a life is 0
	}
	for s.spareCells < l.grows(k) {
		z.evict(s, l, now)
	}
	s.unlink(l)
	s.append(l)
	return l
}

// hasRoom tells whether k more stamps of l, or of a new log, can be had by taking from drained logs, or from all.
func (s *shard) hasRoom(l *logState, skip, k uint32, now limitgate.Time, evict bool) bool {
	cells, need := s.spareCells, 0
	places := len(s.logs) - s.usedLogs
	if s.freeLog != 0 {
		places++
	}
	if l == nil {
		need = (&logState{}).grows(k)
	} else {
		rest := logState{n: l.n - skip, first: (l.first + skip) % stampsPerCell}
		places++
		cells += l.holds() - rest.holds()
		need = rest.grows(k)
	}
	for r := s.oldest; r != 0 && (cells < need || places == 0); {
		v := &s.logs[r-1]
		r = v.newer
		if v == l {
			continue
		}
		if v.until > now && !evict {
			break
		}
		cells += v.holds()
		places++
	}
	return cells >= need && places > 0
}

// evict frees the log that was unused for longest, but not l.
func (z *Zone) evict(s *shard, l *logState, now limitgate.Time) {
	r := s.oldest
	if l != nil && r == s.number(l) {
		r = l.newer
	}
	v := &s.logs[r-1]
	if v.until > now {
		z.count(v.h).hot.Add(1)
	} else {
		z.count(v.h).reuses.Add(1)
	}
	s.free(v)
}

// resetLog is Reset for logs.
func (z *Zone) resetLog(h uint64) {
	s := z.lock(h)
	defer s.mu.Unlock()
	if l := s.find(h); l != nil {
		s.free(l)
	}
}

// refundLog is Refund for logs.
func (z *Zone) refundLog(c limitgate.Charge) {
	s := z.lock(c.Key)
	defer s.mu.Unlock()
	if l := s.find(c.Key); l != nil && l.life == c.Life {
		s.remove(l, limitgate.Time(c.After), uint64(c.Before))
	}
}

// resizeLogs is Resize for logs. All requests wait for it.
func (z *Zone) resizeLogs(old *logs, size int, now limitgate.Time) (int, error) {
	if full := z.bound.Load().Full(); newLogs(size).longest() < full {
		return old.size, fmt.Errorf("memory zone: can't be resized to %d bytes: a log of %d has no room there", size, full)
	}
	for i := range old.shards {
		old.shards[i].mu.Lock()
		defer old.shards[i].mu.Unlock()
	}
	n := newLogs(size)
	for !z.move(old, n, now) {
		size *= 2
		n = newLogs(size)
	}
	for i := range old.shards {
		old.shards[i].next = n
	}
	z.logs.Store(n)
	return size, nil
}

// move copies what is in force. Under Reject it fails rather than forget something.
func (z *Zone) move(old, n *logs, now limitgate.Time) bool {
	for i := range old.shards {
		s := &old.shards[i]
		for r := s.oldest; r != 0; r = s.logs[r-1].newer {
			l := &s.logs[r-1]
			if l.until <= now || l.n == 0 {
				continue
			}
			to := n.of(l.h)
			m := z.extend(to, nil, l.h, 0, l.n, now)
			if m == nil {
				return false
			}
			m.life, m.until = l.life, l.until
			for c, k := (cursor{l.head, l.first}), l.n; k > 0; k-- {
				to.push(m, *s.step(&c), 1)
			}
		}
	}
	return true
}

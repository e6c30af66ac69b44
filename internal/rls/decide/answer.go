package decide

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/config"
)

// answer puts together what the legs say.
func (d *Decider) answer(w *work, now limitgate.Time, a *Answer) {
	a.Over, a.Binding, a.RetryAfter = false, -1, 0
	least := uint32(Unlimited)
	refused, quotas, spent := false, 0, 0
	for i := range w.legs {
		l, s := &w.legs[i], &a.Statuses[i]
		if l.unlimited {
			s.Remaining = Unlimited
			s.Rule, s.Metadata = nil, nil
			continue
		}
		quota := d.options.Quota
		if l.b == nil {
			s.Rule, s.Metadata = nil, nil
		} else {
			d.status(w, l, s, now)
			quota = quota || l.rule != nil && l.rule.Quota
			if s.Remaining < least {
				a.Binding, least = i, s.Remaining
			}
		}
		switch {
		case quota && s.Over:
			spent++
		case s.Over:
			refused = true
			a.Binding, least = i, 0
		}
		if quota {
			quotas++
		}
	}
	a.Over = refused || quotas > 0 && quotas == spent
	if a.Over && d.options.Shadow {
		a.Over = false
		d.counters.Service.GlobalShadow.Add(1)
	}
	if a.Over {
		a.RetryAfter = w.retryAfter(a)
	}
}

// status says what a leg came to, and counts it.
func (d *Decider) status(w *work, l *leg, s *Status, now limitgate.Time) {
	s.Limited, s.Limit = true, l.limit
	if l.limit.Places > 0 {
		d.held(l, s)
		return
	}
	if l.limit == &l.override {
		limit := l.override // the leg is used again
		s.Limit = &limit
	}
	if l.b.tally != nil {
		s.Reset = l.b.window - seconds(now)%l.b.window
	} else {
		s.Reset = l.wait
	}
	c, limit := l.counters, uint64(l.limit.Requests)
	if l.b.holds > 0 {
		limit = uint64(l.b.holds)
	}
	before := l.after - l.hits // below zero, as envoyproxy/ratelimit counts, where hits were not counted
	switch {
	case l.closed:
		s.Over = true
		return
	case l.cached:
		s.Over = true
		c.Over.Add(l.hits)
		c.OverLocal.Add(l.hits)
	case l.b.tally != nil && l.after > limit, l.b.tally == nil && l.over:
		s.Over = true
		near := l.near(d)
		if before >= limit {
			c.Over.Add(l.hits)
		} else {
			c.Over.Add(l.after - limit)
			c.Near.Add(limit - max(near, before))
		}
		if l.b.tally != nil {
			d.cache.note(now, w.keyOf(l))
		}
	default:
		s.Remaining = uint32(min(limit-min(limit, l.after), Unlimited))
		if near := l.near(d); l.after > near {
			if before >= near {
				c.Near.Add(l.hits)
			} else {
				c.Near.Add(l.after - near)
			}
		}
		c.Within.Add(l.hits)
	}
	if s.Over && l.rule != nil && l.rule.Shadow {
		s.Over = false
		if l.cached || before >= limit {
			c.Shadow.Add(l.hits)
		} else {
			c.Shadow.Add(l.after - limit)
		}
	}
}

// held says what came of a place. Nobody knows when one will be free.
func (d *Decider) held(l *leg, s *Status) {
	s.Over, s.Remaining, s.Reset = l.over, uint32(max(l.free, 0)), int64(l.limit.Hold.Seconds())
	switch {
	case l.closed || l.release:
		return
	case s.Over:
		l.counters.Over.Add(l.hits)
		if l.rule.Shadow {
			s.Over = false
			l.counters.Shadow.Add(l.hits)
		}
	default:
		l.counters.Within.Add(l.hits)
	}
}

// near is the count from which on the limit is near.
func (l *leg) near(d *Decider) uint64 {
	if l.rule == nil {
		return near(l.limit.Requests, d.options.NearRatio)
	}
	return l.b.near
}

// retryAfter is the longest wait over all limits that refuse; 0 where one of them has none: it lets nothing pass, or never so much.
func (w *work) retryAfter(a *Answer) int64 {
	longest := int64(0)
	for i := range w.legs {
		l, s := &w.legs[i], &a.Statuses[i]
		if !s.Over {
			continue
		}
		whole := uint64(l.limit.Requests)
		if l.b.holds > 0 {
			whole = uint64(l.b.holds)
		}
		if l.closed || l.limit.Places > 0 || l.hits > whole || whole == 0 || s.Reset == 0 {
			return 0
		}
		longest = max(longest, s.Reset)
	}
	return longest
}

// Merge puts the metadata of all descriptors that passed together: what came first stays, and maps are merged key by key. The rules'
// own maps are not touched. It is nil where there is none.
func (a *Answer) Merge() map[string]any {
	var all map[string]any
	for i := range a.Statuses {
		if s := &a.Statuses[i]; !s.Over && len(s.Metadata) > 0 {
			all = merge(all, s.Metadata)
		}
	}
	return all
}

// merge gives a map with what both have.
func merge(a, b map[string]any) map[string]any {
	m := make(map[string]any, len(a)+len(b))
	for k, v := range a {
		m[k] = v
	}
	for k, v := range b {
		had, there := m[k]
		if !there {
			m[k] = v
			continue
		}
		x, isMap := had.(map[string]any)
		if y, too := v.(map[string]any); isMap && too {
			m[k] = merge(x, y)
		}
	}
	return m
}

// Code is what an answer of Envoy's protocol says.
func (s *Status) Code() string {
	if s.Over {
		return "OVER_LIMIT"
	}
	return "OK"
}

// Unit is the unit of the limit.
func (s *Status) Unit() config.Unit { return s.Limit.Unit }

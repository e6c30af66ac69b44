package limit

import (
	"context"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Sole is a limit that decides on a request alone: for tools that ask it at several times, without the way around it.
type Sole struct {
	Limiter *limitgate.Limiter
	Zone    string
	Key     []byte // good until the request keeps something
	DryRun  bool
}

// SoleOf returns the one limit that a handler of this phase would ask for a request. It reports false where there is none or
// more than one, where its numbers depend on the request, and where it is one of places.
func SoleOf(h phase.Handler, r *request.Request) (Sole, bool) {
	l, is := h.(*handler)
	if !is || len(l.conn) > 0 || len(l.earnest)+len(l.rehearsed) != 1 || l.exempt != nil && l.exempt.Contains(r.ClientAddr.Addr()) {
		return Sole{}, false
	}
	list := l.earnest
	if len(list) == 0 {
		list = l.rehearsed
	}
	m := &list[0]
	if m.vary != nil || m.fixed.limiter == nil || *m.group.kind.status(r) != request.LimitUnset {
		return Sole{}, false
	}
	key := m.key.Append(r, r.Scratch())
	r.Claim(key[:0]) // lent only until something is kept
	dryRun := m.group.dryRun || m.split != nil && !m.split.Enforces(limitgate.BytesKey(key))
	return Sole{m.fixed.limiter, m.zone, key, dryRun}, len(key) > 0
}

// Take asks the limit, and notes in a report what it said. A request that it refuses must go its whole way, and is refused there
// too: what is refused is not charged.
func (s *Sole) Take(now limitgate.Time, p *request.Report) (limitgate.Decision, error) {
	d, err := s.Limiter.TakeAt(context.Background(), now, limitgate.BytesKey(s.Key), 1)
	if err != nil {
		return d, err
	}
	d = rounded(d)
	p.Tell(s.Zone, limitgate.BytesKey(s.Key), d, s.DryRun)
	p.Add(0, 0, d, s.DryRun)
	if !s.DryRun {
		p.Delay = d.Delay()
	}
	return d, nil
}

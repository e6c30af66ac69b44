package upstream

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
)

// member is a server directive of a group: addresses that stay, or a name that is looked up again and again.
type member struct {
	pattern peer // what all its peers have in common
	backup  bool
	name    lookup  // host "": the addresses stay
	peers   []*peer // of now; guarded by the group's mu where the name is looked up
	id      string  // of the name, for what is remembered of it
	known   bool    // its peers were, before they were looked up for the first time
}

// peersOf makes the peers of members, in their order.
func (g *group) peersOf(members []*member) peers {
	var p peers
	for _, m := range members {
		if m.backup {
			p.backup = append(p.backup, m.peers...)
			continue
		}
		p.primary = append(p.primary, m.peers...)
		p.weight += m.pattern.weight * len(m.peers)
	}
	if g.method == ringHash {
		p.ring = newRing(p.primary)
	}
	return p
}

// like returns a peer of a member at an address.
func (m *member) like(p *peer) *peer {
	q := m.pattern
	q.addr, q.unix, q.name = p.addr, p.unix, p.name
	q.effective = q.weight
	return &q
}

// set makes the member's peers those at these addresses. Peers that stay keep their standing, new ones start slowly where they are
// to, unless they are the first. g.mu is held. It reports whether anything changed.
func (m *member) set(addrs []netip.Addr, first bool, now limitgate.Time) (changed bool) {
	old := m.peers
	m.peers = make([]*peer, 0, len(addrs))
	for _, a := range addrs {
		at := netip.AddrPortFrom(a, m.name.port)
		found := (*peer)(nil)
		for _, p := range old {
			if p.addr == at {
				found = p
			}
		}
		if found == nil {
			found = m.like(tcpPeer(at))
			changed = true
			if found.slow.over > 0 && !first {
				found.rises = now
			}
		}
		m.peers = append(m.peers, found)
	}
	return changed || len(old) != len(m.peers)
}

// Watch looks up the names of the set's groups again and again, until ctx ends. It returns when nothing of it runs any more.
func (s *Set) Watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, g := range s.groups {
		named := slices.DeleteFunc(slices.Clone(g.members), func(m *member) bool { return m.name.host == "" })
		left := new(atomic.Int32)
		for _, m := range named { // before the first of them can be done
			if !m.known {
				left.Add(1)
			}
		}
		for _, m := range named {
			all.Add(1)
			// Owned by Watch, which waits for it; ends with ctx.
			go func() {
				defer all.Done()
				s.renew(ctx, g, m, left)
			}()
		}
	}
	all.Wait()
}

// renew looks up one name until ctx ends. left counts the members of the group of which nothing is known yet.
func (s *Set) renew(ctx context.Context, g *group, m *member, left *atomic.Int32) {
	for first := !m.known; ; first = false {
		wait := s.once(ctx, g, m, first)
		if first && left.Add(-1) == 0 {
			close(g.found)
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// once looks up a name. It returns when to do so again: when the answer has run out, and behind a failure when the resolver's time
// is over once more, as nginx does; not more than once a second. The last addresses hold until then.
func (s *Set) once(ctx context.Context, g *group, m *member, first bool) time.Duration {
	within, cancel := context.WithTimeout(ctx, g.resolver.timeout)
	defer cancel()
	answer, err := g.resolver.client.Ask(within, m.name.host)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Write(errorlog.Error, 0, m.name.host+" could not be resolved ("+err.Error()+")")
		}
		return s.remember(g, m, nil, max(g.resolver.timeout, time.Second))
	}
	wait := g.resolver.valid
	if wait <= 0 {
		wait = max(answer.TTL, time.Second)
	}
	s.remember(g, m, answer.Addrs, wait)
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.set(answer.Addrs, first, s.now()) {
		p := g.peersOf(g.members)
		g.renewed.Store(&p)
	}
	return wait
}

// remember keeps addresses for the next configuration until they have been looked up again; without any, the last ones. It returns
// wait, which is when that begins.
func (s *Set) remember(g *group, m *member, addrs []netip.Addr, wait time.Duration) time.Duration {
	now := s.now()
	s.names.Keep(m.id, addrs, now, now+limitgate.Time(wait+g.resolver.timeout+time.Second))
	return wait
}

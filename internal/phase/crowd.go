package phase

import (
	"net/netip"
	"sync"
)

// Crowd looks at where the requests that a zone counts come from. Where nearly all of them come from one address inside the
// operator's own network, it is a balancer that is counted, not its clients. It is safe for concurrent use and keeps one
// address.
type Crowd struct {
	mu   sync.Mutex // guards what follows
	who  netip.Addr
	seen int
	same int
	told bool
}

const (
	// CrowdSize is how many requests are looked at before the crowd is judged.
	CrowdSize = 256
	// crowdOne is how many of them one address sends where it is the only one to matter: 95 %.
	crowdOne = CrowdSize * 95 / 100
)

// Meet notes a request from a. It reports true once, with how many of CrowdSize requests came from it, when a is that one
// address. Where others are busy with the crowd, the request is not looked at.
func (c *Crowd) Meet(a netip.Addr) (same int, one bool) {
	if !c.mu.TryLock() {
		return 0, false
	}
	defer c.mu.Unlock()
	if c.told {
		return 0, false
	}
	if c.seen == 0 {
		c.who, c.same = a, 0
	}
	c.seen++
	if a == c.who {
		c.same++
	}
	if c.seen < CrowdSize {
		return 0, false
	}
	same, c.seen = c.same, 0
	c.told = same > crowdOne && a == c.who && inside(a)
	return same, c.told
}

// inside reports whether an address can't be a client from outside: loopback, private, or of a carrier's or link's own range.
func inside(a netip.Addr) bool {
	a = a.Unmap()
	carrier := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10)
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrier.Contains(a)
}

// Crowd returns the crowd of a zone: one for all scopes of a configuration that use it.
func (e *Env) Crowd(zone string) *Crowd {
	if e.crowds == nil {
		e.crowds = map[string]*Crowd{}
	}
	if e.crowds[zone] == nil {
		e.crowds[zone] = new(Crowd)
	}
	return e.crowds[zone]
}

package upstream

import (
	"net/netip"
	"sync"

	"github.com/limitgate/limitgate"
)

// peer is one address of an upstream. What it is does not change; its standing is guarded by its group's mu.
type peer struct {
	addr        netip.AddrPort // of a TCP peer
	unix        string         // path of a unix socket, "" for TCP
	name        []byte         // as $upstream_addr and the error log name it
	weight      int
	maxFails    int
	failTimeout int64 // seconds, as nginx counts them
	maxConns    int
	down        bool

	standing
}

// standing is how a peer has fared, in the terms of ngx_http_upstream_round_robin.c.
type standing struct {
	current   int // smooth weighted round robin
	effective int
	fails     int
	conns     int
	accessed  int64 // seconds; when it failed last
	checked   int64 // seconds; when it was last given a chance
}

// group is a set of peers among which requests are shared: an upstream block, or what one host name resolved to.
type group struct {
	name    []byte
	primary []*peer
	backup  []*peer
	idle    *idle // nil: no connection is kept

	mu sync.Mutex // guards the peers' standing
}

// single reports whether there is no choice: then a peer is never taken out, whatever its failures.
func (g *group) single() bool { return len(g.primary) == 1 && len(g.backup) == 0 }

// choice is the walk of one request through a group.
type choice struct {
	g      *group
	tried  []uint64 // of the tier that is walked
	backup bool
	tries  int // how many more peers may be asked
}

// begin starts a walk. The memory of the last one is used again.
func (c *choice) begin(g *group) {
	c.g, c.backup, c.tries = g, false, 0
	for _, tier := range [...][]*peer{g.primary, g.backup} {
		for _, p := range tier {
			if !p.down {
				c.tries++
			}
		}
	}
	c.reset(len(g.primary))
}

func (c *choice) reset(n int) {
	c.tried = c.tried[:0]
	for ; n > 0; n -= 64 {
		c.tried = append(c.tried, 0)
	}
}

// next returns the peer to ask now, nil when none is alive. It must be given back with done.
func (c *choice) next(now limitgate.Time) *peer {
	g := c.g
	if g.single() && g.primary[0].maxConns == 0 {
		if p := g.primary[0]; !p.down {
			return p
		}
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !c.backup {
		if p := pick(g.primary, c.tried, seconds(now), g.single()); p != nil {
			return p
		}
		if len(g.backup) == 0 {
			return nil
		}
		c.backup = true
		c.reset(len(g.backup))
	}
	return pick(g.backup, c.tried, seconds(now), false)
}

// pick is smooth weighted round robin over the peers that are alive and not tried yet
// (ngx_http_upstream_get_peer), and counts a connection for the one it returns.
func pick(peers []*peer, tried []uint64, now int64, single bool) *peer {
	best, total := -1, 0
	for i, p := range peers {
		if tried[i/64]&(1<<(i%64)) != 0 || p.down || p.maxConns > 0 && p.conns >= p.maxConns {
			continue
		}
		if !single && p.maxFails > 0 && p.fails >= p.maxFails && now-p.checked <= p.failTimeout {
			continue
		}
		p.current += p.effective
		total += p.effective
		if p.effective < p.weight {
			p.effective++
		}
		if best < 0 || p.current > peers[best].current {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	p := peers[best]
	p.current -= total
	p.conns++
	tried[best/64] |= 1 << (best % 64)
	if now-p.checked > p.failTimeout {
		p.checked = now
	}
	return p
}

// done gives a peer back (ngx_http_upstream_free_round_robin_peer). disabled is true when this failure took it out.
func (c *choice) done(p *peer, failed bool, now limitgate.Time) (disabled bool) {
	g := c.g
	if g.single() {
		if p.maxConns > 0 {
			g.mu.Lock()
			p.conns--
			g.mu.Unlock()
		}
		c.tries = 0
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	p.conns--
	if c.tries > 0 {
		c.tries--
	}
	if !failed {
		if p.accessed < p.checked {
			p.fails = 0
		}
		return false
	}
	p.fails++
	p.accessed, p.checked = seconds(now), seconds(now)
	if p.maxFails > 0 {
		p.effective = max(p.effective-p.weight/p.maxFails, 0)
		disabled = p.fails >= p.maxFails
	}
	return disabled
}

func seconds(t limitgate.Time) int64 { return int64(t) / 1e9 }

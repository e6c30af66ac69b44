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
	server      string         // as the configuration names it
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

	method method
	weight int  // of the primary peers together, for a hash
	key    Text // of keyHash and ringHash
	ring   ring // of ringHash

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
	hashed hashed
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
		if p := c.pickFirst(seconds(now)); p != nil {
			return p
		}
		if len(g.backup) == 0 {
			return nil
		}
		c.backup = true
		c.reset(len(g.backup))
	}
	if g.method == leastConn {
		return pickLeast(g.backup, c.tried, seconds(now))
	}
	return pick(g.backup, c.tried, seconds(now), false)
}

// pickFirst picks among the primary peers. g.mu is held.
func (c *choice) pickFirst(now int64) *peer {
	g := c.g
	var p *peer
	switch {
	case g.single() || g.method == roundRobin:
	case g.method == leastConn:
		return pickLeast(g.primary, c.tried, now)
	case g.method == byLot:
		p = c.pickRandom(now)
	case g.method == ofTwo:
		p = c.pickOfTwo(now)
	default:
		p = c.pickHashed(now)
	}
	if p != nil {
		return p
	}
	return pick(g.primary, c.tried, now, g.single())
}

// usable reports whether the peer at i can be asked, and was not yet.
func usable(p *peer, tried []uint64, i int, now int64) bool {
	return tried[i/64]&(1<<(i%64)) == 0 && !p.down && (p.maxConns == 0 || p.conns < p.maxConns) &&
		(p.maxFails == 0 || p.fails < p.maxFails || now-p.checked > p.failTimeout)
}

// weigh gives a peer its share of one choice, and returns the share.
func (p *peer) weigh() int {
	share := p.effective
	p.current += share
	if p.effective < p.weight {
		p.effective++
	}
	return share
}

// take counts a connection for the peer that was picked.
func take(peers []*peer, tried []uint64, i int, now int64) *peer {
	p := peers[i]
	p.conns++
	tried[i/64] |= 1 << (i % 64)
	if now-p.checked > p.failTimeout {
		p.checked = now
	}
	return p
}

// pick is smooth weighted round robin over the peers that can be asked (ngx_http_upstream_get_peer). A single peer is never
// out for its failures.
func pick(peers []*peer, tried []uint64, now int64, single bool) *peer {
	best, total := -1, 0
	for i, p := range peers {
		if !usable(p, tried, i, now) && !(single && !p.down && (p.maxConns == 0 || p.conns < p.maxConns)) {
			continue
		}
		total += p.weigh()
		if best < 0 || p.current > peers[best].current {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	peers[best].current -= total
	return take(peers, tried, best, now)
}

// pickLeast picks the peer with the fewest connections for its weight; among several smooth weighted round robin decides
// (ngx_http_upstream_get_least_conn_peer).
func pickLeast(peers []*peer, tried []uint64, now int64) *peer {
	best, many := -1, false
	for i, p := range peers {
		if !usable(p, tried, i, now) {
			continue
		}
		switch d := compareLoad(peers, i, best); {
		case d < 0:
			best, many = i, false
		case d == 0:
			many = true
		}
	}
	if best < 0 {
		return nil
	}
	total := 0
	if many {
		for first, i := best, best; i < len(peers); i++ {
			p := peers[i]
			if !usable(p, tried, i, now) || compareLoad(peers, i, first) != 0 {
				continue
			}
			total += p.weigh()
			if p.current > peers[best].current {
				best = i
			}
		}
	}
	peers[best].current -= total
	return take(peers, tried, best, now)
}

// compareLoad compares how busy the peer at i is with the one at best; none is busier than any.
func compareLoad(peers []*peer, i, best int) int {
	if best < 0 {
		return -1
	}
	p, b := peers[i], peers[best]
	return p.conns*b.weight - b.conns*p.weight
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

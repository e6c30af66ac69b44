package upstream

import (
	"cmp"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

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
	slow        slowStart

	standing
}

// standing is how a peer has fared, in the terms of ngx_http_upstream_round_robin.c.
type standing struct {
	current   int // smooth weighted round robin
	effective int
	fails     int
	conns     int
	accessed  int64          // seconds; when it failed last
	checked   int64          // seconds; when it was last given a chance
	rises     limitgate.Time // since when its weight rises, 0: it is all there
}

// group is a set of peers among which requests are shared: an upstream block, or what one host name resolved to.
type group struct {
	name []byte
	idle *idle // nil: no connection is kept

	method method
	key    Text // of keyHash and ringHash
	peers       // as the configuration has them

	members  []*member     // what the peers were made of
	found    chan struct{} // closed when all names were looked up once; nil: there are none
	resolver resolver      // of the names
	patience time.Duration // how long a request waits for found

	mu      sync.Mutex            // guards the peers' standing
	renewed atomic.Pointer[peers] // as names were resolved anew; nil: not yet
}

// peers are those of a group at one time. The lists do not change, the standing of those in them does.
type peers struct {
	primary []*peer
	backup  []*peer
	weight  int  // of the primary ones together, for a hash
	ring    ring // of ringHash
}

// current returns the peers of now.
func (g *group) current() *peers {
	if p := g.renewed.Load(); p != nil {
		return p
	}
	return &g.peers
}

// single reports whether there is no choice: then a peer is never taken out, whatever its failures.
func (p *peers) single() bool { return len(p.primary) == 1 && len(p.backup) == 0 }

// choice is the walk of one request through a group.
type choice struct {
	g      *group
	*peers          // of the group when the walk began
	tried  []uint64 // of the tier that is walked
	second bool     // that is the backup
	tries  int      // how many more peers may be asked
	hashed hashed
}

// begin starts a walk. The memory of the last one is used again.
func (c *choice) begin(g *group) {
	c.g, c.peers, c.second, c.tries = g, g.current(), false, 0
	for _, tier := range [...][]*peer{c.primary, c.backup} {
		for _, p := range tier {
			if !p.down {
				c.tries++
			}
		}
	}
	c.reset(len(c.primary))
}

func (c *choice) reset(n int) {
	c.tried = c.tried[:0]
	for ; n > 0; n -= 64 {
		c.tried = append(c.tried, 0)
	}
}

// next returns the peer to ask now, nil when none is alive. It must be given back with done.
func (c *choice) next(now limitgate.Time) *peer {
	if c.single() && c.primary[0].maxConns == 0 {
		if p := c.primary[0]; !p.down {
			return p
		}
		return nil
	}
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	if !c.second {
		if p := c.pickFirst(now); p != nil {
			return p
		}
		if len(c.backup) == 0 {
			return nil
		}
		c.second = true
		c.reset(len(c.backup))
	}
	if c.g.method == leastConn {
		return pickLeast(c.backup, c.tried, now)
	}
	return pick(c.backup, c.tried, now, false)
}

// pickFirst picks among the primary peers. The group's mu is held.
func (c *choice) pickFirst(now limitgate.Time) *peer {
	g := c.g
	var p *peer
	switch {
	case len(c.primary) == 0: // a name was not found yet
		return nil
	case c.single() || g.method == roundRobin:
	case g.method == leastConn:
		return pickLeast(c.primary, c.tried, now)
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
	return pick(c.primary, c.tried, now, c.single())
}

// usable reports whether the peer at i can be asked, and was not yet.
func usable(p *peer, tried []uint64, i int, now limitgate.Time) bool {
	return tried[i/64]&(1<<(i%64)) == 0 && !p.down && (p.maxConns == 0 || p.conns < p.maxConns) &&
		(p.maxFails == 0 || p.fails < p.maxFails || seconds(now)-p.checked > p.failTimeout)
}

// weigh gives a peer its share of one choice, and returns the share.
func (p *peer) weigh(now limitgate.Time) int {
	share := p.effective * p.risen(now)
	p.current += share
	if p.effective < p.weight {
		p.effective++
	}
	return share
}

// take counts a connection for the peer that was picked.
func take(peers []*peer, tried []uint64, i int, now limitgate.Time) *peer {
	p := peers[i]
	p.conns++
	tried[i/64] |= 1 << (i % 64)
	if s := seconds(now); s-p.checked > p.failTimeout {
		p.checked = s
	}
	return p
}

// pick is smooth weighted round robin over the peers that can be asked (ngx_http_upstream_get_peer). A single peer is never
// out for its failures.
func pick(peers []*peer, tried []uint64, now limitgate.Time, single bool) *peer {
	best, total := -1, 0
	for i, p := range peers {
		if !usable(p, tried, i, now) && !(single && !p.down && (p.maxConns == 0 || p.conns < p.maxConns)) {
			continue
		}
		total += p.weigh(now)
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
func pickLeast(peers []*peer, tried []uint64, now limitgate.Time) *peer {
	best, many := -1, false
	for i, p := range peers {
		if !usable(p, tried, i, now) {
			continue
		}
		switch d := compareLoad(peers, i, best, now); {
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
			if !usable(p, tried, i, now) || compareLoad(peers, i, first, now) != 0 {
				continue
			}
			total += p.weigh(now)
			if p.current > peers[best].current {
				best = i
			}
		}
	}
	peers[best].current -= total
	return take(peers, tried, best, now)
}

// compareLoad compares how busy the peer at i is with the one at best; none is busier than any.
func compareLoad(peers []*peer, i, best int, now limitgate.Time) int {
	if best < 0 {
		return -1
	}
	p, b := peers[i], peers[best]
	return cmp.Compare(int64(p.conns)*b.load(now), int64(b.conns)*p.load(now))
}

// load is how much of what comes is a peer's.
func (p *peer) load(now limitgate.Time) int64 { return int64(p.weight) * int64(p.risen(now)) }

// done gives a peer back (ngx_http_upstream_free_round_robin_peer). disabled is true when this failure took it out.
func (c *choice) done(p *peer, failed bool, now limitgate.Time) (disabled bool) {
	g := c.g
	if c.single() {
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
			p.recover(now)
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

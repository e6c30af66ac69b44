package upstream

import (
	"cmp"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/request"
)

// method is how a group shares requests among its peers.
type method uint8

const (
	roundRobin method = iota // smooth weighted round robin
	leastConn                // the peer with the fewest connections for its weight
	ipHash                   // by the client's network
	keyHash                  // by a key
	ringHash                 // by a key, on a ring: few keys move where peers come or go
	byLot                    // by lot
	ofTwo                    // the less busy of two by lot
)

// hashed is where the walk of one request stands in a group that hashes or draws lots.
type hashed struct {
	key    []byte
	state  uint64
	rounds int // of keyHash
	misses int
}

// mostMisses is how many peers that can't be asked a hash or a lot may find; round robin goes on behind them.
const mostMisses = 20

// start begins the walk of a request in such a group.
func (c *choice) start(r *request.Request) {
	s, g := &c.hashed, c.g
	*s = hashed{key: s.key[:0]}
	switch g.method {
	case ipHash:
		s.state, s.key = 89, appendNetwork(s.key, r)
	case keyHash, ringHash:
		s.key = g.key.Append(r, s.key)
		if g.method == ringHash {
			s.state = c.ring.find(crc32.ChecksumIEEE(s.key))
		}
		if len(s.key) == 0 {
			s.misses = mostMisses + 1
		}
	}
}

// appendNetwork appends what ip_hash counts of the client's address: three bytes of IPv4, all of IPv6
// (ngx_http_upstream_init_ip_hash_peer).
func appendNetwork(dst []byte, r *request.Request) []byte {
	a := r.ClientAddr.Addr()
	switch {
	case a.Is4():
		b := a.As4()
		return append(dst, b[:3]...)
	case a.Is6():
		b := a.As16()
		return append(dst, b[:]...)
	}
	return append(dst, 0, 0, 0)
}

// nextHash returns the index of the peer that the next hash finds.
func (c *choice) nextHash() int {
	s := &c.hashed
	if c.g.method == ipHash {
		for _, b := range s.key {
			s.state = (s.state*113 + uint64(b)) % 6271
		}
		return c.weighed(s.state)
	}
	// Compatible with Cache::Memcached: the round stands before the key, but for the first.
	sum := uint32(0)
	if s.rounds > 0 {
		var b [20]byte
		sum = crc32.Update(sum, crc32.IEEETable, strconv.AppendInt(b[:0], int64(s.rounds), 10))
	}
	sum = crc32.Update(sum, crc32.IEEETable, s.key)
	s.state += uint64(sum >> 16 & 0x7fff)
	s.rounds++
	return c.weighed(s.state)
}

// weighed returns the primary peer that a number falls to, each in proportion to its weight.
func (p *peers) weighed(n uint64) int {
	w := int(n % uint64(p.weight))
	for i, p := range p.primary {
		if w < p.weight {
			return i
		}
		w -= p.weight
	}
	return len(p.primary) - 1 // not reached: the weights add up
}

// pickHashed returns the peer that the hash finds, nil where round robin has to go on. g.mu is held.
func (c *choice) pickHashed(now limitgate.Time) *peer {
	for c.hashed.misses <= mostMisses {
		best := -1
		if c.g.method == ringHash {
			best = c.pickOnRing(now)
		} else if i := c.nextHash(); usable(c.primary[i], c.tried, i, now) {
			best = i
		}
		if best >= 0 {
			return take(c.primary, c.tried, best, now)
		}
		c.hashed.misses++
	}
	return nil
}

// pickOnRing returns the best of the peers of the point in hand, and goes on to the next point where there is none
// (ngx_http_upstream_get_chash_peer). One server may be several peers.
func (c *choice) pickOnRing(now limitgate.Time) int {
	server := c.ring[c.hashed.state%uint64(len(c.ring))].server
	best, total := -1, 0
	for i, p := range c.primary {
		if p.server != server || !usable(p, c.tried, i, now) {
			continue
		}
		total += p.weigh(now)
		if best < 0 || p.current > c.primary[best].current {
			best = i
		}
	}
	if best < 0 {
		c.hashed.state++
		return -1
	}
	c.primary[best].current -= total
	return best
}

// ring is the points of a consistent hash, by their hash.
type ring []point

type point struct {
	hash   uint32
	server string
}

// newRing places the peers on a ring, 160 points for each unit of weight (ngx_http_upstream_init_chash); compatible with
// Cache::Memcached::Fast: crc32(HOST \0 PORT PREVIOUS).
func newRing(peers []*peer) ring {
	var r ring
	placed := map[string]bool{}
	for _, p := range peers {
		if placed[p.server] { // another address of the same server has the same points
			continue
		}
		placed[p.server] = true
		host, port := splitServer(p.server)
		base := crc32.ChecksumIEEE([]byte(host + "\x00" + port))
		previous := uint32(0)
		for range p.weight * 160 {
			b := [4]byte{byte(previous), byte(previous >> 8), byte(previous >> 16), byte(previous >> 24)}
			previous = crc32.Update(base, crc32.IEEETable, b[:])
			r = append(r, point{previous, p.server})
		}
	}
	slices.SortStableFunc(r, func(a, b point) int { return cmp.Compare(a.hash, b.hash) })
	return slices.CompactFunc(r, func(a, b point) bool { return a.hash == b.hash })
}

// splitServer splits the name of a server at the port that ends it.
func splitServer(name string) (host, port string) {
	if len(name) >= 5 && strings.EqualFold(name[:5], "unix:") {
		return name[5:], ""
	}
	i := strings.LastIndexByte(name, ':')
	if i < 0 || strings.Trim(name[i+1:], "0123456789") != "" {
		return name, ""
	}
	return name[:i], name[i+1:]
}

// find returns the index of the first point at or behind a hash; behind the last it is their number.
func (r ring) find(hash uint32) uint64 {
	i, _ := slices.BinarySearchFunc(r, hash, func(p point, h uint32) int { return cmp.Compare(p.hash, h) })
	return uint64(i)
}

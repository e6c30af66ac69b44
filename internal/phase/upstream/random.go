package upstream

import (
	"math/rand/v2"

	"github.com/limitgate/limitgate"
)

// pickRandom picks a peer by lot, each in proportion to its weight (ngx_http_upstream_get_random_peer); nil where round robin
// has to go on. g.mu is held.
func (c *choice) pickRandom(now limitgate.Time) *peer {
	for ; c.hashed.misses <= mostMisses; c.hashed.misses++ {
		if i := c.weighed(rand.Uint64()); usable(c.primary[i], c.tried, i, now) {
			return take(c.primary, c.tried, i, now)
		}
	}
	return nil
}

// pickOfTwo picks two peers by lot, and of them the one with fewer connections for its weight
// (ngx_http_upstream_get_random2_peer).
func (c *choice) pickOfTwo(now limitgate.Time) *peer {
	for first := -1; c.hashed.misses <= mostMisses; c.hashed.misses++ {
		i := c.weighed(rand.Uint64())
		switch {
		case i == first || !usable(c.primary[i], c.tried, i, now):
		case first < 0:
			first = i
		default:
			if compareLoad(c.primary, i, first, now) > 0 {
				i = first
			}
			return take(c.primary, c.tried, i, now)
		}
	}
	return nil
}

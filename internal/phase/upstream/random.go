package upstream

import "math/rand/v2"

// pickRandom picks a peer by lot, each in proportion to its weight (ngx_http_upstream_get_random_peer); nil where round robin
// has to go on. g.mu is held.
func (c *choice) pickRandom(now int64) *peer {
	g := c.g
	for ; c.hashed.misses <= mostMisses; c.hashed.misses++ {
		if i := g.weighed(rand.Uint64()); usable(g.primary[i], c.tried, i, now) {
			return take(g.primary, c.tried, i, now)
		}
	}
	return nil
}

// pickOfTwo picks two peers by lot, and of them the one with fewer connections for its weight
// (ngx_http_upstream_get_random2_peer).
func (c *choice) pickOfTwo(now int64) *peer {
	g := c.g
	for first := -1; c.hashed.misses <= mostMisses; c.hashed.misses++ {
		i := g.weighed(rand.Uint64())
		switch {
		case i == first || !usable(g.primary[i], c.tried, i, now):
		case first < 0:
			first = i
		default:
			if compareLoad(g.primary, i, first) > 0 {
				i = first
			}
			return take(g.primary, c.tried, i, now)
		}
	}
	return nil
}

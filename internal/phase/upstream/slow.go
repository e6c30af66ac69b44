package upstream

import "github.com/limitgate/limitgate"

// slowStart is how the weight of a peer comes back that was out, or is new: it rises evenly from nothing.
type slowStart struct {
	over  limitgate.Time // how long it takes; 0: it is there at once
	parts int            // of a weight in this peer's group; 0 means one: nobody in it starts slowly
}

// slowParts is how finely weights are divided where a peer of the group starts slowly. All weights are multiplied alike, so
// among peers that are all there the order stays nginx's.
const slowParts = 1000

// divide prepares the members of a group for weights in parts.
func (g *group) divide() {
	for _, m := range g.members {
		for _, p := range append(m.peers, &m.pattern) {
			p.slow.parts = slowParts
		}
	}
}

// risen returns how many parts of its weight a peer has at a time. Time that steps back has no part.
func (p *peer) risen(now limitgate.Time) int {
	switch {
	case p.slow.parts == 0:
		return 1
	case p.rises == 0:
		return p.slow.parts
	}
	if past := now - p.rises; past < p.slow.over {
		return int(int64(max(past, 0)) / max(int64(p.slow.over)/int64(p.slow.parts), 1))
	}
	p.rises = 0
	return p.slow.parts
}

// recover begins the rise of a peer that was out and has answered again. What its failures took of its weight is back: the
// rise stands for it.
func (p *peer) recover(now limitgate.Time) {
	if p.slow.over > 0 && p.maxFails > 0 && p.fails >= p.maxFails {
		p.rises, p.effective, p.current = now, p.weight, 0
	}
}

package replay

// changes is what another configuration would do otherwise, under one assumption.
type changes struct {
	refused map[place]*change // by that one, and not by the first
	passed  map[place]*change // by that one, where the first refuses
}

// place is a zone in a block: of the configuration that refuses.
type place struct {
	zone  int16
	block int32
}

// change is the requests of a place.
type change struct {
	n    int64
	keys *top
}

func newChanges() *changes {
	return &changes{refused: map[place]*change{}, passed: map[place]*change{}}
}

// add compares what becomes of a request that both have decided on.
func (c *changes) add(e *entry, run int, hit bool) {
	one, other := &e.fates[0][run], &e.fates[1][run]
	switch {
	case (one.verdict == rejected) == (other.verdict == rejected):
	case other.verdict == rejected:
		note(c.refused, place{other.zone, other.block}, e.keys[1], hit)
	default:
		note(c.passed, place{one.zone, one.block}, e.keys[0], hit)
	}
}

func note(at map[place]*change, p place, key []byte, hit bool) {
	c := at[p]
	if c == nil {
		c = &change{keys: newTop(topPlaces)}
		at[p] = c
	}
	c.n++
	if hit {
		c.keys.add(key)
	}
}

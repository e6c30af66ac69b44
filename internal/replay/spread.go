package replay

import (
	"math/rand/v2"
	"slices"
)

// A stamp of whole seconds leaves open when in its second a request came. Three assumptions bound what limits would have
// decided: all came at the beginning of the second, they came at even distances, they came at random.
const (
	atOnce = iota
	evenly
	randomly

	spreads = 3
)

// reference is the assumption that is told about where a band of numbers would say nothing: who was hit.
const reference = evenly

var spreadNames = [spreads]string{"all at once at the beginning of the second", "evenly over the second", "at random in the second"}

// coarse is the grain from which on the assumptions differ by more than a limit notices: a tenth of a second.
const coarse = int64(1e8)

// clump is the entries of one stamp, while it is open how many there are.
type clump struct {
	list   []*entry
	random *rand.Rand
	slots  []int64
}

func newClump() clump { return clump{random: rand.New(rand.NewPCG(1, 2))} }

// mostClump bounds the entries of one second that are spread together.
const mostClump = 1 << 16

// takes tells whether an entry belongs to the clump.
func (c *clump) takes(stamp int64) bool {
	return len(c.list) == 0 || c.list[0].second == stamp && len(c.list) < mostClump
}

// spread gives each entry its places in the second.
func (c *clump) spread() {
	n := int64(len(c.list))
	c.slots = c.slots[:0]
	for _, e := range c.list {
		c.slots = append(c.slots, c.random.Int64N(max(1, e.grain)))
	}
	slices.Sort(c.slots)
	for i, e := range c.list {
		// Each request came within a grain from e.stamp on, and one whole second is in that time, whatever its duration was.
		e.offset[atOnce] = (e.grain - e.stamp%e.grain) % e.grain
		e.offset[evenly], e.offset[randomly] = e.grain/n*int64(i), c.slots[i]
	}
}

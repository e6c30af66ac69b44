package replay

import (
	"math/bits"
	"math/rand/v2"
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
	steps  []int64
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
	n, sum := int64(len(c.list)), int64(0)
	// Instants at random in an interval, in their order, divide it like so many exponential steps, and one more.
	c.steps = c.steps[:0]
	for range n + 1 {
		sum += 1 + int64(c.random.ExpFloat64()*(1<<20))
		c.steps = append(c.steps, sum)
	}
	for i, e := range c.list {
		// Each request came within a grain from e.stamp on, and one whole second is in that time, whatever its duration was.
		e.offset[atOnce] = (e.grain - e.stamp%e.grain) % e.grain
		e.offset[evenly] = e.grain / n * int64(i)
		high, low := bits.Mul64(uint64(c.steps[i]), uint64(e.grain))
		random, _ := bits.Div64(high, low, uint64(sum))
		e.offset[randomly] = int64(random)
	}
}

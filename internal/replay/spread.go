package replay

import (
	"math/bits"
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

// clumps are the entries of stamps that are still open, each with the others of its stamp: lines of one second may stand behind
// those of later ones, where stamps are of the beginning and lines of the end. The zero value is not ready: newClumps.
type clumps struct {
	open   []*clump // the earliest first
	spare  []*clump
	random *rand.Rand
	steps  []int64
}

// clump is the entries of one stamp, in the order of their lines.
type clump struct {
	second int64
	list   []*entry
}

func newClumps() clumps { return clumps{random: rand.New(rand.NewPCG(1, 2))} }

// mostClump bounds the entries of one second that are spread together.
const mostClump = 1 << 16

// add adds an entry to those of its stamp. It returns a clump that is full, which is open no longer, or nil.
func (c *clumps) add(e *entry) (full *clump) {
	at := len(c.open)
	for at > 0 && c.open[at-1].second > e.second {
		at--
	}
	if at == 0 || c.open[at-1].second != e.second {
		one := &clump{}
		if n := len(c.spare); n > 0 {
			one, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		one.second = e.second
		c.open = slices.Insert(c.open, at, one)
		at++
	}
	one := c.open[at-1]
	one.list = append(one.list, e)
	if len(one.list) < mostClump {
		return nil
	}
	c.open = slices.Delete(c.open, at-1, at)
	return one
}

// next takes the earliest clump; there must be one.
func (c *clumps) next() *clump {
	one := c.open[0]
	c.open = slices.Delete(c.open, 0, 1)
	return one
}

// done takes a clump back for its memory.
func (c *clumps) done(one *clump) {
	clear(one.list)
	one.list = one.list[:0]
	if cap(one.list) > 1<<12 || len(c.spare) > 16 {
		return
	}
	c.spare = append(c.spare, one)
}

// spread gives each entry of a clump its places in the second.
func (c *clumps) spread(list []*entry) {
	n, sum := int64(len(list)), int64(0)
	// Instants at random in an interval, in their order, divide it like so many exponential steps, and one more.
	c.steps = c.steps[:0]
	for range n + 1 {
		sum += 1 + int64(c.random.ExpFloat64()*(1<<20))
		c.steps = append(c.steps, sum)
	}
	for i, e := range list {
		// Each request came within a grain from e.stamp on, and one whole second is in that time, whatever its duration was.
		e.offset[atOnce] = (e.grain - e.stamp%e.grain) % e.grain
		e.offset[evenly] = e.grain / n * int64(i)
		high, low := bits.Mul64(uint64(c.steps[i]), uint64(e.grain))
		random, _ := bits.Div64(high, low, uint64(sum))
		e.offset[randomly] = int64(random)
	}
}

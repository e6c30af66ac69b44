package limitgate

// divisible are steps that can tell apart what was charged in one step: the part at the end of a charge that is worth back, less than
// the charge is, and the rest before it. Given back one after the other, they are the charge.
type divisible interface {
	split(c Charge, back Cost) (part, rest Charge)
}

var (
	_ divisible = (*reqSteps)(nil)
	_ divisible = (*tokenSteps)(nil)
	_ divisible = (*paceSteps)(nil)
	_ divisible = (*nginxSteps)(nil)
	_ divisible = (*fixedSteps)(nil)
	_ divisible = (*slidingSteps)(nil)
	_ divisible = (*LogSteps)(nil)
)

// at divides a charge at a state that lies between.
func (c Charge) at(mid State) (part, rest Charge) {
	part, rest = c, c
	part.Before, rest.After = mid, mid
	return part, rest
}

// split implements divisible: the later stretch of time.
func (r *reqSteps) split(c Charge, back Cost) (part, rest Charge) {
	return c.at(c.After - State(back)*State(r.e))
}

// split implements divisible.
func (p *paceSteps) split(c Charge, back Cost) (part, rest Charge) {
	return c.at(c.After - min(c.After, State(paceTime(int64(back), int64(p.rate)))))
}

// split implements divisible. The state between has the form of the last one, and with it the bits of its time.
func (g *nginxSteps) split(c Charge, back Cost) (part, rest Charge) {
	width := uint(wideTime + formBits)
	if c.After&formMask == formNarrow {
		width = narrowTime + formBits
	}
	excess := c.After >> width
	return c.at((excess-min(excess, State(back)*1000))<<width | c.After&(1<<width-1))
}

// split implements divisible: the count stands in the lowest bits.
func (f *fixedSteps) split(c Charge, back Cost) (part, rest Charge) {
	return c.at(c.After - State(back))
}

// split implements divisible: the count of the current window stands in the lowest bits.
func (g *slidingSteps) split(c Charge, back Cost) (part, rest Charge) {
	return c.at(c.After - State(back))
}

// split implements divisible: so many of the stamps.
func (*LogSteps) split(c Charge, back Cost) (part, rest Charge) {
	part, rest = c, c
	part.Before, rest.Before = State(back), c.Before-State(back)
	return part, rest
}

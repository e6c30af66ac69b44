package conf

import "strings"

// Share is a row of a split_clients block.
type Share struct {
	Parts int // of 10,000; 0 for "*": whatever is left
	Value string
}

// whole is all shares together: hundredths of a percent.
const whole = 10_000

// ReadShare reads a row of a split_clients block: PERCENT% VALUE, or "* VALUE".
func ReadShare(row *Directive, errs *Errors) (s Share, ok bool) {
	if row.Name != "*" {
		text, isPercent := strings.CutSuffix(row.Name, "%")
		// The parts of 10,000 of a percentage are its hundredths.
		n, good := parseFixed(text, 2)
		if !isPercent || !good || n == 0 {
			errs.Add(row.Pos, `invalid percent value "`+row.Name+`"`, `a row is PERCENT% VALUE, with at most two digits behind the point, or "* VALUE" for the rest`)
			return Share{}, false
		}
		s.Parts = n
	}
	if len(row.Args) == 0 {
		errs.Add(row.Pos, "invalid number of the split_clients parameters", "a row is PERCENT% VALUE")
		return Share{}, false
	}
	s.Value = row.Arg(0)
	return s, true
}

// parseFixed reads a number without sign, with at most digits digits behind its point, in units of the last of them.
func parseFixed(text string, digits int) (n int, ok bool) {
	whole, part, _ := strings.Cut(text, ".")
	if whole+part == "" || len(part) > digits {
		return 0, false
	}
	for _, c := range []byte(whole + part + strings.Repeat("0", digits-len(part))) {
		if c < '0' || c > '9' || n > 1<<24 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// splitClosed checks the sum of the shares, where nginx does: when the block ends.
func (c *checker) splitClosed(d *Directive) {
	sum := 0
	for _, row := range d.Block.Directives {
		s, ok := ReadShare(row, c.errs)
		switch {
		case !ok:
			return // what follows would be counted wrong
		case s.Parts == 0:
			sum = whole // rows behind it would never be chosen
		default:
			sum += s.Parts
		}
		if sum > whole {
			c.errs.Add(d.Close, "percent total is greater than 100%", "")
			return
		}
	}
}

package conf

import "strings"

// A map, geo or types block holds rows, not directives. Here each row is checked alone; the tables are built by the
// package that answers the variable.

// body is what the rows of one block said so far.
type body struct {
	seen        map[string]Pos // the keys, in small letters
	hasDefault  bool
	defaultFrom Pos
	ranges      bool // a geo block of ranges
	networks    bool // a row with a network was there
}

// checkRow checks one row of a map, geo or types block.
func (c *checker) checkRow(s *Scope, row *Directive) {
	b := c.bodies[s]
	if b == nil {
		b = &body{seen: map[string]Pos{}}
		c.bodies[s] = b
	}
	switch s.Kind {
	case MapBody:
		c.mapRow(b, row)
	case GeoBody:
		c.geoRow(b, row)
	case TypesBody:
		c.typesRow(b, row)
	}
}

func (c *checker) mapRow(b *body, row *Directive) {
	if len(row.Args) == 0 && (row.Name == "hostnames" || row.Name == "volatile") {
		return
	}
	if len(row.Args) != 1 {
		c.errs.Add(row.Pos, "invalid number of the map parameters", "a row is SOURCE RESULT; quote what has blanks")
		return
	}
	switch {
	case row.Name == "default" && b.hasDefault:
		c.errs.Add(row.Pos, "duplicate default map parameter", "the first is at "+b.defaultFrom.String())
	case row.Name == "default":
		b.hasDefault, b.defaultFrom = true, row.Pos
	case strings.HasPrefix(row.Name, "~"):
		pattern, fold := strings.CutPrefix(row.Name[1:], "*")
		compileRegexp(row.Pos, pattern, fold, c.errs)
	default:
		// Sources compare without regard to case; a backslash only keeps what follows from being a keyword.
		key := strings.ToLower(strings.TrimPrefix(row.Name, `\`))
		if first, found := b.seen[key]; found {
			c.errs.Add(row.Pos, `conflicting parameter "`+key+`"`, "the first is at "+first.String())
			return
		}
		b.seen[key] = row.Pos
	}
}

func (c *checker) geoRow(b *body, row *Directive) {
	if len(row.Args) == 0 && (row.Name == "ranges" || row.Name == "proxy_recursive" || row.Name == "volatile") {
		if row.Name == "ranges" && b.networks {
			c.errs.Add(row.Pos, `the "ranges" directive must be the first directive inside "geo" block`, "")
		}
		b.ranges = b.ranges || row.Name == "ranges"
		return
	}
	if len(row.Args) != 1 {
		c.errs.Add(row.Pos, "invalid number of the geo parameters", "a row is NETWORK VALUE; quote what has blanks")
		return
	}
	net, at := row.Name, row.Pos
	switch row.Name {
	case "default":
		b.networks = true
		return
	case "proxy", "delete":
		net, at = row.Arg(0), row.At(0)
	}
	if row.Name != "proxy" {
		b.networks = true
		if b.ranges {
			if !validRange(net) {
				c.errs.Add(at, `invalid range "`+net+`"`, "a range is ADDRESS-ADDRESS, the lower one first")
			}
			return
		}
	}
	// As a network of its own the broadcast address is fine here, although parseV4 takes it for "none".
	_, lowBits, ok := ParseNetwork(net)
	switch {
	case !ok && net != "255.255.255.255":
		c.errs.Add(at, `invalid network "`+net+`"`, "a network is ADDRESS or ADDRESS/BITS")
	case lowBits:
		c.errs.Note(at, "low address bits of "+net+" are meaningless", "")
	}
}

// validRange checks ADDRESS-ADDRESS, which is for IPv4 only.
func validRange(text string) bool {
	low, high, _ := strings.Cut(text, "-")
	from, fromOK := parseV4(low)
	to, toOK := parseV4(high)
	return fromOK && toOK && !to.Less(from)
}

func (c *checker) typesRow(b *body, row *Directive) {
	for _, a := range row.Args {
		extension := strings.ToLower(a.Text)
		if first, found := b.seen[extension]; found {
			c.errs.Note(a.Pos, `duplicate extension "`+a.Text+`", content type: "`+row.Name+`"`, "the first is at "+first.String()+"; this one counts")
		}
		b.seen[extension] = a.Pos
	}
}

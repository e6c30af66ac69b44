package conf

import (
	"regexp"
	"strings"
)

// Modifier is how a location compares.
type Modifier uint8

// The modifiers of a location.
const (
	Prefix      Modifier = iota // no modifier
	Exact                       // =
	NoRegexp                    // ^~: a prefix that keeps expressions from being tried
	Regexp                      // ~
	RegexpFold                  // ~*: an expression, without regard to case
	NamedTarget                 // @name: reached only from inside
)

// Place is the address of a location.
type Place struct {
	Modifier Modifier
	Pattern  string         // the prefix, path, expression or @name
	Regexp   *regexp.Regexp // for Regexp and RegexpFold
}

// IsRegexp reports whether the location is an expression.
func (p *Place) IsRegexp() bool {
	return p.Modifier == Regexp || p.Modifier == RegexpFold
}

// ReadPlace reads the arguments of a location directive.
func ReadPlace(d *Directive, errs *Errors) (Place, bool) {
	p := splitPlace(d)
	if p == nil {
		errs.Add(d.At(0), `invalid location modifier "`+d.Arg(0)+`"`, "the modifiers are =, ^~, ~ and ~*")
		return Place{}, false
	}
	if !p.IsRegexp() {
		return *p, true
	}
	at := d.At(len(d.Args) - 1)
	re, ok := compileRegexp(at, p.Pattern, p.Modifier == RegexpFold, errs)
	p.Regexp = re
	return *p, ok
}

// splitPlace tells modifier and pattern apart; the modifier may stand alone or directly before the pattern.
func splitPlace(d *Directive) *Place {
	text := d.Arg(0)
	if len(d.Args) == 2 {
		modifier, known := modifierOf(text)
		if !known {
			return nil
		}
		return &Place{Modifier: modifier, Pattern: d.Arg(1)}
	}
	for _, mark := range [...]string{"=", "^~", "~*", "~"} {
		if pattern, found := strings.CutPrefix(text, mark); found {
			modifier, _ := modifierOf(mark)
			return &Place{Modifier: modifier, Pattern: pattern}
		}
	}
	if strings.HasPrefix(text, "@") {
		return &Place{Modifier: NamedTarget, Pattern: text}
	}
	return &Place{Pattern: text}
}

func modifierOf(mark string) (Modifier, bool) {
	switch mark {
	case "=":
		return Exact, true
	case "^~":
		return NoRegexp, true
	case "~":
		return Regexp, true
	case "~*":
		return RegexpFold, true
	}
	return Prefix, false
}

// checkLocation reads a location and checks that it may stand in the one around it.
func (c *checker) checkLocation(d *Directive) {
	p, ok := ReadPlace(d, c.errs)
	if !ok {
		return
	}
	d.Block.Place = &p
	outer := d.Scope.Place
	if outer == nil {
		return
	}
	switch {
	case outer.Modifier == Exact:
		c.errs.Add(d.Pos, `location "`+p.Pattern+`" cannot be inside the exact location "`+outer.Pattern+`"`, "")
	case outer.Modifier == NamedTarget:
		c.errs.Add(d.Pos, `location "`+p.Pattern+`" cannot be inside the named location "`+outer.Pattern+`"`, "")
	case p.Modifier == NamedTarget:
		c.errs.Add(d.Pos, `named location "`+p.Pattern+`" can be on the server level only`, "")
	case !p.IsRegexp() && !strings.HasPrefix(p.Pattern, outer.Pattern):
		c.errs.Add(d.Pos, `location "`+p.Pattern+`" is outside location "`+outer.Pattern+`"`,
			"a location inside another starts with the prefix of that one")
	}
}

// duplicateLocations reports locations of one block with the same prefix or the same exact path. nginx finds them at the
// end of the http block, and does not look at expressions.
func (c *checker) duplicateLocations(s *Scope) {
	type address struct {
		exact   bool
		pattern string
	}
	first := map[address]Pos{}
	for _, child := range s.Children {
		p := child.Place
		if p == nil || p.IsRegexp() || p.Modifier == NamedTarget {
			continue
		}
		a := address{p.Modifier == Exact, p.Pattern}
		if at, seen := first[a]; seen {
			c.errs.Late(AtHTTPEnd, child.Opener.Pos, `duplicate location "`+p.Pattern+`"`, "the first is at "+at.String())
			continue
		}
		first[a] = child.Opener.Pos
	}
}

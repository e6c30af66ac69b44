package conf

import (
	"regexp"
	"strings"
	"time"
)

// ExpiresKind is what the time of an expires directive counts from.
type ExpiresKind uint8

// The kinds of expires.
const (
	ExpiresOff ExpiresKind = iota
	ExpiresAccess
	ExpiresModified
	ExpiresDaily
	ExpiresEpoch
	ExpiresMax
)

// Expires is an expires directive, or what its variables came to.
type Expires struct {
	Kind ExpiresKind
	Time time.Duration // negative: in the past
}

// ReadExpires reads an expires directive. One with variables has its kind, access or modified, and no time yet.
func ReadExpires(d *Directive, errs *Errors) (Expires, bool) {
	kind, value := ExpiresAccess, d.Args[0]
	if len(d.Args) == 2 {
		if d.Arg(0) != "modified" {
			errs.Add(d.At(0), `"expires" directive invalid value`, "two words begin with modified")
			return Expires{}, false
		}
		kind, value = ExpiresModified, d.Args[1]
	}
	if hasVariable(value.Text) {
		return Expires{Kind: kind}, true
	}
	e, fault := ParseExpires(value.Text, kind)
	if fault != "" {
		errs.Add(value.Pos, `"expires" directive `+fault, "write a time such as 1h or -1, @15h30m for a time of the day, epoch, max or off")
	}
	return e, fault == ""
}

// ParseExpires reads the time of expires; kind is ExpiresAccess or ExpiresModified. fault is what is wrong with it, in nginx's
// words.
func ParseExpires(text string, kind ExpiresKind) (e Expires, fault string) {
	if kind == ExpiresAccess {
		switch text {
		case "epoch":
			return Expires{Kind: ExpiresEpoch}, ""
		case "max":
			return Expires{Kind: ExpiresMax}, ""
		case "off":
			return Expires{}, ""
		}
	}
	negative := false
	rest, daily := strings.CutPrefix(text, "@")
	switch {
	case daily && kind == ExpiresModified:
		return Expires{}, `daily time cannot be used with "modified" parameter`
	case daily:
		kind = ExpiresDaily
	default:
		if rest, negative = strings.CutPrefix(text, "-"); !negative {
			rest = strings.TrimPrefix(text, "+")
		}
	}
	t, good := ParseSeconds(rest)
	switch {
	case !good:
		return Expires{}, "invalid value"
	case daily && t > 24*time.Hour:
		return Expires{}, "daily time value must be less than 24 hours"
	case negative:
		t = -t
	}
	return Expires{Kind: kind, Time: t}, ""
}

// GzipDisable is a gzip_disable directive.
type GzipDisable struct {
	MSIE6  bool
	Agents []*regexp.Regexp
}

// ReadGzipDisable reads a gzip_disable directive.
func ReadGzipDisable(d *Directive, errs *Errors) (GzipDisable, bool) {
	var g GzipDisable
	good := true
	for _, a := range d.Args {
		switch a.Text {
		case "msie6":
			g.MSIE6 = true
		case "degradation": // nginx takes it, and it does nothing without its module
		default:
			re, ok := compileRegexp(a.Pos, a.Text, true, errs)
			if good = good && ok; ok {
				g.Agents = append(g.Agents, re)
			}
		}
	}
	return g, good
}

// checkBits checks words of which several may be given (ngx_conf_set_bitmask_slot).
func checkBits(words ...string) check {
	return func(c *checker, d *Directive) {
		given := map[string]bool{}
		for _, one := range c.earlier(d) {
			for _, a := range one.Args {
				given[strings.ToLower(a.Text)] = true
			}
		}
		for _, a := range d.Args {
			word := strings.ToLower(a.Text)
			known := false
			for _, w := range words {
				known = known || w == word
			}
			switch {
			case !known:
				c.errs.Add(a.Pos, `invalid value "`+a.Text+`"`, "it is one of: "+strings.Join(words, ", "))
			case given[word]:
				c.errs.Note(a.Pos, `duplicate value "`+a.Text+`"`, "")
			}
			given[word] = true
		}
	}
}

// earlier returns the directives of the same name that stand before d in its scope.
func (c *checker) earlier(d *Directive) []*Directive {
	all := d.Scope.Own(d.Name)
	for i, one := range all {
		if one == d {
			return all[:i]
		}
	}
	return nil
}

// checkTypes checks a list of Content-Types, to which text/html always belongs (ngx_http_types_slot).
func checkTypes(c *checker, d *Directive) {
	given := map[string]bool{"text/html": true}
	for _, one := range c.earlier(d) {
		for _, a := range one.Args {
			given[strings.ToLower(a.Text)] = true
		}
	}
	for _, a := range d.Args {
		if low := strings.ToLower(a.Text); low != "*" && given[low] {
			c.errs.Note(a.Pos, `duplicate MIME type "`+a.Text+`"`, "")
		} else {
			given[low] = true
		}
	}
}

// checkPower checks for one of some sizes.
func checkPower(sizes string) check {
	return func(c *checker, d *Directive) {
		n, ok := d.Size(c.errs, 0)
		if !ok {
			return
		}
		for word := range strings.SplitSeq(strings.Replace(sizes, "or ", "", 1), ", ") {
			if size, _ := ParseSize(word); size == n {
				return
			}
		}
		c.errs.Add(d.At(0), `"`+d.Name+`" directive must be `+sizes, "")
	}
}

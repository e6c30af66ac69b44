package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// findBehindReturn finds limits that never run because each place in which they hold answers, or sends on, before limits are
// asked. A limit of which some places do is as it should be: a health check that only returns beside what is limited.
func findBehindReturn(m *model, say report) {
	for _, l := range m.limits {
		var at *conf.Scope
		var by *conf.Directive
		for _, s := range m.ends(l) {
			if s.Kind == conf.Server && catchesAll(s) && leaves(s) == nil {
				continue // what is asked of it ends in its locations
			}
			if at, by = answered(s); by == nil {
				break
			}
		}
		if by == nil {
			continue
		}
		what := fmt.Sprintf("rewrites every request at line %d, which is done", by.Pos.Line)
		if by.Name == "return" {
			what = fmt.Sprintf("only returns %s, which is answered", by.Arg(0))
		}
		say(l.at, fmt.Sprintf("%s %s before limits are asked", where(at), what))
	}
}

// answered returns what answers each request that ends in a scope before limits are asked, and where it stands.
func answered(s *conf.Scope) (*conf.Scope, *conf.Directive) {
	if server := s.Enclosing(conf.Server); server != nil {
		if d := leaves(server); d != nil {
			return server, d
		}
	}
	for ; s != nil && s.Kind&(conf.Location|conf.IfLocation) != 0; s = s.Parent {
		if d := leaves(s); d != nil {
			return s, d
		}
		if s.Kind == conf.Location {
			break // nothing of this is inherited by locations inside
		}
	}
	return nil, nil
}

// leaves returns the directive of a scope by which every request leaves it before limits are asked: a return, a rewrite of
// everything that is an answer, and in a location one that goes to another. Where something ends the rewriting none is certain.
func leaves(s *conf.Scope) *conf.Directive {
	breaks := func(s *conf.Scope) bool {
		return len(s.Own("break")) > 0 || slices.ContainsFunc(s.Own("rewrite"), func(d *conf.Directive) bool { return d.Arg(2) == "break" })
	}
	if breaks(s) || slices.ContainsFunc(s.Children, func(c *conf.Scope) bool { return c.Kind&(conf.IfServer|conf.IfLocation) != 0 && breaks(c) }) {
		return nil
	}
	for _, d := range s.Own("return", "rewrite") {
		switch {
		case d.Name == "return":
			return d
		case !matchesAll(d.Arg(0)):
		case d.Arg(2) == "permanent" || d.Arg(2) == "redirect" || strings.HasPrefix(d.Arg(1), "http://") ||
			strings.HasPrefix(d.Arg(1), "https://") || strings.HasPrefix(d.Arg(1), "$scheme"):
			return d
		case d.Arg(2) == "last" && s.Kind != conf.Server:
			return d
		}
	}
	return nil
}

// matchesAll reports whether an expression is one of those that match every path.
func matchesAll(expression string) bool {
	switch strings.NewReplacer("(", "", ")", "").Replace(expression) {
	case "^", "/", "^/", ".", "^.", ".*", "^.*", ".*$", "^.*$", ".+", "^.+", ".+$", "^.+$", "^/.*", "/.*", "/.*$", "^/.*$", "^/?.*", "^/?.*$", "^/?":
		return true
	}
	return false
}

// catchesAll reports whether a server has a location for every path that no other one has.
func catchesAll(server *conf.Scope) bool {
	return slices.ContainsFunc(server.Children, func(in *conf.Scope) bool {
		return in.Kind == conf.Location && in.Place != nil && in.Place.Pattern == "/" && in.Place.Modifier != conf.Exact
	})
}

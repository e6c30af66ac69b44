package vars

import (
	"regexp"

	"github.com/limitgate/limitgate/internal/request"
)

// Regexp is a regular expression whose groups become $1 to $9 and, where they have names, variables.
type Regexp struct {
	re     *regexp.Regexp
	groups int
	named  []namedGroup
}

type namedGroup struct {
	group int
	set   Setter
}

// Regexp makes a compiled expression one that leaves its groups in the request. The error is an *Error: a named group
// with the name of a built-in variable.
func (t *Table) Regexp(re *regexp.Regexp) (*Regexp, error) {
	x := &Regexp{re: re, groups: re.NumSubexp()}
	for i, name := range re.SubexpNames() {
		if name == "" {
			continue
		}
		d, err := t.define(name)
		if err != nil {
			return nil, err
		}
		d.group = true
		x.named = append(x.named, namedGroup{i, d.set})
	}
	return x, nil
}

// Match reports whether subject matches. If so the groups are the request's captures; they stay in subject's memory, which
// must live as long as the request. Without groups nothing is allocated.
func (x *Regexp) Match(r *request.Request, subject []byte) bool { return x.match(r, subject, false) }

// MatchBrief is Match for a subject in memory that does not last: it is kept if it matches and there are groups.
func (x *Regexp) MatchBrief(r *request.Request, subject []byte) bool {
	return x.match(r, subject, true)
}

func (x *Regexp) match(r *request.Request, subject []byte, brief bool) bool {
	if x.groups == 0 {
		if !x.re.Match(subject) {
			return false
		}
		r.Captures = r.Captures[:0]
		return true
	}
	at := x.re.FindSubmatchIndex(subject)
	if at == nil {
		return false
	}
	if brief {
		subject = r.Keep(subject)
	}
	r.Captures = r.Captures[:0]
	for i := 0; i < len(at); i += 2 {
		var group []byte
		if at[i] >= 0 {
			group = subject[at[i]:at[i+1]:at[i+1]]
		}
		r.Captures = append(r.Captures, group)
	}
	for _, n := range x.named {
		n.set(r, r.Captures[n.group])
	}
	return true
}

// Groups is the number of groups.
func (x *Regexp) Groups() int { return x.groups }

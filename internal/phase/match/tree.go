package match

import (
	"sort"
	"strings"

	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// target is a location as the search sees it.
type target struct {
	scope    int    // its index in the program
	inner    *level // the locations in it; nil for none
	noRegexp bool   // ^~
	slash    []byte // where a path that lacks only the final slash is sent; nil: nowhere
}

// verdict is how sure a search is. The names are nginx's (ngx_http_core_find_location), which this follows.
type verdict uint8

const (
	declined verdict = iota // nothing fits
	again                   // a prefix fits, an expression would be better
	ok                      // this one and no other
	done                    // a path that lacks the final slash of this one
)

// level holds the locations that stand directly in one block.
type level struct {
	exact    map[string]*target // = PATH
	prefixes []prefix           // by name
	slash    map[string]*target // prefixes and exact paths to redirect to, without their final slash
	regexps  []expression       // in the order of the file
}

// prefix is a prefix location. parent is the longest other one that is a prefix of it, or -1.
type prefix struct {
	name   string
	parent int
	*target
}

type expression struct {
	*target
	regexp *vars.Regexp
}

// find returns the location of the request's path in this block. in is the location around it and the answer where
// nothing better is found.
func (l *level) find(r *request.Request, in *target) (*target, verdict) {
	noRegexp := false
	t, v := l.static(r.URI)
	switch v {
	case ok, done:
		return t, v
	case again:
		noRegexp, in = t.noRegexp, t
		if t.inner == nil {
			break
		}
		if in, v = t.inner.find(r, t); v == ok || v == done {
			return in, v
		}
	}
	if noRegexp {
		return in, v
	}
	for i := range l.regexps {
		e := &l.regexps[i]
		if !e.regexp.Match(r, r.URI) {
			continue
		}
		in = e.target
		if e.inner != nil {
			// Whatever is found in there is final.
			in, _ = e.inner.find(r, in)
		}
		return in, ok
	}
	return in, v
}

// static looks among the locations without expressions.
func (l *level) static(uri []byte) (*target, verdict) {
	if t, found := l.exact[string(uri)]; found {
		return t, ok
	}
	p := l.longest(uri)
	if p != nil && len(p.name) == len(uri) {
		return p.target, again
	}
	if t, found := l.slash[string(uri)]; found {
		return t, done
	}
	if p == nil {
		return nil, declined
	}
	return p.target, again
}

// longest returns the longest prefix of uri. Every prefix of uri is the last name that is not behind uri, or a prefix of
// that name: names between the two begin with the same bytes.
func (l *level) longest(uri []byte) *prefix {
	low, high := 0, len(l.prefixes)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if l.prefixes[middle].name <= string(uri) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	for i := low - 1; i >= 0; i = l.prefixes[i].parent {
		p := &l.prefixes[i]
		if len(p.name) <= len(uri) && p.name == string(uri[:len(p.name)]) {
			return p
		}
	}
	return nil
}

// add puts a location without an expression into the block.
func (l *level) add(name string, exact bool, t *target) {
	if exact {
		put(&l.exact, name, t)
	} else {
		l.prefixes = append(l.prefixes, prefix{name: name, target: t})
	}
	if t.slash != nil {
		bare := strings.TrimSuffix(name, "/")
		if other := l.slash[bare]; other == nil || exact {
			put(&l.slash, bare, t)
		}
	}
}

func put(m *map[string]*target, name string, t *target) {
	if *m == nil {
		*m = map[string]*target{}
	}
	(*m)[name] = t
}

// seal sorts the prefixes once all were added.
func (l *level) seal() {
	sort.Slice(l.prefixes, func(i, j int) bool { return l.prefixes[i].name < l.prefixes[j].name })
	for i := range l.prefixes {
		parent := i - 1
		for parent >= 0 && !strings.HasPrefix(l.prefixes[i].name, l.prefixes[parent].name) {
			parent = l.prefixes[parent].parent
		}
		l.prefixes[i].parent = parent
	}
}

package upstream

import (
	"slices"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// fieldNames is a set of names of header fields.
type fieldNames struct {
	known [header.Count]bool // those with an ID; Other is never in it
	names []string           // the others, in lower case
	lens  uint64             // bit n: some of names has length n, counted modulo 64
}

// add puts a name into the set.
func (s *fieldNames) add(name string) {
	if id := header.Lookup([]byte(name)); id != header.Other {
		s.known[id] = true
		return
	}
	s.names = append(s.names, string(header.AppendLower(nil, name)))
	s.lens |= 1 << (len(name) % 64)
}

// remove takes a name out of the set.
func (s *fieldNames) remove(name string) {
	if id := header.Lookup([]byte(name)); id != header.Other {
		s.known[id] = false
		return
	}
	s.names = slices.DeleteFunc(s.names, func(n string) bool { return header.EqualFold([]byte(name), n) })
}

// has reports whether a field's name is in the set.
func (s *fieldNames) has(f *request.Header) bool {
	if f.ID != header.Other || s.lens&(1<<(len(f.Name)%64)) == 0 {
		return s.known[f.ID]
	}
	for _, n := range s.names {
		if header.EqualFold(f.Name, n) {
			return true
		}
	}
	return false
}

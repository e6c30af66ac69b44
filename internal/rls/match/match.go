package match

import (
	"strings"

	"github.com/limitgate/limitgate"
)

// Walk is what looking a descriptor up finds. It is used again and again, so that looking up makes no garbage: what it tells holds
// until the next Find.
type Walk struct {
	Rule *Rule // nil: no limit applies

	// Domain tells whether the domain is known.
	Domain bool

	// Metadata of the rule, where the answer may have it.
	Metadata map[string]any

	entries []Entry
	values  []string // what metrics call the value of each entry; "" leaves it out
	shares  []string // of entries whose value a pattern stands for, the pattern behind the key; else ""
	shared  bool
	dynamic bool // the metric's name is not the rule's path
	final   []byte
}

// Find looks a descriptor up.
func (t *Table) Find(domain string, entries []Entry, w *Walk) {
	w.Rule, w.Metadata, w.entries = nil, nil, entries
	w.values, w.shares = w.values[:0], w.shares[:0]
	w.shared, w.dynamic = false, false
	at := t.domains[domain]
	if w.Domain = at != nil; !w.Domain {
		return
	}
	for i, e := range entries {
		next := w.step(at, e)
		if next == nil {
			return
		}
		if i == len(entries)-1 {
			w.end(next)
			return
		}
		if len(next.below) == 0 {
			return // the descriptor is deeper than the file
		}
		at = next
	}
}

// Bare makes w that of a descriptor that brings a limit of its own: nothing is looked up.
func (t *Table) Bare(domain string, entries []Entry, w *Walk) {
	*w = Walk{Domain: t.domains[domain] != nil, entries: entries, values: w.values[:0], shares: w.shares[:0], final: w.final}
}

// step goes down one level.
func (w *Walk) step(at *node, e Entry) *node {
	w.final = append(append(append(w.final[:0], e.Key...), '_'), e.Value...)
	share, value := "", ""
	next := at.below[string(w.final)]
	if next != nil {
		value = e.Value
		if value == "" {
			w.dynamic = true // the file has the underscore in its key
		}
	} else if next = at.pattern(limitgate.BytesKey(w.final)); next != nil {
		behind := next.wildcard
		if len(behind) > len(e.Key) && strings.HasPrefix(behind, e.Key) && behind[len(e.Key)] == '_' {
			behind = behind[len(e.Key)+1:]
		} else {
			w.dynamic = true // the star is in the key
		}
		switch value = behind; {
		case next.sharing:
			share, w.shared = behind, true
		case next.toMetric:
			value, w.dynamic = e.Value, true
		}
	} else if next = at.below[e.Key]; next != nil && next.toMetric && e.Value != "" {
		value, w.dynamic = e.Value, true
	}
	w.values, w.shares = append(w.values, value), append(w.shares, share)
	return next
}

// pattern is the first node below whose pattern matches.
func (n *node) pattern(text string) *node {
	for i := range n.patterns {
		if n.patterns[i].matches(text) {
			return n.patterns[i].node
		}
	}
	return nil
}

// end takes what is at the last level.
func (w *Walk) end(n *node) {
	w.Rule = n.rule
	if n.rule == nil {
		return
	}
	// A rule whose metric is named by the request answers without its metadata: envoyproxy/ratelimit builds such rules anew.
	if lost := n.rule.Detailed && n.rule.leaf || w.dynamic && !n.rule.Detailed; !lost {
		w.Metadata = n.rule.Metadata
	}
}

// Dynamic tells whether the rule's metric is named by the request.
func (w *Walk) Dynamic() bool { return w.Rule != nil && (w.dynamic || w.Rule.Detailed) }

// AppendName writes what metrics call the rule.
func (w *Walk) AppendName(b []byte) []byte {
	b = append(b, w.Rule.Domain...)
	for i, e := range w.entries {
		b = append(append(b, '.'), e.Key...)
		switch {
		case !w.Rule.Detailed:
			if w.values[i] != "" {
				b = append(append(b, '_'), w.values[i]...)
			}
		case w.shares[i] != "":
			b = append(append(b, '_'), w.shares[i]...)
		case e.Value != "" || !w.shared:
			b = append(append(b, '_'), e.Value...)
		}
	}
	return b
}

// AppendKey writes what the counter of the rule is kept under, without the window: the domain and all entries, with the pattern in
// the place of a value that it stands for.
func (w *Walk) AppendKey(b []byte, domain string) []byte {
	b = append(append(b, domain...), '_')
	for i, e := range w.entries {
		v := e.Value
		if i < len(w.shares) && w.shares[i] != "" {
			v = w.shares[i]
		}
		b = append(append(append(append(b, e.Key...), '_'), v...), '_')
	}
	return b
}

// AppendOverride writes what metrics call a limit that comes with a request.
func AppendOverride(b []byte, domain string, entries []Entry) []byte {
	b = append(b, domain...)
	for _, e := range entries {
		b = append(append(b, '.'), e.Key...)
		if e.Value != "" {
			b = append(append(b, '_'), e.Value...)
		}
	}
	return b
}

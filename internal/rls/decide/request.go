package decide

import (
	"github.com/limitgate/limitgate/internal/rls/config"
	"github.com/limitgate/limitgate/internal/rls/match"
)

// Request is what is asked. It may be used again: Reset keeps its memory.
type Request struct {
	Domain      string
	Hits        uint64 // of each descriptor that brings none; 0 means 1
	Descriptors []Descriptor

	entries []match.Entry
}

// Descriptor is one of the things a request is counted by.
type Descriptor struct {
	Entries  []match.Entry
	Hits     uint64 // 0 looks and counts nothing
	HasHits  bool
	Override Override // a limit that comes with the request, in place of a rule

	Place   string // of a limit of requests at once: the caller's name for the place
	Release bool   // it is given back
}

// Override is a limit that a request brings. Its zero value is none.
type Override struct {
	Set      bool
	Requests uint32
	Unit     config.Unit
}

// Reset empties r.
func (r *Request) Reset() {
	clear(r.entries)
	clear(r.Descriptors)
	*r = Request{Descriptors: r.Descriptors[:0], entries: r.entries[:0]}
}

// Grow makes room for so many entries, which Add then takes one after the other.
func (r *Request) Grow(entries int) {
	if cap(r.entries) < entries {
		r.entries = make([]match.Entry, 0, entries)
	}
}

// Add adds a descriptor of so many entries and gives it, to be filled in. The room for the entries was made by Grow.
func (r *Request) Add(entries int) *Descriptor {
	begin := len(r.entries)
	r.entries = r.entries[:begin+entries]
	r.Descriptors = append(r.Descriptors, Descriptor{Entries: r.entries[begin : begin+entries : begin+entries]})
	return &r.Descriptors[len(r.Descriptors)-1]
}

// Entry fills in an entry of d, or, of the last one that is none, the place.
func (d *Descriptor) Entry(i int, key, value string) {
	if last := len(d.Entries) - 1; i == last && last > 0 && key == PlaceKey {
		d.Place, d.Entries = value, d.Entries[:last]
		return
	}
	d.Entries[i] = match.Entry{Key: key, Value: value}
}

// hits is what a descriptor counts.
func (r *Request) hits(d *Descriptor) uint64 {
	if d.HasHits {
		return d.Hits
	}
	return max(r.Hits, 1)
}

// Unlimited is what remains of a limit that is none.
const Unlimited = 1<<32 - 1

// Status is what is said about one descriptor.
type Status struct {
	Over      bool
	Limited   bool // a limit applies; the rest says which
	Limit     *config.Limit
	Remaining uint32
	Reset     int64 // seconds until the limit is as new, or until a refused request would pass

	// Metadata of the rule, where it has any.
	Metadata map[string]any

	// Rule is the rule that applies; nil of a limit that came with the request.
	Rule *match.Rule
}

// Answer is what is said about a request. It may be used again.
type Answer struct {
	Over       bool
	Statuses   []Status
	Binding    int   // the status that headers tell of; -1 where there is none
	RetryAfter int64 // seconds after which a refused request would pass, 0 where there is no such time
}

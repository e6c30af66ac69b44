package config

import (
	"strings"
	"time"
)

// Source is the text of a file.
type Source struct {
	Name string
	Text []byte
}

// File is what one file says.
type File struct {
	Pos         Pos
	Domain      string
	Descriptors []Descriptor
}

// Descriptor is one level of a tree of rules.
type Descriptor struct {
	Pos         Pos
	Key, Value  string
	Limit       *Limit // nil: only a step, or a value that is not limited
	Descriptors []Descriptor

	Shadow         bool
	Quota          bool
	Detailed       bool
	ValueToMetric  bool
	ShareThreshold bool
	Metadata       map[string]any // of strings, float64, bool, nil, []any and map[string]any
}

// Final is what the entry of a request is compared with: the key, and the value behind an underscore if there is one.
func (d *Descriptor) Final() string {
	if d.Value == "" {
		return d.Key
	}
	return d.Key + "_" + d.Value
}

// Limit is a rate_limit.
type Limit struct {
	Pos        Pos
	Unit       Unit // NoUnit of an unlimited one, and of places
	Requests   uint32
	Unlimited  bool
	Name       string
	Replaces   []string
	Multiplier uint32 // of the unit; at least 1

	Algorithm Algorithm
	Burst     uint32 // what Token holds, and what Leaky lets pass at once
	HasBurst  bool
	Fail      Fail
	Lease     bool

	Places uint32        // of a limit of requests at once; 0 of others
	Hold   time.Duration // how long such a place is held if nobody renews or releases it
}

// Window is the length of a window: the unit, so many times.
func (l *Limit) Window() time.Duration { return l.Unit.Length() * time.Duration(l.Multiplier) }

// Unit is the unit of a limit. The numbers are those of Envoy's protocol.
type Unit uint8

// The units. None looks at the calendar: a month has 30 days and a year 365.
const (
	NoUnit Unit = 0
	Second Unit = 1
	Minute Unit = 2
	Hour   Unit = 3
	Day    Unit = 4
	Month  Unit = 5
	Year   Unit = 6
	Week   Unit = 7
)

// unitNames are the units by number, as answers have them.
var unitNames = [...]string{"", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"}

// String gives the unit as answers have it: SECOND.
func (u Unit) String() string {
	if int(u) < len(unitNames) {
		return unitNames[u]
	}
	return "UNKNOWN"
}

// Length is how long a unit is; 0 of NoUnit and of what is none.
func (u Unit) Length() time.Duration {
	const day = 24 * time.Hour
	switch u {
	case Second:
		return time.Second
	case Minute:
		return time.Minute
	case Hour:
		return time.Hour
	case Day:
		return day
	case Week:
		return 7 * day
	case Month:
		return 30 * day
	case Year:
		return 365 * day
	}
	return 0
}

// ParseUnit reads the name of a unit, in whatever case.
func ParseUnit(s string) (Unit, bool) {
	for u := Second; u <= Week; u++ {
		if strings.EqualFold(s, unitNames[u]) {
			return u, true
		}
	}
	return NoUnit, false
}

// Algorithm is how a rule counts.
type Algorithm uint8

// The algorithms. Fixed is what envoyproxy/ratelimit does, and the default: it counts refused requests as well.
const (
	Fixed Algorithm = iota
	Sliding
	Token
	Leaky
)

// algorithmNames are the algorithms as a file has them.
var algorithmNames = [...]string{"fixed", "sliding", "token", "leaky"}

// String gives the name that a file has.
func (a Algorithm) String() string { return algorithmNames[min(a, Leaky)] }

// Fail is what decides when the store of the counters does not answer.
type Fail uint8

// The policies. FailCall is what envoyproxy/ratelimit does, and the default: the call fails, and Envoy decides.
const (
	FailCall Fail = iota
	FailOpen
	FailClosed
	FailLocal
)

// failNames are the policies as a file has them.
var failNames = [...]string{"call", "open", "closed", "local"}

// String gives the name that a file has.
func (f Fail) String() string { return failNames[min(f, FailLocal)] }

package conf

import (
	"math"
	"sort"

	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// Pos is a place in the configuration.
type Pos = syntax.Pos

// Word is one argument.
type Word = syntax.Word

// Error is one fault, or one notice, with its place.
type Error = syntax.Error

// Stage is when nginx would find a fault: it checks what needs all directives only when all were read.
type Stage uint8

// The stages, in order.
const (
	WhileReading Stage = iota // at a directive, as it is read
	AtHTTPEnd                 // at the end of the http block: merged values, location trees, variables
	AtStart                   // after all was read: events, zones, listening
)

type entry struct {
	stage Stage
	err   *Error
}

// moment is when nginx would report the fault, in the order of loading.
func (f entry) moment(httpEnd int) int {
	switch {
	case f.stage == AtStart, f.stage == AtHTTPEnd && httpEnd == 0:
		return math.MaxInt
	case f.stage == AtHTTPEnd:
		return httpEnd
	}
	return f.err.Pos.Order
}

// Errors collects faults and notices. The zero value is empty and ready. It belongs to one goroutine.
type Errors struct {
	faults  []entry
	notices []*Error
	said    map[saying]bool // of both
	httpEnd int             // the order of the end of the http block
}

// saying is a message at its place.
type saying struct {
	at    Pos
	msg   string
	fault bool
}

// first reports whether something is said for the first time.
func (e *Errors) first(s saying) bool {
	if e.said[s] {
		return false
	}
	if e.said == nil {
		e.said = map[saying]bool{}
	}
	e.said[s] = true
	return true
}

// Add reports a fault at a directive or an argument. The same message at the same place counts once: a directive is
// compiled where it stands and again in every scope that inherits it.
func (e *Errors) Add(at Pos, msg, help string) {
	e.Late(WhileReading, at, msg, help)
}

// Late reports a fault of a later stage, such as a zone that nobody declared. The zero Pos is for faults of the
// configuration as a whole.
func (e *Errors) Late(s Stage, at Pos, msg, help string) {
	if e.first(saying{at, msg, true}) {
		e.faults = append(e.faults, entry{s, &Error{Pos: at, Msg: msg, Help: help}})
	}
}

// Note reports something to know that is no fault.
func (e *Errors) Note(at Pos, msg, help string) {
	e.note(&Error{Pos: at, Msg: msg, Help: help})
}

// Mention reports what nobody needs to act on.
func (e *Errors) Mention(at Pos, msg, help string) {
	e.note(&Error{Pos: at, Msg: msg, Help: help, Minor: true})
}

func (e *Errors) note(new *Error) {
	if e.first(saying{new.Pos, new.Msg, false}) {
		e.notices = append(e.notices, new)
	}
}

// List returns the faults in the order in which nginx would meet them. An empty list means the configuration is good.
func (e *Errors) List() []*Error {
	sorted := append([]entry(nil), e.faults...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if x, y := a.moment(e.httpEnd), b.moment(e.httpEnd); x != y {
			return x < y
		}
		if a.stage != b.stage {
			return a.stage < b.stage
		}
		return a.err.Pos.Order < b.err.Pos.Order
	})
	list := make([]*Error, len(sorted))
	for i, s := range sorted {
		list[i] = s.err
	}
	return list
}

// Notices returns the notices in the order of loading.
func (e *Errors) Notices() []*Error {
	list := append([]*Error(nil), e.notices...)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Pos.Order < list[j].Pos.Order })
	return list
}

// SyntaxGood reports whether all faults are of the start: nginx says so before it goes on to them.
func (e *Errors) SyntaxGood() bool {
	for _, f := range e.faults {
		if f.stage < AtStart {
			return false
		}
	}
	return true
}

// Failed reports whether there is any fault.
func (e *Errors) Failed() bool {
	return len(e.faults) > 0
}

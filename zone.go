package limitgate

import (
	"context"
	"sync/atomic"
	"time"
)

// State is one word: all that is kept of a key. 0 is the state of a key nobody has seen. What the bits mean is the
// algorithm's business, told by its Kind.
type State uint64

// Kind names the layout of a state. A zone holds states of one kind.
type Kind uint8

// The kinds. Their numbers may be stored; none is ever used for another layout.
const (
	KindNone     Kind = 0 // nothing bound yet
	KindReq      Kind = 1 // Req, exact arithmetic: the theoretical arrival time in ns since the epoch
	KindReqNginx Kind = 2 // Req, nginx arithmetic: last time in ms and excess, see reqnginx.go
	KindConn     Kind = 3 // Conn: how many places are held
)

// String names the kind for messages.
func (k Kind) String() string {
	switch k {
	case KindNone:
		return "none"
	case KindReq:
		return "req"
	case KindReqNginx:
		return "req (nginx arithmetic)"
	case KindConn:
		return "conn"
	}
	return "unknown"
}

// Algorithm is a limit as its user writes it: a plain struct such as Req or Conn. A zone that does the arithmetic
// elsewhere switches on the concrete type.
type Algorithm interface {
	// Validate says what is wrong with the parameters.
	Validate() error

	// Kind is the layout of its states.
	Kind() Kind

	// Compile derives what the steps need, once. It may assume valid parameters.
	Compile() Steps
}

// Steps is an algorithm ready to run: pure functions on a state. They read no clock, keep nothing, and any word is a
// state to them. Time may go back: that gives no credit.
type Steps interface {
	// Step decides on a request and gives the state after it. The cost is at least 1. A refused request leaves the
	// state as it was, or cut: a state that claims more than a full one is cut to it, and the cut is to be stored.
	// What is full is the larger of the step's own Span and bound, the largest Span of all limits on the zone.
	Step(s State, now Time, cost Cost, bound time.Duration) (State, Decision)

	// Undo takes back from s what the step that turned before into after charged, and never more than is left of it.
	Undo(s, before, after State, now Time) State

	// DrainAt is the time from which s, read at now, equals the state of a key nobody has seen; Never while something
	// is held.
	DrainAt(s State, now Time) Time

	// Span is how long a full state takes to drain; 0 where time does not help.
	Span() time.Duration
}

// Never is the DrainAt of a state that must be kept whatever time it is.
const Never Time = 1<<63 - 1

// Limit is an algorithm bound to a zone: what a Limiter hands to its zone with each request. Immutable once bound.
type Limit struct {
	Algorithm Algorithm
	Kind      Kind // of the algorithm
	Steps     Steps
	Bound     *Bound // set by Zone.Bind; shared by all limits of one configuration on the zone
}

// Step runs the limit's step with the bound of its zone.
func (l *Limit) Step(s State, now Time, cost Cost) (State, Decision) {
	return l.Steps.Step(s, now, cost, l.Bound.Span())
}

// Bound is what the limits of one configuration that share a zone know of each other: the longest Span. One zone with a
// large burst here and a small one there keeps the large debt.
type Bound struct{ span atomic.Int64 }

// Span is the longest span of the limits that share the bound.
func (b *Bound) Span() time.Duration { return time.Duration(b.span.Load()) }

// Raise makes the bound at least d.
func (b *Bound) Raise(d time.Duration) {
	for {
		s := b.span.Load()
		if int64(d) <= s || b.span.CompareAndSwap(s, int64(d)) {
			return
		}
	}
}

// Mode says how far Zone.Do goes.
type Mode uint8

// The modes.
const (
	Peek  Mode = iota // decide and store nothing
	Check             // decide and store only what a refusal stores: a cut
	Take              // decide, and charge what is admitted
)

// Charge identifies what one request was charged, so that exactly this can be given back. Its words are the zone's: they
// name the state without its key. The zero Charge is none.
type Charge struct {
	Key    uint64 // names the key's state
	Life   uint64 // names the life of that state: an evicted one took the charge with it
	Before State
	After  State
}

// Zone is where the states of one kind live. It is safe for concurrent use, and so is each Limit bound to it. A zone keeps
// no key after a call. All zones pass the kit in package zonetest.
type Zone interface {
	// Bind makes l a limit of the zone and sets l.Bound. The first one fixes the zone's kind; another kind is an error.
	Bind(l *Limit) error

	// Do decides on a request for key at now. A Charge comes with an admitted request in mode Take only. An error means
	// that the zone could not decide; a request it has no room for is a Decision with NoRoom.
	Do(ctx context.Context, now Time, l *Limit, key string, cost Cost, m Mode) (Decision, Charge, error)

	// Refund gives back what c charged, or what is left of it.
	Refund(ctx context.Context, now Time, l *Limit, c Charge) error
}

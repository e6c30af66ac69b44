package limitgate

import (
	"context"
	"errors"
	"sync/atomic"
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
	KindToken    Kind = 4 // Token: the theoretical arrival time in ns since the epoch
	KindFixed    Kind = 5 // Count in fixed windows: see fixed.go
	KindSliding  Kind = 6 // Count in a sliding window: see sliding.go
	KindLog      Kind = 7 // Count by an exact log: no word can hold it, see log.go
	KindPace     Kind = 8 // Pace: the theoretical arrival time in ns since the epoch
	KindTally    Kind = 9 // of limitgate's rate limit service, which counts what it refuses as well
)

// kindNames are the kinds for messages, by number.
var kindNames = [...]string{"none", "req", "req (nginx arithmetic)", "conn", "token", "fixed window", "sliding window", "log", "pace", "tally"}

// String names the kind for messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
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
	// What is full is the larger of the step's own Full and bound, the largest Full of all limits on the zone.
	Step(s State, now Time, cost Cost, bound int64) (State, Decision)

	// Undo takes back from s what the step that turned before into after charged, and never more than is left of it.
	Undo(s, before, after State, now Time) State

	// DrainAt is the time from which s, read at now, equals the state of a key nobody has seen; Never while something
	// is held.
	DrainAt(s State, now Time) Time

	// Full is how much a full state holds, in what the states count: nanoseconds of debt, or requests in a window; 0
	// where there is nothing to cut.
	Full() int64
}

// Never is the DrainAt of a state that must be kept whatever time it is.
const Never Time = 1<<63 - 1

// Limit is an algorithm bound to a zone: what a Limiter hands to its zone with each request. Immutable once bound.
type Limit struct {
	Algorithm Algorithm
	Kind      Kind // of the algorithm
	Steps     Steps
	Bound     *Bound // set by Zone.Bind; shared by all limits of one configuration on the zone

	// Salt belongs to the key: states of one key under different salts are different states. It is 0, but for windows,
	// whose words mean nothing without their length and alignment: a changed window starts afresh.
	Salt uint64

	quick uint64 // times below it may be quick: all that are not negative, or none
	one   State  // what a quick step adds
	left  int64  // and what it says remains
}

// quick is implemented by steps that have a quick way: how far one request moves the state of a key that owes nothing, and
// how many more would pass then.
type quick interface {
	quick() (one State, left int64)
}

// quicken finds out about the quick way of the steps.
func (l *Limit) quicken() {
	if q, ok := l.Steps.(quick); ok {
		l.quick = 1 << 63
		l.one, l.left = q.quick()
	}
}

// Quick tells whether a request is what most are: one of cost 1, by a limit whose states are a debt in time, for a key that owes
// nothing. Then QuickStep is its Step. Both are small enough to be inlined.
func (l *Limit) Quick(s State, now Time, cost Cost) bool {
	return s <= State(now) && uint64(now) < l.quick && cost == 1
}

// QuickStep is Step where Quick says so.
func (l *Limit) QuickStep(now Time) (State, Decision) {
	return State(now) + l.one, Decision{Remaining: l.left}
}

// Step runs the limit's step with the bound of its zone.
func (l *Limit) Step(s State, now Time, cost Cost) (State, Decision) {
	return l.Steps.Step(s, now, cost, l.Bound.Full())
}

// Bound is what the limits of one configuration that share a zone know of each other: the largest Full. One zone with a
// large burst here and a small one there keeps the large debt.
type Bound struct {
	full atomic.Int64
	salt atomic.Uint64
}

// Full is the largest Full of the limits that share the bound.
func (b *Bound) Full() int64 { return b.full.Load() }

// Join makes l a limit of the bound. It fails if the states of the others are windows of another length or alignment.
func (b *Bound) Join(l *Limit) error {
	if l.Salt != 0 && !b.salt.CompareAndSwap(0, l.Salt) && b.salt.Load() != l.Salt {
		return errors.New("the zone holds windows of another length or alignment; give this limit a zone of its own")
	}
	l.quicken()
	for l.Bound = b; ; {
		f, mine := b.full.Load(), l.Steps.Full()
		if mine <= f || b.full.CompareAndSwap(f, mine) {
			return nil
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
	Spend             // as Take, for a caller who will give nothing back: there is no Charge
	Reset             // decide nothing: forget the key's state
)

// Charges tells whether an admitted request is charged.
func (m Mode) Charges() bool { return m == Take || m == Spend }

// Stores tells whether the state that came with d is stored: an admitted request is charged, or a refused one cut the state.
func (m Mode) Stores(d Decision) bool {
	if d.Admitted() {
		return m.Charges()
	}
	return m != Peek
}

// Charge identifies what one request was charged, so that exactly this can be given back. Its words are the zone's: they
// name the state without its key. The zero Charge is none. The lowest bit of Life is 0 in every zone but those that stand around
// another and keep charges of their own: they tell these by it.
type Charge struct {
	Key    uint64 // names the key's state
	Life   uint64 // names the life of that state: an evicted one took the charge with it
	Before State
	After  State
}

// Zone is where the states of one kind live. It is safe for concurrent use, and so is each Limit bound to it. A zone keeps
// no key after a call. All zones pass the kit in package zonetest.
type Zone interface {
	// Bind makes l a limit of the zone and has it Join the zone's Bound. The first one fixes the zone's kind; another kind
	// is an error.
	Bind(l *Limit) error

	// Do decides on a request for key at now. A Charge comes with an admitted request in mode Take only. An error means
	// that the zone could not decide; a request it has no room for is a Decision with NoRoom. In mode Reset the key is
	// afterwards one that nobody has seen, and what was charged to it can't be refunded any more.
	Do(ctx context.Context, now Time, l *Limit, key string, cost Cost, m Mode) (Decision, Charge, error)

	// Refund gives back what c charged, or what is left of it.
	Refund(ctx context.Context, now Time, l *Limit, c Charge) error
}

// Spender is a Zone that needs no context, never fails, and has a shorter way for those who give nothing back. A Limiter asks
// it by Spend in place of Do, so who builds on such a zone and changes what Do does has to change Spend too.
type Spender interface {
	Zone

	// Spend decides what Do decides in mode Spend, and stores what it stores.
	Spend(now Time, l *Limit, key string, cost Cost) Decision
}

// Keyed is a Zone that finds a state by its key only, because it is elsewhere: there is no room in a Charge for the name of one.
// Who holds a charge of such a zone keeps the key with it. Places are an exception, those it knows by their charge.
type Keyed interface {
	Zone

	// RefundKey is Refund of what Do charged to key.
	RefundKey(ctx context.Context, now Time, l *Limit, key string, c Charge) error
}

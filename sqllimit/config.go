package sqllimit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// Limit is one limit of statements: a limiter, and whom it counts.
type Limit struct {
	// Name tells the limit from others in what a refusal says; "": "default".
	Name string

	Limiter *limitgate.Limiter

	// Key says whom a statement is counted for. A statement for which it appends nothing is not counted by this limit.
	Key Key

	// Classes are the classes of statements that the limit is for. None: all but Transaction.
	Classes []Class

	// Cost is what a statement costs; nil: 1. Below 1 the limit does not take part in the statement. A limit of kind limitgate.Conn has none.
	Cost func(ctx context.Context, s Statement) limitgate.Cost

	// Counts tells of a statement that has ended whether it counts: Failed. nil: each does. What does not is given back, exactly. A
	// limit of kind limitgate.Conn has none.
	Counts func(o Outcome) bool
}

// Outcome is how a statement ended: an execution with its return, a query with the close of its rows, a transaction with its commit or
// rollback.
type Outcome struct {
	Statement
	Err error // of a query the first that reading its rows or closing them gave
}

// Failed tells of statements that ended with an error.
func Failed(o Outcome) bool { return o.Err != nil }

// Config is all that a Middleware can do.
type Config struct {
	// Limits of statements are asked together, then those of kind limitgate.Conn. At most 64.
	Limits []Limit

	// Classify gives the class of a text; nil: Classify.
	Classify func(text string) Class

	// Skip tells of statements that no limit counts; nil: none.
	Skip func(ctx context.Context, s Statement) bool

	// DryRun asks the limits and lets everything pass. What would be refused is charged nothing.
	DryRun bool

	// FailOpen lets statements pass while a zone can't decide. Otherwise they are refused, with the zone's error. A zone in memory
	// never fails.
	FailOpen bool

	// Wait is how long a statement may wait for its turn and for a place together, if its context's deadline is not sooner. 0: for a
	// turn that a limit promises as long as the context lasts, for a place not at all.
	Wait time.Duration

	// Observe is told of each statement that was asked about, before it goes on, and once more if giving back fails; nil: nobody is.
	Observe func(ctx context.Context, s Statement, e Event)

	Now func() limitgate.Time // nil: limitgate.Now

	// Sleep waits out a delay that begins at now, or ctx, and tells when it woke up; nil: limitgate.Sleep.
	Sleep func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error)
}

// Event is what was decided about a statement.
type Event struct {
	limitgate.Verdict
	Limit  string // the name of the limit that the verdict is from; "": none was asked
	DryRun bool   // the statement goes on, whatever the verdict is
	Err    error  // of a zone, or of the context that ended while the statement waited
}

// Refusal is the error of a statement that is refused.
type Refusal struct {
	Limit string // its name
	Says  string // what the limit allows: "at most 20 at once"

	// RetryAfter is how long until the statement would be admitted if there were no others; 0: no such time is known.
	RetryAfter time.Duration

	Err error // of a zone that could not decide
}

// Error names the limit.
func (r *Refusal) Error() string {
	if r.Err != nil {
		return "asking the limits of a statement: " + r.Err.Error()
	}
	return fmt.Sprintf("limit %q of statements: too many (%s)", r.Limit, r.Says)
}

// Unwrap gives the zone's error.
func (r *Refusal) Unwrap() error { return r.Err }

// Validate says what is wrong with c.
func (c Config) Validate() error {
	if len(c.Limits) == 0 || len(c.Limits) > maxLimits {
		return fmt.Errorf("%d limits of statements: between 1 and %d", len(c.Limits), maxLimits)
	}
	if c.Wait < 0 {
		return fmt.Errorf("longest wait of a statement: %v must not be negative", c.Wait)
	}
	for i := range c.Limits {
		if err := c.Limits[i].validate(); err != nil {
			return fmt.Errorf("limit %d %q of statements: %w", i, c.Limits[i].name(), err)
		}
	}
	return nil
}

const maxLimits = 64

func (l *Limit) validate() error {
	switch {
	case l.Limiter == nil:
		return errors.New("needs a Limiter")
	case l.Key == nil:
		return errors.New("needs a Key")
	case l.isConn() && (l.Cost != nil || l.Counts != nil):
		return errors.New("places are held and given back: Cost and Counts are for limits of statements")
	}
	for _, c := range l.Classes {
		if c >= classes {
			return fmt.Errorf("unknown class %d", c)
		}
	}
	return nil
}

func (l *Limit) name() string {
	if l.Name == "" {
		return "default"
	}
	return l.Name
}

func (l *Limit) isConn() bool { return l.Limiter.Algorithm().Kind() == limitgate.KindConn }

// covers is the set of classes that the limit is for.
func (l *Limit) covers() (set uint8) {
	if len(l.Classes) == 0 {
		return 1<<classes - 1 - 1<<Transaction
	}
	for _, c := range l.Classes {
		set |= 1 << c
	}
	return set
}

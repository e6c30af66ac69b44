package retry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
)

// Policy is how often, how long and how slowly a request is tried. The zero Policy has the values that are named with its fields.
type Policy struct {
	// Attempts is how many there are in all, with the first; 0: 3.
	Attempts int

	// Time is how long after the first attempt began the last one may begin; 0: 30 s.
	Time time.Duration

	// Base is the bound of the wait after the first attempt, which doubles with each, up to Max; 0: 100 ms and 10 s.
	Base, Max time.Duration

	// Budget is spent by each attempt but the first. nil: New of this package and of grpcretry make a Budget of the zero BudgetConfig.
	Budget *Budget

	// Random gives a number from 0 to below n; nil: of math/rand/v2.
	Random func(n int64) int64

	Now func() limitgate.Time // nil: limitgate.Now

	// Sleep waits for d, which begins at now, or ctx, and tells when it woke up; nil: limitgate.Sleep.
	Sleep func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error)
}

// Validate says what is wrong with p.
func (p Policy) Validate() error {
	if p.Attempts < 0 || p.Time < 0 || p.Base < 0 || p.Max < 0 {
		return fmt.Errorf("retries: attempts %d, time %v, base %v and max %v must not be negative", p.Attempts, p.Time, p.Base, p.Max)
	}
	if d := p.withDefaults(); d.Base > d.Max {
		return fmt.Errorf("retries: base %v is longer than max %v", d.Base, d.Max)
	}
	return nil
}

func (p Policy) withDefaults() Policy {
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Time == 0 {
		p.Time = 30 * time.Second
	}
	if p.Base == 0 {
		p.Base = 100 * time.Millisecond
	}
	if p.Max == 0 {
		p.Max = 10 * time.Second
	}
	if p.Random == nil {
		p.Random = rand.Int64N
	}
	if p.Now == nil {
		p.Now = limitgate.Now
	}
	if p.Sleep == nil {
		p.Sleep = limitgate.Sleep
	}
	return p
}

// Compile makes p ready for requests: a Policy with all its values, and a Budget. It fails if p is not valid.
func (p Policy) Compile() (Policy, error) {
	if err := p.Validate(); err != nil {
		return p, err
	}
	p = p.withDefaults()
	if p.Budget == nil {
		var err error
		if p.Budget, err = NewBudget(BudgetConfig{}); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Reason is why there is no other attempt.
type Reason uint8

// The reasons.
const (
	None     Reason = iota // there is another
	Final                  // it failed in a way that does not pass
	Unsafe                 // it may have been done, or can't be sent again
	Attempts               // there were enough
	Late                   // the next would begin after Policy.Time or the context's deadline
	Spent                  // the budget has nothing left
	Ended                  // the context did
)

// String names the reason.
func (r Reason) String() string {
	switch r {
	case None:
		return "another attempt"
	case Final:
		return "final"
	case Unsafe:
		return "not safe"
	case Attempts:
		return "attempts"
	case Late:
		return "too late"
	case Spent:
		return "budget spent"
	case Ended:
		return "context ended"
	}
	return "Reason(" + strconv.Itoa(int(r)) + ")"
}

// Failure is how an attempt failed.
type Failure struct {
	Passing bool // it may pass, so that another attempt has a chance
	Safe    bool // the request can be sent again, and was not worked on or may be worked on twice
	Hinted  bool // the server told when to come again:
	Hint    time.Duration
}

// Event is what follows from a failure.
type Event struct {
	Attempt int           // which one failed, from 1
	Wait    time.Duration // until the next
	Stop    Reason        // why there is none
}

// Course is one request on its way through a policy. It belongs to one goroutine.
type Course struct {
	policy  *Policy
	begin   limitgate.Time
	next    limitgate.Time
	attempt int
}

// Begin is the start of a request's first attempt. p must come from Compile, and stay as it is.
func (p *Policy) Begin() Course {
	p.Budget.Request()
	return Course{policy: p, begin: p.Now(), attempt: 1}
}

// Failed decides whether there is another attempt after one that failed. It is for Wait to wait for it.
func (c *Course) Failed(ctx context.Context, f Failure) Event {
	p, now := c.policy, c.policy.Now()
	e := Event{Attempt: c.attempt}
	switch {
	case ctx.Err() != nil:
		e.Stop = Ended
	case !f.Passing:
		e.Stop = Final
	case !f.Safe:
		e.Stop = Unsafe
	case c.attempt >= p.Attempts:
		e.Stop = Attempts
	}
	if e.Stop != None {
		return e
	}
	e.Wait = c.pause(f)
	deadline, ok := ctx.Deadline()
	if now.Add(e.Wait).Sub(c.begin) > p.Time || ok && time.Until(deadline) <= e.Wait {
		return Event{Attempt: c.attempt, Stop: Late}
	}
	if !p.Budget.Retry(ctx, now) {
		return Event{Attempt: c.attempt, Stop: Spent}
	}
	c.next = now.Add(e.Wait)
	c.attempt++
	return e
}

// pause is the wait after a failure: full jitter, and on top of what the server asked for. A hint spreads over a tenth of itself at
// least, because many have got the same.
func (c *Course) pause(f Failure) time.Duration {
	bound := c.policy.Base
	for range c.attempt - 1 {
		if bound >= c.policy.Max/2 {
			bound = c.policy.Max
			break
		}
		bound *= 2
	}
	bound = min(bound, longest)
	hint := time.Duration(0)
	if f.Hinted {
		hint = min(max(f.Hint, 0), longest)
		bound = max(bound, hint/10)
	}
	return hint + time.Duration(c.policy.Random(int64(bound)+1))
}

// longest bounds hints, so that no sum of times overflows.
const longest = 100 * 365 * 24 * time.Hour

// Wait waits until the attempt that Failed announced, and gives ctx's error if that ends first.
func (c *Course) Wait(ctx context.Context) error {
	now := c.policy.Now()
	if d := c.next.Sub(now); d > 0 {
		if _, err := c.policy.Sleep(ctx, now, d); err != nil {
			return fmt.Errorf("waiting for attempt %d: %w", c.attempt, err)
		}
	}
	return ctx.Err()
}

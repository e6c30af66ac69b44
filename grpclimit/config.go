package grpclimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/admit"
)

// Limit is one limit of calls: a limiter, and whom it counts.
type Limit struct {
	// Name tells the limit from others in what a refusal says; "": "default".
	Name string

	Limiter *limitgate.Limiter

	// Key says whom a call is counted for. A call for which it appends nothing is not counted by this limit.
	Key Key

	// Methods are the methods that the limit is for: "/package.Service/Method", or "/package.Service/*" for all of a service. None: all.
	Methods []string

	// Cost is what a call costs; nil: 1. Below 1 the limit does not take part in the call. A limit of kind limitgate.Conn has none.
	Cost func(ctx context.Context, c Call) limitgate.Cost

	// Counts tells of a call that has ended whether it counts: Failed, CodeIn(codes.Unauthenticated). nil: each does. What does not is
	// given back, exactly. A limit of kind limitgate.Conn has none.
	Counts func(o Outcome) bool
}

// Outcome is how a call ended.
type Outcome struct {
	Call
	Answer any   // of a unary call on a server
	Err    error // a status; of a handler that panicked one with codes.Internal
}

// Failed tells of calls that ended with an error.
func Failed(o Outcome) bool { return o.Err != nil }

// CodeIn tells of calls that ended with one of some codes.
func CodeIn(some ...codes.Code) func(o Outcome) bool {
	return func(o Outcome) bool {
		code := status.Code(o.Err)
		for _, c := range some {
			if c == code {
				return true
			}
		}
		return false
	}
}

// Config is all that an Interceptor can do.
type Config struct {
	// Limits of calls are asked together, then those of kind limitgate.Conn. At most 64.
	Limits []Limit

	// Adaptive is a limit of all calls at once that finds itself; nil: none. It is asked last, waits for nothing, and what it refuses is
	// given back to the others, with RetryInfo of a second. UNAVAILABLE, and deadlines that pass, tell it that there is too much to do,
	// on a client RESOURCE_EXHAUSTED too. A stream holds its place until it ends, and its time tells nothing: how long it lasts is up to
	// who reads it. In dry run it follows only what it would admit.
	Adaptive *adaptive.Limiter

	// Skip tells of calls that no limit counts; nil: none.
	Skip func(ctx context.Context, c Call) bool

	// DryRun asks the limits and lets everybody pass. What would be refused is charged nothing.
	DryRun bool

	// FailOpen lets calls pass while a zone can't decide. Otherwise they end with UNAVAILABLE: an outage of the limiter is not the
	// caller's doing. A zone in memory never fails.
	FailOpen bool

	// Wait is how long a call may wait for its turn and for a place together, if its deadline is not sooner. 0: for a turn that a limit
	// promises as long as the call lasts, for a place not at all.
	Wait time.Duration

	// Refuse gives the error of a call that is refused; nil, or one that gives nil: Refusal.Status.
	Refuse func(ctx context.Context, c Call, f Refusal) error

	// Observe is told of each call that was asked about, before it goes on, and once more if giving back fails; nil: nobody is.
	Observe func(ctx context.Context, c Call, e Event)

	Now func() limitgate.Time // nil: limitgate.Now

	// Sleep waits out a delay that begins at now, or ctx, and tells when it woke up; nil: limitgate.Sleep.
	Sleep func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error)
}

// Event is what was decided about a call.
type Event struct {
	limitgate.Verdict
	Limit  string // the name of the limit that the verdict is from; "": none was asked
	DryRun bool   // the call passes, whatever the verdict is
	Err    error  // of a zone, or of the context that ended while the call waited
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	if len(c.Limits) == 0 && c.Adaptive == nil || len(c.Limits) > maxLimits {
		return fmt.Errorf("%d limits of calls: between 1 and %d", len(c.Limits), maxLimits)
	}
	if c.Wait < 0 {
		return fmt.Errorf("longest wait of a call: %v must not be negative", c.Wait)
	}
	for i := range c.Limits {
		if err := c.Limits[i].validate(); err != nil {
			return fmt.Errorf("limit %d %q of calls: %w", i, c.Limits[i].name(), err)
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
	case l.Limiter.Algorithm().Kind() == limitgate.KindConn && (l.Cost != nil || l.Counts != nil):
		return errors.New("places are held and given back: Cost and Counts are for limits of calls")
	}
	for _, m := range l.Methods {
		service, method := split(m)
		if len(service) < len("/s/") || service[0] != '/' || method == "" || strings.Contains(service[1:len(service)-1], "/") {
			return fmt.Errorf("method %q: must be like /package.Service/Method or /package.Service/*", m)
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

// split cuts a method in "/package.Service/" and "Method".
func split(method string) (service, name string) {
	i := strings.LastIndexByte(method, '/') + 1
	return method[:i], method[i:]
}

// rule is a limit as calls meet it.
type rule struct {
	*Limit
	methods map[string]bool // methods, and services with their last slash; nil: all
	says    string          // what a refusal tells of it
}

func newRule(l *Limit) rule {
	l.Name = l.name()
	r := rule{Limit: l, says: admit.Describe(l.Limiter.Algorithm())}
	if len(l.Methods) > 0 {
		r.methods = make(map[string]bool, len(l.Methods))
		for _, m := range l.Methods {
			r.methods[strings.TrimSuffix(m, "*")] = true
		}
	}
	return r
}

// covers tells whether the limit is for a method.
func (r *rule) covers(method string) bool {
	if r.methods == nil || r.methods[method] {
		return true
	}
	service, _ := split(method)
	return r.methods[service]
}

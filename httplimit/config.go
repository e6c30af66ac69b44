package httplimit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/admit"
	"github.com/limitgate/limitgate/internal/limitfields"
)

// Limit is one limit of a handler: a limiter, and whom it counts.
type Limit struct {
	// Name tells the limit from others, in header fields and in what a refusal says; "": "default".
	Name string

	Limiter *limitgate.Limiter

	// Key says whom a request is counted for. A request for which it appends nothing is not counted by this limit.
	Key Key

	// Cost is what a request costs; nil: 1. Below 1 the limit does not take part in the request. A limit of kind
	// limitgate.Conn has none.
	Cost func(r *http.Request) limitgate.Cost

	// Counts tells of an answered request whether it counts: StatusIn(401), Failed. nil: each does. What does not is given
	// back, exactly. A limit of kind limitgate.Conn has none.
	Counts func(o Outcome) bool

	// Settle tells what an answered request has cost in the end: the bytes it sent, the tokens a model used. Its Cost is a deposit then.
	// More than what the limit has left by then takes all that is left, and the rest is forgiven. nil: Cost is final. A limit
	// of kind limitgate.Conn has none.
	Settle func(o Outcome) limitgate.Cost
}

// Headers says which fields tell a client of its limits. Retry-After is on every refusal for which a time exists.
type Headers uint8

// The choices of Headers.
const (
	NoHeaders     Headers = iota
	DraftHeaders          // RateLimit and RateLimit-Policy, as in draft-ietf-httpapi-ratelimit-headers-10
	LegacyHeaders         // X-RateLimit-Limit, -Remaining and -Reset, which is in seconds, of the limit with the least left
)

// Config is all that a Middleware can do.
type Config struct {
	// Limits of requests are asked together, then those of kind limitgate.Conn. At most 64.
	Limits []Limit

	// Adaptive is a limit of all requests at once that finds itself; nil: none. It is asked last, and what it refuses is given back to
	// the others. Its refusals are 503 with Retry-After: 1: the server has too much to do. 502, 503 and 504 of the handler, and deadlines
	// that pass, tell it so. In dry run it follows only what it would admit.
	Adaptive *adaptive.Limiter

	// Skip tells of requests that no limit counts; nil: none.
	Skip func(r *http.Request) bool

	// DryRun asks the limits and lets everybody pass. What would be refused is charged nothing.
	DryRun bool

	// FailOpen lets requests pass while a zone can't decide. Otherwise they are answered with 503: an outage of the limiter is
	// not the client's doing. A zone in memory never fails.
	FailOpen bool

	Headers Headers

	// Status of refusals; 0: 429.
	Status int

	// Refuse answers in place of the next handler. Its status and Retry-After are up to it; the field is set already. nil answers
	// with a problem of RFC 9457.
	Refuse func(w http.ResponseWriter, r *http.Request, f Refusal)

	// Wait is how long a request may wait for its turn and for a place together, if its context's deadline is not sooner. 0: for a turn
	// that a limit promises as long as the client stays, for a place not at all.
	Wait time.Duration

	// Observe is told of each request that was asked about, before it goes on, and once more if giving back fails; nil: nobody is.
	Observe func(r *http.Request, e Event)

	Now func() limitgate.Time // nil: limitgate.Now

	// Sleep waits out a delay that begins at now, or ctx, and tells when it woke up; nil: limitgate.Sleep.
	Sleep func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error)
}

// Refusal is why a request is refused.
type Refusal struct {
	Limit      string // its name
	Status     int    // Config.Status, or 503
	RetryAfter time.Duration
	Err        error // of the zone, with 503
}

// Event is what was decided about a request.
type Event struct {
	limitgate.Verdict
	Limit  string // the name of the limit that the verdict is from; "": none was asked
	DryRun bool   // the request passes, whatever the verdict is
	Err    error  // of a zone, or of the context that ended while the request waited
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	if len(c.Limits) == 0 && c.Adaptive == nil || len(c.Limits) > maxLimits {
		return fmt.Errorf("%d limits of a handler: between 1 and %d", len(c.Limits), maxLimits)
	}
	if c.Status != 0 && (c.Status < 400 || c.Status > 599) {
		return fmt.Errorf("status %d of refusals: between 400 and 599", c.Status)
	}
	if c.Wait < 0 {
		return fmt.Errorf("longest wait of a request: %v must not be negative", c.Wait)
	}
	if c.Headers > LegacyHeaders {
		return fmt.Errorf("headers %d: NoHeaders, DraftHeaders or LegacyHeaders", c.Headers)
	}
	for i := range c.Limits {
		if err := c.Limits[i].validate(); err != nil {
			return fmt.Errorf("limit %d %q of a handler: %w", i, c.Limits[i].name(), err)
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
	case l.isConn() && (l.Cost != nil || l.Counts != nil || l.Settle != nil):
		return errors.New("places are held and given back: Cost, Counts and Settle are for limits of requests")
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

// settles tells whether the limit has to know how the request ended.
func (l *Limit) settles() bool { return l.Counts != nil || l.Settle != nil }

// Middleware limits handlers. It is immutable, and safe for concurrent use; handlers that it wraps share its limits.
type Middleware struct {
	config Config
	rules  []rule
	gate   *admit.Gate
	notes  sync.Pool
}

// rule is a limit with what its header fields say, which is nothing of places.
type rule struct {
	*Limit
	policy limitfields.Policy
}

// New limits handlers by one limiter: refusals are answered with 429, a delay is waited for. It panics if l or key is nil.
func New(l *limitgate.Limiter, key Key) *Middleware {
	m, err := NewWith(Config{Limits: []Limit{{Limiter: l, Key: key}}})
	if err != nil {
		panic("httplimit.New: " + err.Error())
	}
	return m
}

// NewWith limits handlers by a Config. It fails if that is not valid.
func NewWith(c Config) (*Middleware, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	m := &Middleware{config: c, rules: make([]rule, len(c.Limits))}
	limiters := make([]*limitgate.Limiter, len(c.Limits))
	for i := range c.Limits {
		l := &c.Limits[i]
		m.rules[i], limiters[i] = rule{Limit: l}, l.Limiter
		if !l.isConn() {
			m.rules[i].policy = limitfields.New(l.Name, l.Limiter.Algorithm())
		}
	}
	m.gate = admit.New(admit.Config{
		Limiters: limiters, Adaptive: c.Adaptive, DryRun: c.DryRun, FailOpen: c.FailOpen, Wait: c.Wait, Now: c.Now, Sleep: c.Sleep,
	})
	m.notes.New = func() any { return &notes{} }
	return m, nil
}

// withDefaults is c with all that was left out, and limits of its own.
func (c Config) withDefaults() Config {
	c.Limits = append([]Limit(nil), c.Limits...)
	for i := range c.Limits {
		c.Limits[i].Name = c.Limits[i].name()
	}
	if c.Status == 0 {
		c.Status = http.StatusTooManyRequests
	}
	if c.Refuse == nil {
		c.Refuse = refuse
	}
	return c
}

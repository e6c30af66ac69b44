package admit

import (
	"context"
	"sync"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// Config is what a gate asks, and how.
type Config struct {
	// Limiters are the limits, at most 64. Visits name them by their index.
	Limiters []*limitgate.Limiter

	// Adaptive is a limit of all work at once that finds itself, which is asked last, and does not wait; nil: none.
	Adaptive *adaptive.Limiter

	// DryRun asks and lets everything pass at once.
	DryRun bool

	// FailOpen lets work pass while a zone can't decide.
	FailOpen bool

	// Wait is how long work may wait for its turn and its places together. 0: for a turn as long as its context lasts, for a place not
	// at all.
	Wait time.Duration

	Now   func() limitgate.Time                                                                  // nil: limitgate.Now
	Sleep func(ctx context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) // nil: limitgate.Sleep
}

// Gate decides on pieces of work. It is safe for concurrent use.
type Gate struct {
	config Config
	conns  []bool // by limit
	queues queues
	memory sync.Pool
}

// New makes a gate of valid limiters.
func New(c Config) *Gate {
	if c.Now == nil {
		c.Now = limitgate.Now
	}
	if c.Sleep == nil {
		c.Sleep = limitgate.Sleep
	}
	g := &Gate{config: c, conns: make([]bool, len(c.Limiters))}
	for i, l := range c.Limiters {
		g.conns[i] = l.Algorithm().Kind() == limitgate.KindConn
	}
	g.memory.New = func() any { return &Visit{gate: g} }
	return g
}

// IsConn tells whether a limit is one of places.
func (g *Gate) IsConn(limit int) bool { return g.conns[limit] }

// Visit begins a piece of work. It is to be ended, by one goroutine, once.
func (g *Gate) Visit() *Visit { return g.memory.Get().(*Visit) }

// Answer is what becomes of a piece of work.
type Answer struct {
	// Verdict is that of the limits of requests or of those of places, of the ones that refuse or leave less. Where the work could not
	// wait for its turn it is Rejected, and tells how much later its turn is than it could have waited.
	limitgate.Verdict

	Limit int   // the limit it is from, or Adaptive; -1: none was asked
	Err   error // of a zone that could not decide, or of the context that ended while the work waited

	Refused bool // it does not go on, and nothing is charged or held
	Left    bool // Err is the context's
}

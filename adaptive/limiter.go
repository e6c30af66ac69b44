package adaptive

import (
	"sync"

	"github.com/limitgate/limitgate"
)

// Limiter bounds how many requests are at work at once, by a limit that it finds. It is safe for concurrent use.
type Limiter struct {
	config Config

	mu       sync.Mutex // guards what follows, for some arithmetic
	estimate Estimate
	limit    int64
}

// New makes a limiter. It fails if c is not valid.
func New(c Config) (*Limiter, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{config: c.withDefaults()}
	l.limit = l.estimate.Limit(&l.config)
	return l, nil
}

// Limit is how many may be at work at once now.
func (l *Limiter) Limit() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.limit
}

// InFlight is how many are.
func (l *Limiter) InFlight() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.estimate.inFlight
}

// Ticket is a request at work. The zero Ticket is none. It belongs to one goroutine at a time and is not to be copied once somebody
// may call Done.
type Ticket struct {
	limiter *Limiter
	mark    Mark
}

// Acquire admits a request at now, or refuses it.
func (l *Limiter) Acquire(now limitgate.Time) (Ticket, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.estimate.inFlight >= l.limit {
		return Ticket{}, false
	}
	return Ticket{l, l.estimate.Begin(&l.config, now)}, true
}

// Held tells whether there is a request to end.
func (t *Ticket) Held() bool { return t.limiter != nil }

// Done ends the request at now, once: a second call does nothing.
func (t *Ticket) Done(now limitgate.Time, o Outcome) {
	l := t.limiter
	if l == nil {
		return
	}
	t.limiter = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.estimate.End(&l.config, now, t.mark, t.mark.Since(now), o) {
		l.limit = l.estimate.Limit(&l.config)
	}
}

package virtual

import (
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/phase/limit"
	"github.com/limitgate/limitgate/internal/request"
)

// Ticket is all that is left to ask for a request that was approached, where one plain limit decides on it: it needs no visit any
// more.
type Ticket struct {
	limiter *limitgate.Limiter
	zone    string
	key     [longKey]byte
	n       int  // bytes of key
	dryRun  bool // of the limit
	ends    bool // what is refused is refused for good
	scope   int
}

// longKey bounds the keys that a ticket holds.
const longKey = 48

// Ticket makes a ticket of a request that was approached, where it may have one.
func (g *Gate) Ticket(v *Visit, t *Ticket) bool {
	if v.sole.Limiter == nil || len(v.key) > longKey {
		return false
	}
	t.limiter, t.zone, t.dryRun, t.ends, t.scope = v.sole.Limiter, v.sole.Zone, v.sole.DryRun, v.trial.Ends(), v.Request.Location
	t.n = copy(t.key[:], v.key)
	return true
}

// Prepare brings the states that the limit needs near the processor: it is worth its time for many tickets in a row.
func (g *Gate) Prepare(t *Ticket) {
	if z, is := t.limiter.Zone().(*lanedZone); is {
		g.warmth += z.warm(limitgate.BytesKey(t.key[:t.n]))
	}
}

// Redeem decides on the request of a ticket at an instant in one of the lanes, as Decide does, and leaves in p what was said. It
// reports false where the request must be made and go its whole way: it is refused, and sent elsewhere then.
func (g *Gate) Redeem(t *Ticket, at int64, lane int, p *request.Report) (decided bool, err error) {
	if _, err := g.arrive(at, lane); err != nil {
		return false, err
	}
	p.Retract()
	s := limit.Sole{Limiter: t.limiter, Zone: t.zone, Key: t.key[:t.n], DryRun: t.dryRun}
	d, err := s.Take(limitgate.Time(at), p)
	if err != nil {
		return false, fmt.Errorf("asking a limit: %w", err)
	}
	p.Scope = t.scope
	return d.Admitted() || t.dryRun || t.ends, nil
}

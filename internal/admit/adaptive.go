package admit

import (
	"context"
	"errors"
	"time"

	"github.com/limitgate/limitgate"
)

// Adaptive is the Limit of an answer that is from the limit that finds itself, where those of others have their index.
const Adaptive = -2

// What that limit is called, and says of itself.
const (
	NameAdaptive = "adaptive"
	SaysAdaptive = "as many at once as are worked on in good time"
)

// comeAgain is when work may come again that the limit that finds itself refused: nobody knows when there will be room.
const comeAgain = time.Second

// enter asks the limit that finds itself, after all others. What it refuses is given back to them.
func (v *Visit) enter(ctx context.Context, now limitgate.Time, before Answer) Answer {
	c := &v.gate.config
	if before.Delay() > 0 {
		now = c.Now()
	}
	var admitted bool
	if v.ticket, admitted = c.Adaptive.Acquire(now); admitted {
		if before.Limit == -1 && before.Err == nil {
			before.Limit = Adaptive
		}
		return before
	}
	if c.DryRun && !before.Admitted() { // what refuses first is told of
		return before
	}
	a := Answer{Limit: Adaptive, Refused: !c.DryRun}
	a.Leg, a.Outcome, a.Wait = -1, limitgate.Rejected, comeAgain
	err := v.refund(ctx)
	a.Err = errors.Join(err, v.release(&v.calm))
	return a
}

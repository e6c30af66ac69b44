package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// nameAdaptive is the limit that finds itself, where others have the name of a Limit.
const nameAdaptive = "adaptive"

// enter asks the limit that finds itself, after all others. What it refuses is answered, and given back to the others.
func (m *Middleware) enter(w http.ResponseWriter, r *http.Request, v *visit) bool {
	a := m.config.Adaptive
	if a == nil {
		return true
	}
	var admitted bool
	v.ticket, admitted = a.Acquire(m.config.Now())
	if m.config.Observe != nil {
		e := Event{Verdict: limitgate.Verdict{Leg: -1}, Limit: nameAdaptive, DryRun: m.config.DryRun}
		if !admitted {
			e.Outcome = limitgate.Rejected
		}
		m.config.Observe(r, e)
	}
	if admitted || m.config.DryRun {
		return true
	}
	release(v.places[:len(v.conns)])
	m.giveBack(v.legs)
	m.turnAway(w, r, Refusal{Limit: nameAdaptive, Status: http.StatusServiceUnavailable, RetryAfter: time.Second})
	return false
}

// leave tells it how the request ended.
func (m *Middleware) leave(r *http.Request, v *visit, t *tracker, returned bool) {
	if !v.ticket.Held() {
		return
	}
	o := adaptive.Answered
	switch status := t.end(returned); {
	case t.hijacked || !returned:
		o = adaptive.Ignored
	case errors.Is(r.Context().Err(), context.Canceled):
		o = adaptive.Left
	case r.Context().Err() != nil, status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout:
		o = adaptive.Dropped
	}
	v.ticket.Done(m.config.Now(), o)
}

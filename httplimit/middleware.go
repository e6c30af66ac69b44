package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admit"
	"github.com/limitgate/limitgate/internal/limitfields"
)

// Wrap limits next.
func (m *Middleware) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.Serve(w, r, next) })
}

// Serve limits next for one request: for routers whose middleware is no func(http.Handler) http.Handler.
func (m *Middleware) Serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if m.config.Skip != nil && m.config.Skip(r) {
		next.ServeHTTP(w, r)
		return
	}
	v := m.gate.Visit()
	settles := m.count(r, v)
	a := v.Ask(r.Context())
	m.observe(r, v, &a)
	if m.config.Headers != NoHeaders {
		m.tell(w.Header(), v)
	}
	switch {
	case a.Refused:
		m.told(r, v.End(r.Context()))
		m.turnAway(w, r, &a)
	case settles || v.Holds():
		m.follow(w, r, v, settles, next)
	default:
		m.told(r, v.End(r.Context()))
		next.ServeHTTP(w, r)
	}
}

// count has all limits that have a key for r count it. It tells whether one of them has to know how it ends.
func (m *Middleware) count(r *http.Request, v *admit.Visit) (settles bool) {
	for i := range m.rules {
		l := &m.rules[i]
		cost := limitgate.Cost(1)
		if l.Cost != nil {
			if cost = l.Cost(r); cost < 1 {
				continue
			}
		}
		if v.Count(i, l.Key(r, v.Key()), cost) && l.settles() {
			settles = true
		}
	}
	return settles
}

// observe tells what was decided.
func (m *Middleware) observe(r *http.Request, v *admit.Visit, a *admit.Answer) {
	if m.config.Observe == nil || a.Limit == -1 && a.Err == nil {
		return
	}
	told := false
	defer func() {
		if !told { // it panicked, and so the request does not go on
			_ = v.Cancel(r.Context())
		}
	}()
	m.config.Observe(r, Event{Verdict: a.Verdict, Limit: m.name(a.Limit), DryRun: m.config.DryRun, Err: a.Err})
	told = true
}

// told tells of an error in giving back.
func (m *Middleware) told(r *http.Request, err error) {
	if err != nil && m.config.Observe != nil {
		m.config.Observe(r, Event{Verdict: limitgate.Verdict{Leg: -1}, DryRun: m.config.DryRun, Err: err})
	}
}

// name is that of the limit that an answer is from.
func (m *Middleware) name(limit int) string {
	switch {
	case limit >= 0:
		return m.rules[limit].Name
	case limit == admit.Adaptive:
		return admit.NameAdaptive
	}
	return ""
}

// statusLeft is what logs say of a client that left before it got an answer, as nginx's do.
const statusLeft = 499

// turnAway answers a request that is refused.
func (m *Middleware) turnAway(w http.ResponseWriter, r *http.Request, a *admit.Answer) {
	f := Refusal{Limit: m.name(a.Limit), Status: m.config.Status, RetryAfter: a.RetryAfter()}
	switch {
	case a.Left && errors.Is(r.Context().Err(), context.Canceled):
		w.WriteHeader(statusLeft)
		return
	case a.Left: // its time is over, and would have been enough if it had come when its turn was
		f.RetryAfter = a.Delay()
	case a.Err != nil:
		f.Status, f.RetryAfter, f.Err = http.StatusServiceUnavailable, 0, a.Err
	case a.Limit == admit.Adaptive:
		f.Status = http.StatusServiceUnavailable
	}
	if f.RetryAfter > 0 {
		w.Header().Set(limitfields.RetryAfter, strconv.FormatInt(limitfields.Seconds(f.RetryAfter), 10))
	}
	m.config.Refuse(w, r, f)
}

// The names of fields as http.Header keeps them.
const (
	keyPolicy    = "Ratelimit-Policy"
	keyState     = "Ratelimit"
	keyLimit     = "X-Ratelimit-Limit"
	keyRemaining = "X-Ratelimit-Remaining"
	keyReset     = "X-Ratelimit-Reset"
)

// notes are the memory of what fields say.
type notes struct {
	policies []*limitfields.Policy
	text     []byte // of a field
}

// tell writes what the limits leave the client.
func (m *Middleware) tell(h http.Header, v *admit.Visit) {
	said := v.Asked()
	if len(said.Legs) == 0 {
		return
	}
	n := m.notes.Get().(*notes)
	defer m.notes.Put(n)
	n.policies = n.policies[:0]
	for i := range said.Legs {
		n.policies = append(n.policies, &m.rules[v.Limit(i)].policy)
	}
	binding := limitfields.Binding(said.Legs)
	var values [3]string // all in one piece of memory
	set := values[:]
	if m.config.Headers == DraftHeaders {
		n.text = limitfields.AppendPolicies(n.text[:0], n.policies, said.Legs, binding)
		set[0] = string(n.text)
		n.text = limitfields.AppendStates(n.text[:0], n.policies, said.Legs, binding, said.Charged, said.At)
		set[1] = string(n.text)
		h[keyPolicy], h[keyState] = set[:1:1], set[1:2:2]
		return
	}
	limit, remaining, reset := n.policies[binding].Legacy(&said.Legs[binding], said.Charged, said.At)
	set[0], set[1], set[2] = strconv.FormatInt(limit, 10), strconv.FormatInt(remaining, 10), strconv.FormatInt(reset, 10)
	h[keyLimit], h[keyRemaining], h[keyReset] = set[:1:1], set[1:2:2], set[2:]
}

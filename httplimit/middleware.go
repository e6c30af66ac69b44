package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/internal/limitfields"
)

// visit is one request on its way through the limits, with the memory that it needs.
type visit struct {
	legs     []limitgate.Leg // of limits of requests
	rules    []*rule         // of each leg
	places   []limitgate.Place
	conns    []limitgate.Leg // of limits of places
	connRule []*rule
	keys     []byte // of all legs
	policies []*limitfields.Policy
	text     []byte // of a field
	ticket   adaptive.Ticket
}

const (
	keyRoom = 256      // for the keys of an ordinary request
	keyMost = 16 << 10 // more is not kept
)

func (m *Middleware) newVisit() *visit {
	return &visit{
		legs: make([]limitgate.Leg, 0, len(m.requests)), rules: make([]*rule, 0, len(m.requests)),
		conns: make([]limitgate.Leg, 0, len(m.conns)), connRule: make([]*rule, 0, len(m.conns)),
		places: make([]limitgate.Place, len(m.conns)), keys: make([]byte, 0, keyRoom),
	}
}

// done gives the memory back. It is not done for a request whose handler took over the connection: its places are held from there.
func (m *Middleware) done(v *visit) {
	clear(v.legs)
	clear(v.conns)
	clear(v.places)
	if cap(v.keys) > keyMost {
		v.keys = make([]byte, 0, keyRoom)
	}
	m.memory.Put(v)
}

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
	v := m.memory.Get().(*visit)
	v.keys = v.keys[:0]
	v.legs, v.rules = v.gather(r, m.requests, v.legs[:0], v.rules[:0])
	v.conns, v.connRule = v.gather(r, m.conns, v.conns[:0], v.connRule[:0])
	if !m.admit(w, r, v) || !m.enter(w, r, v) {
		m.done(v)
		return
	}
	settles := m.settles && len(v.legs) > 0 && anySettles(v.rules)
	if !settles && len(v.conns) == 0 && !v.ticket.Held() {
		m.done(v)
		next.ServeHTTP(w, r)
		return
	}
	m.follow(w, r, v, settles, next)
}

// gather appends a leg for each limit that has a key for r. The keys stand one behind the other in v.keys.
func (v *visit) gather(r *http.Request, rules []rule, legs []limitgate.Leg, of []*rule) ([]limitgate.Leg, []*rule) {
	for i := range rules {
		l := &rules[i]
		cost := limitgate.Cost(1)
		if l.Cost != nil {
			if cost = l.Cost(r); cost < 1 {
				continue
			}
		}
		start := len(v.keys)
		v.keys = l.Key(r, v.keys)
		if len(v.keys) <= start {
			v.keys = v.keys[:start]
			continue
		}
		// A buffer that grows leaves the keys before where they are: the legs hold on to it.
		key := v.keys[start:len(v.keys):len(v.keys)]
		legs = append(legs, limitgate.Leg{Limiter: l.Limiter, Key: limitgate.BytesKey(key), Cost: cost})
		of = append(of, l)
	}
	return legs, of
}

func anySettles(rules []*rule) bool {
	for _, l := range rules {
		if l.settles() {
			return true
		}
	}
	return false
}

// admit asks the limits and waits; what it refuses is answered. What is admitted holds its places.
func (m *Middleware) admit(w http.ResponseWriter, r *http.Request, v *visit) bool {
	now := m.config.Now()
	if len(v.legs) > 0 && !m.askRequests(w, r, v, now) {
		return false
	}
	if len(v.conns) == 0 {
		return true
	}
	verdict, err := limitgate.AcquireAll(r.Context(), m.config.Now(), v.conns, v.places)
	m.observe(r, verdict, v.connRule, err)
	switch {
	case err == nil && verdict.Admitted():
		return true
	case m.config.DryRun:
		// Without a dry run it would have been charged nothing.
		m.giveBack(v.legs)
		v.legs, v.rules, v.conns = v.legs[:0], v.rules[:0], v.conns[:0]
		return true
	case m.passes(err):
		v.conns = v.conns[:0] // nothing is held
		return true
	}
	m.giveBack(v.legs)
	m.turnAway(w, r, m.refusal(&verdict, v.connRule, err))
	return false
}

// passes tells whether a request goes on that was not admitted.
func (m *Middleware) passes(err error) bool {
	return m.config.DryRun || err != nil && m.config.FailOpen
}

// askRequests asks the limits of requests, and waits for the turn they give.
func (m *Middleware) askRequests(w http.ResponseWriter, r *http.Request, v *visit, now limitgate.Time) bool {
	verdict, err := limitgate.All(r.Context(), now, v.legs)
	m.observe(r, verdict, v.rules, err)
	if m.config.Headers != NoHeaders && err == nil {
		m.tell(w.Header(), v, verdict.Admitted(), now)
	}
	switch {
	case err == nil && verdict.Admitted():
		if d := verdict.Delay(); d > 0 && !m.config.DryRun {
			return m.wait(w, r, v, &verdict, now, d)
		}
		return true
	case m.passes(err):
		v.legs, v.rules = v.legs[:0], v.rules[:0] // nothing is charged
		return true
	}
	m.turnAway(w, r, m.refusal(&verdict, v.rules, err))
	return false
}

// wait waits for the request's turn. One that leaves gets its charges back, and one whose time is up before its turn is
// refused at once.
func (m *Middleware) wait(w http.ResponseWriter, r *http.Request, v *visit, verdict *limitgate.Verdict, now limitgate.Time, d time.Duration) bool {
	ctx := r.Context()
	if end, ok := ctx.Deadline(); !ok || time.Until(end) >= d {
		if _, err := m.config.Sleep(ctx, now, d); err == nil {
			return true
		}
	}
	_ = limitgate.LeaveAll(context.Background(), m.config.Now(), v.legs) // see giveBack
	if errors.Is(context.Cause(ctx), context.Canceled) {
		w.WriteHeader(statusLeft)
		return false
	}
	f := Refusal{Limit: v.rules[verdict.Leg].Name, Status: m.config.Status, RetryAfter: d}
	m.turnAway(w, r, f)
	return false
}

// statusLeft is what logs say of a client that left before it got an answer, as nginx's do.
const statusLeft = 499

// giveBack refunds all charges. The client may have left: that does not stop it.
func (m *Middleware) giveBack(legs []limitgate.Leg) {
	if len(legs) == 0 {
		return
	}
	// A zone that fails to take something back keeps it until it drains. There is nobody to tell.
	_ = limitgate.RefundAll(context.Background(), m.config.Now(), legs)
}

func (m *Middleware) observe(r *http.Request, v limitgate.Verdict, rules []*rule, err error) {
	if m.config.Observe == nil {
		return
	}
	e := Event{Verdict: v, DryRun: m.config.DryRun, Err: err}
	if v.Leg >= 0 {
		e.Limit = rules[v.Leg].Name
	}
	m.config.Observe(r, e)
}

func (m *Middleware) refusal(v *limitgate.Verdict, rules []*rule, err error) Refusal {
	f := Refusal{Status: m.config.Status, RetryAfter: v.RetryAfter(), Err: err}
	if v.Leg >= 0 {
		f.Limit = rules[v.Leg].Name
	}
	if err != nil {
		f.Status, f.RetryAfter = http.StatusServiceUnavailable, 0
	}
	return f
}

// turnAway answers a request that is refused.
func (m *Middleware) turnAway(w http.ResponseWriter, r *http.Request, f Refusal) {
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

// tell writes what the limits leave the client.
func (m *Middleware) tell(h http.Header, v *visit, charged bool, now limitgate.Time) {
	v.policies = v.policies[:0]
	for _, l := range v.rules {
		v.policies = append(v.policies, &l.policy)
	}
	binding := limitfields.Binding(v.legs)
	var values [3]string // all in one piece of memory
	set := values[:]
	if m.config.Headers == DraftHeaders {
		v.text = limitfields.AppendPolicies(v.text[:0], v.policies, v.legs, binding)
		set[0] = string(v.text)
		v.text = limitfields.AppendStates(v.text[:0], v.policies, v.legs, binding, charged, now)
		set[1] = string(v.text)
		h[keyPolicy], h[keyState] = set[:1:1], set[1:2:2]
		return
	}
	limit, remaining, reset := v.policies[binding].Legacy(&v.legs[binding], charged, now)
	set[0], set[1], set[2] = strconv.FormatInt(limit, 10), strconv.FormatInt(remaining, 10), strconv.FormatInt(reset, 10)
	h[keyLimit], h[keyRemaining], h[keyReset] = set[:1:1], set[1:2:2], set[2:]
}

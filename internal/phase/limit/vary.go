package limit

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/limitfields"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/vars"
)

// numbers are the parameters of a limit. What a kind does not have is 0.
type numbers struct {
	rate     limitgate.Rate
	burst    int64
	delay    int64
	noDelay  bool
	limit    int64
	window   time.Duration
	capacity int64
}

// parameter is one number of a limit that holds variables.
type parameter struct {
	name  string // in the configuration
	value *vars.Template
	at    conf.Pos
}

// read reads the parameter's value into n. An empty burst or delay is none.
func (p *parameter) read(n *numbers, text string) (ok bool) {
	switch p.name {
	case "rate":
		var err error
		n.rate, err = limitgate.ParseRate(text)
		ok = err == nil
	case "burst":
		n.burst, ok = orNone(text)
	case "delay":
		if n.noDelay = text == "nodelay"; n.noDelay {
			return true
		}
		n.delay, ok = orNone(text)
	case "limit":
		n.limit, ok = conf.ParseInt(text)
	case "window":
		n.window, ok = conf.ParseDuration(text)
	case "capacity":
		n.capacity, ok = conf.ParseInt(text)
	}
	return ok
}

// strict reads a value that can't be read as the strictest there is, if there is one: no burst, and everybody waits.
func (p *parameter) strict(n *numbers) bool {
	switch p.name {
	case "burst":
		n.burst = 0
	case "delay":
		n.delay, n.noDelay = 0, false
	default:
		return false
	}
	return true
}

func orNone(text string) (int64, bool) {
	if text == "" {
		return 0, true
	}
	return conf.ParseInt(text)
}

const (
	// maxKnown bounds how many different values of its parameters a limit keeps ready.
	maxKnown = 256
	// maxValue is more than any value that can be read.
	maxValue = 64
)

// vary is a limit whose parameters come with each request: a map makes tiers of them. What a value means is worked out
// once and kept.
type vary struct {
	limit      *limit
	base       numbers // of the parameters that hold no variables
	parameters []parameter
	cost       *vars.Template // nil: units
	units      limitgate.Cost
	algorithm  func(n numbers) limitgate.Algorithm
	zone       func(limitgate.Algorithm) (limitgate.Zone, error)

	known atomic.Pointer[map[string]*terms] // by the values, each with an end mark; never written, only replaced

	mu   sync.Mutex   // of who makes terms
	told atomic.Int64 // when a value that can't be read was last told of

	none terms // what refuses all
}

// endMark stands behind each value. No header and no path holds it.
const endMark = 0

// terms gives the limit's terms and cost for a request. Values are built behind what b holds; what is returned in its place
// may be cut again. A cost of 0 does not take part.
func (v *vary) terms(r *request.Request, b []byte) (*terms, limitgate.Cost, []byte) {
	cost := v.units
	if v.cost != nil {
		n := len(b)
		b = v.cost.Append(r, b)
		c, ok := conf.ParseInt(limitgate.BytesKey(b[n:]))
		if !ok {
			v.tell(r, "cost", b[n:], "the request is refused")
			return &v.none, 1, b
		}
		cost = limitgate.Cost(c)
		b = b[:n]
	}
	if len(v.parameters) == 0 {
		return &v.limit.fixed, cost, b
	}
	start := len(b)
	for i := range v.parameters {
		b = append(v.parameters[i].value.Append(r, b), endMark)
	}
	if t := (*v.known.Load())[string(b[start:])]; t != nil {
		return t, cost, b
	}
	return v.meet(r, b[start:]), cost, b
}

// meet works out values that were not met before, or can't be read. Of those a canonical form is kept, so that a client that
// makes them up fills no memory.
func (v *vary) meet(r *request.Request, values []byte) *terms {
	n := v.base
	canonical := values
	for i, rest := 0, values; i < len(v.parameters); i++ {
		p := &v.parameters[i]
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{endMark})
		if len(text) <= maxValue && p.read(&n, limitgate.BytesKey(text)) {
			continue
		}
		if !p.strict(&n) {
			v.tell(r, p.name, text, "the request is refused")
			return &v.none
		}
		v.tell(r, p.name, text, "it counts as none")
		canonical = nil
	}
	if canonical == nil {
		canonical = fmt.Append(nil, n) // no value looks like this
		if t := (*v.known.Load())[string(canonical)]; t != nil {
			return t
		}
	}
	t, err := v.make(n, string(canonical))
	if err != nil {
		v.say(r, func(b []byte) []byte { return fmt.Appendf(b, ": %s; the request is refused", err) })
		return &v.none
	}
	return t
}

// make makes the terms of numbers and keeps them.
func (v *vary) make(n numbers, values string) (*terms, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := *v.known.Load()
	if t := known[values]; t != nil {
		return t, nil // somebody was faster
	}
	t := &terms{of: v.limit}
	if err := v.bind(t, n); err != nil {
		return nil, err
	}
	next := make(map[string]*terms, len(known)+1)
	if len(known) < maxKnown {
		for k, t := range known {
			next[k] = t
		}
	}
	next[values] = t
	v.known.Store(&next)
	return t, nil
}

// bind fills in the terms of numbers.
func (v *vary) bind(t *terms, n numbers) error {
	a := v.algorithm(n)
	t.numbers = n
	if a == nil {
		t.policy = limitfields.New(v.limit.zone, nil)
		return nil
	}
	if err := a.Validate(); err != nil {
		return err
	}
	zone, err := v.zone(a)
	if err != nil {
		return err
	}
	if t.limiter, err = limitgate.NewLimiter(zone, a); err != nil {
		return err
	}
	t.policy = limitfields.New(v.limit.zone, a)
	return nil
}

// tell writes that a value can't be read.
func (v *vary) tell(r *request.Request, name string, value []byte, then string) {
	v.say(r, func(b []byte) []byte {
		if len(value) > maxValue {
			value = value[:maxValue]
		}
		return fmt.Appendf(b, `: invalid %s "%s"; %s`, name, value, then)
	})
}

// say writes to the error log what is wrong with the values of requests, at most once a second: a flood of such requests must
// not become a flood of lines.
func (v *vary) say(r *request.Request, what func([]byte) []byte) {
	last := v.told.Load()
	if since := r.Now.Sub(limitgate.Time(last)); last != 0 && since >= 0 && since < time.Second {
		return
	}
	if !r.Logs(errorlog.Error) || !v.told.CompareAndSwap(last, int64(r.Now)) {
		return
	}
	b := fmt.Appendf(nil, `%s zone "%s"`, v.limit.group.kind, v.limit.zone)
	r.Logf(errorlog.Error, "%s", what(b))
}

// settle tells the limit's terms whose they are, when the limit has its place.
func (m *limit) settle() {
	m.fixed.of = m
	if m.finder != nil {
		m.finder.of = m
	}
	m.own.vary.limit = m
	if m.vary != nil {
		m.vary.limit = m
		m.vary.none = terms{of: m, policy: limitfields.New(m.zone, nil)}
		m.vary.known.Store(&map[string]*terms{})
	}
}

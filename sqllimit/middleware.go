package sqllimit

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admit"
)

// Middleware limits the statements of the databases whose connectors it wraps, which share its limits. It is immutable, and safe for
// concurrent use.
type Middleware struct {
	config  Config
	rules   []rule
	settles bool  // some limit has to know how statements end
	follows uint8 // the classes whose end somebody has to know, because a place is held or a limit settles
	gate    *admit.Gate
}

// rule is a limit as statements meet it.
type rule struct {
	*Limit
	classes uint8 // a set
	says    string
}

// New limits statements by one limiter. It panics if l or key is nil.
func New(l *limitgate.Limiter, key Key) *Middleware {
	m, err := NewWith(Config{Limits: []Limit{{Limiter: l, Key: key}}})
	if err != nil {
		panic("sqllimit.New: " + err.Error())
	}
	return m
}

// NewWith limits statements by a Config. It fails if that is not valid.
func NewWith(c Config) (*Middleware, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Classify == nil {
		c.Classify = Classify
	}
	c.Limits = append([]Limit(nil), c.Limits...)
	m := &Middleware{config: c, rules: make([]rule, len(c.Limits))}
	limiters := make([]*limitgate.Limiter, len(c.Limits))
	for i := range c.Limits {
		l := &c.Limits[i]
		l.Name = l.name()
		m.rules[i], limiters[i] = rule{l, l.covers(), admit.Describe(l.Limiter.Algorithm())}, l.Limiter
		m.settles = m.settles || l.Counts != nil
		if l.isConn() || l.Counts != nil {
			m.follows |= l.covers()
		}
	}
	m.gate = admit.New(admit.Config{
		Limiters: limiters, DryRun: c.DryRun, FailOpen: c.FailOpen, Wait: c.Wait, Now: c.Now, Sleep: c.Sleep,
	})
	return m, nil
}

// errPanicked is the outcome of a statement whose driver did not return.
var errPanicked = errors.New("the driver panicked")

// classify is the class of a text, where a caller's function may not know it.
func (m *Middleware) classify(text string) Class {
	if c := m.config.Classify(text); c < classes {
		return c
	}
	return Other
}

// begin asks the limits of a statement. It goes on if there is no error; the visit, if there is one, is then to be ended.
func (m *Middleware) begin(ctx context.Context, s Statement) (*admit.Visit, error) {
	if m.config.Skip != nil && m.config.Skip(ctx, s) {
		return nil, nil
	}
	v, asked := (*admit.Visit)(nil), false
	for i := range m.rules {
		r := &m.rules[i]
		if r.classes&(1<<s.Class) == 0 {
			continue
		}
		if !asked {
			v, asked = m.gate.Visit(), true
		}
		cost := limitgate.Cost(1)
		if r.Cost != nil {
			cost = r.Cost(ctx, s)
		}
		v.Count(i, r.Key(ctx, s, v.Key()), cost)
	}
	if !asked {
		return nil, nil
	}
	a := v.Ask(ctx)
	m.observe(ctx, s, v, &a)
	if !a.Refused {
		return v, nil
	}
	m.told(ctx, s, v.End(ctx))
	if a.Left {
		return nil, cmp.Or(ctx.Err(), a.Err) // a wait may break off for a reason of its own
	}
	f := &Refusal{RetryAfter: a.RetryAfter(), Err: a.Err}
	if a.Limit >= 0 {
		f.Limit, f.Says = m.rules[a.Limit].Name, m.rules[a.Limit].says
	}
	return nil, f
}

// observe tells what was decided.
func (m *Middleware) observe(ctx context.Context, s Statement, v *admit.Visit, a *admit.Answer) {
	if m.config.Observe == nil {
		return
	}
	e := Event{Verdict: a.Verdict, DryRun: m.config.DryRun, Err: a.Err}
	if a.Limit >= 0 {
		e.Limit = m.rules[a.Limit].Name
	}
	told := false
	defer func() {
		if !told { // it panicked, and so the statement does not go on
			_ = v.Cancel(ctx)
		}
	}()
	m.config.Observe(ctx, s, e)
	told = true
}

// told tells of an error in giving back.
func (m *Middleware) told(ctx context.Context, s Statement, err error) {
	if err != nil && m.config.Observe != nil {
		m.config.Observe(ctx, s, Event{Verdict: limitgate.Verdict{Leg: -1}, DryRun: m.config.DryRun, Err: err})
	}
}

// end gives back what a statement held, and what it was charged by limits for which it does not count. What the driver did not send
// counts for none.
func (m *Middleware) end(ctx context.Context, v *admit.Visit, o Outcome) {
	if errors.Is(o.Err, driver.ErrSkip) || errors.Is(o.Err, driver.ErrBadConn) {
		m.told(ctx, o.Statement, v.Cancel(ctx))
		return
	}
	var err error
	defer func() { m.told(ctx, o.Statement, errors.Join(err, v.End(ctx))) }()
	if m.settles {
		err = m.settle(ctx, v, o, 0)
	}
}

// settle gives back what the statement was charged by limits from one on for which it does not count. Where a function of the caller's
// panics, the limits behind it are settled all the same.
func (m *Middleware) settle(ctx context.Context, v *admit.Visit, o Outcome, from int) (err error) {
	i := from
	defer func() {
		if i < len(m.rules) {
			_ = m.settle(ctx, v, o, i+1) // the panic is what is told
		}
	}()
	for ; i < len(m.rules); i++ {
		if counts := m.rules[i].Counts; counts != nil && v.Charged(i) && !counts(o) {
			err = errors.Join(err, v.GiveBack(ctx, i))
		}
	}
	return err
}

// exec runs an execution within its limits.
func (m *Middleware) exec(ctx context.Context, s Statement, run func() (driver.Result, error)) (driver.Result, error) {
	v, err := m.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return run()
	}
	o := Outcome{Statement: s, Err: errPanicked}
	defer func() { m.end(ctx, v, o) }()
	var result driver.Result
	result, o.Err = run()
	return result, o.Err
}

// query runs a query within its limits, which may go on until its rows are closed.
func (m *Middleware) query(ctx context.Context, s Statement, run func() (driver.Rows, error)) (driver.Rows, error) {
	v, err := m.begin(ctx, s)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return run()
	}
	o, open := Outcome{Statement: s, Err: errPanicked}, false
	defer func() {
		if !open {
			m.end(ctx, v, o)
		}
	}()
	var in driver.Rows
	in, o.Err = run()
	if o.Err != nil || m.follows&(1<<s.Class) == 0 {
		return in, o.Err
	}
	open = true
	return wrapRows(&rows{Rows: in, m: m, visit: v, statement: s}), nil
}

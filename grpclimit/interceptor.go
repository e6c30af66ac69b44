package grpclimit

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/admit"
)

// Interceptor limits calls. Its methods are interceptors for a server or a client, which share its limits. It is immutable, and safe for
// concurrent use.
type Interceptor struct {
	config  Config
	rules   []rule
	settles bool // some limit has to know how calls end
	gate    *admit.Gate
}

// New limits calls by one limiter. It panics if l or key is nil.
func New(l *limitgate.Limiter, key Key) *Interceptor {
	in, err := NewWith(Config{Limits: []Limit{{Limiter: l, Key: key}}})
	if err != nil {
		panic("grpclimit.New: " + err.Error())
	}
	return in
}

// NewWith limits calls by a Config. It fails if that is not valid.
func NewWith(c Config) (*Interceptor, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Limits = append([]Limit(nil), c.Limits...)
	in := &Interceptor{config: c, rules: make([]rule, len(c.Limits))}
	limiters := make([]*limitgate.Limiter, len(c.Limits))
	for i := range c.Limits {
		in.rules[i], limiters[i] = newRule(&c.Limits[i]), c.Limits[i].Limiter
		in.settles = in.settles || c.Limits[i].Counts != nil
	}
	in.gate = admit.New(admit.Config{
		Limiters: limiters, Adaptive: c.Adaptive, DryRun: c.DryRun, FailOpen: c.FailOpen, Wait: c.Wait, Now: c.Now, Sleep: c.Sleep,
	})
	return in, nil
}

// errPanicked is the outcome of a call whose handler did not return.
var errPanicked = status.Error(codes.Internal, "the handler panicked")

// begin asks the limits of a call. The call goes on if there is no error; the visit, if there is one, is then to be ended.
func (in *Interceptor) begin(ctx context.Context, c Call) (v *admit.Visit, f Refusal, err error) {
	if in.config.Skip != nil && in.config.Skip(ctx, c) {
		return nil, f, nil
	}
	v = in.gate.Visit()
	for i := range in.rules {
		r := &in.rules[i]
		if !r.covers(c.Method) {
			continue
		}
		cost := limitgate.Cost(1)
		if r.Cost != nil {
			cost = r.Cost(ctx, c)
		}
		v.Count(i, r.Key(ctx, c, v.Key()), cost)
	}
	a := v.Ask(ctx)
	in.observe(ctx, c, v, &a)
	if !a.Refused {
		return v, f, nil
	}
	in.end(ctx, v, Outcome{Call: c}, false)
	f.Err = a.Err
	f.Limit, f.Says = in.says(a.Limit)
	if a.Left {
		return nil, f, status.FromContextError(cmp.Or(ctx.Err(), a.Err)).Err() // a wait may break off for a reason of its own
	}
	f.RetryAfter = a.RetryAfter()
	if in.config.Refuse != nil {
		err = in.config.Refuse(ctx, c, f)
	}
	if err == nil {
		err = f.Status().Err()
	}
	return nil, f, err
}

// says gives the name of the limit that an answer is from, and what it allows.
func (in *Interceptor) says(limit int) (name, allows string) {
	switch {
	case limit >= 0:
		return in.rules[limit].Name, in.rules[limit].says
	case limit == admit.Adaptive:
		return admit.NameAdaptive, admit.SaysAdaptive
	}
	return "", ""
}

// observe tells what was decided.
func (in *Interceptor) observe(ctx context.Context, c Call, v *admit.Visit, a *admit.Answer) {
	if in.config.Observe == nil {
		return
	}
	e := Event{Verdict: a.Verdict, DryRun: in.config.DryRun, Err: a.Err}
	e.Limit, _ = in.says(a.Limit)
	told := false
	defer func() {
		if !told { // it panicked, and so the call does not go on
			_ = v.Cancel(ctx)
		}
	}()
	in.config.Observe(ctx, c, e)
	told = true
}

// end gives back what a call held, and what it was charged by limits for which it does not count.
func (in *Interceptor) end(ctx context.Context, v *admit.Visit, o Outcome, settle bool) {
	var err error
	defer func() {
		if err = errors.Join(err, v.End(ctx)); err != nil && in.config.Observe != nil {
			in.config.Observe(ctx, o.Call, Event{Verdict: limitgate.Verdict{Leg: -1}, DryRun: in.config.DryRun, Err: err})
		}
	}()
	if settle {
		v.Learn(ended(ctx, o))
	}
	if settle && in.settles {
		err = in.settle(ctx, v, o, 0)
	}
}

// settle gives back what the call was charged by limits from one on for which it does not count. Where a function of the caller's panics,
// the limits behind it are settled all the same.
func (in *Interceptor) settle(ctx context.Context, v *admit.Visit, o Outcome, from int) (err error) {
	i := from
	defer func() {
		if i < len(in.rules) {
			_ = in.settle(ctx, v, o, i+1) // the panic is what is told
		}
	}()
	for ; i < len(in.rules); i++ {
		if counts := in.rules[i].Counts; counts != nil && v.Charged(i) && !counts(o) {
			err = errors.Join(err, v.GiveBack(ctx, i))
		}
	}
	return err
}

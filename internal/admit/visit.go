package admit

import (
	"context"
	"errors"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// Visit is one piece of work: whom each limit counts it for, and what it was charged and holds. Its memory is the gate's.
type Visit struct {
	gate     *Gate
	keys     []byte
	requests side
	conns    side
	places   []limitgate.Place
	ticket   adaptive.Ticket
	at       limitgate.Time // when the limits of requests were asked
	known    bool           // they have said something
	charged  bool           // they have charged the work, and not all of it is given back
	calm     detached
}

// keptKeys is how much memory for keys a visit leaves to the next one: long keys are rare, and would stay for good.
const keptKeys = 4 << 10

// side are the limits of one sort that count the work.
type side struct {
	legs  []limitgate.Leg
	spans []span
}

// span is the limit of a leg, and where its key lies.
type span struct{ limit, from, to int }

// detached is a context that has ended for nobody: what was begun is given back also when the caller has left.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// Key is the memory that the next key is appended to, which may hold others.
func (v *Visit) Key() []byte { return v.keys }

// Count has a limit count the work for what was appended to Key, at a cost, which limits of places have none of. If nothing was
// appended or the cost is below 1, the limit takes no part. It tells whether it does.
func (v *Visit) Count(limit int, key []byte, cost limitgate.Cost) bool {
	from := len(v.keys)
	if len(key) <= from || cost < 1 { // who has nothing to append may well give nothing at all
		return false
	}
	v.keys = key
	s := &v.requests
	if v.gate.conns[limit] {
		s = &v.conns
	}
	s.legs = append(s.legs, limitgate.Leg{Limiter: v.gate.config.Limiters[limit], Cost: cost})
	s.spans = append(s.spans, span{limit, from, len(key)})
	return true
}

// Ask decides: it returns when the work goes on, or does not.
func (v *Visit) Ask(ctx context.Context) (a Answer) {
	g := v.gate
	now := g.config.Now()
	end := v.end(ctx, now)
	v.requests.name(v.keys)
	v.conns.name(v.keys)
	a.Leg, a.Limit = -1, -1
	if len(v.requests.legs) > 0 {
		v.ask(ctx, now, &a)
		if a.Delay() > 0 && !a.Refused && !g.config.DryRun {
			now = v.wait(ctx, now, end, &a)
		}
		if a.Refused {
			return a
		}
	}
	if len(v.conns.legs) > 0 {
		a = v.hold(ctx, now, end, a)
	}
	if g.config.Adaptive != nil && !a.Refused {
		a = v.enter(ctx, now, a)
	}
	return a
}

// end is the time until which the work can wait.
func (v *Visit) end(ctx context.Context, now limitgate.Time) limitgate.Time {
	end := limitgate.Never
	if w := v.gate.config.Wait; w > 0 {
		end = after(now, w)
	}
	if t, ok := ctx.Deadline(); ok {
		end = min(end, after(now, time.Until(t)))
	}
	return end
}

// after is now.Add(d), at most the end of time.
func after(now limitgate.Time, d time.Duration) limitgate.Time {
	if d > 0 && now > limitgate.Never-limitgate.Time(d) {
		return limitgate.Never
	}
	return now.Add(d)
}

// name sets the keys of the legs, now that their memory moves no more.
func (s *side) name(keys []byte) {
	for i := range s.legs {
		s.legs[i].Key = limitgate.BytesKey(keys[s.spans[i].from:s.spans[i].to])
	}
}

// ask asks the limits of requests. An answer is as large as a dozen words: it is written where it is wanted.
func (v *Visit) ask(ctx context.Context, now limitgate.Time, a *Answer) {
	a.Verdict, a.Err = limitgate.All(ctx, now, v.requests.legs)
	v.at, v.known, v.charged = now, a.Err == nil, a.Err == nil && a.Admitted()
	v.judge(a, &v.requests)
}

// judge says whether the work goes on after what the limits of s have said.
func (v *Visit) judge(a *Answer, s *side) {
	c := &v.gate.config
	if a.Leg >= 0 {
		a.Limit = s.spans[a.Leg].limit
	}
	a.Refused = !c.DryRun && !a.Admitted()
	if a.Err != nil && c.FailOpen {
		a.Refused = false
	}
}

// wait waits for the turn that a promises, and tells when it woke up. Work that can't wait gives back what it was charged, and is told
// what became of it.
func (v *Visit) wait(ctx context.Context, now, end limitgate.Time, a *Answer) limitgate.Time {
	d := a.Delay()
	if late := d - end.Sub(now); late > 0 {
		a.Refused, a.Outcome, a.Wait = true, limitgate.Rejected, late
		a.Err = v.leave(ctx)
		return now
	}
	woke, err := v.gate.config.Sleep(ctx, now, d)
	if err != nil {
		a.Refused, a.Left = true, true
		a.Err = errors.Join(err, v.leave(ctx))
	}
	return woke
}

// hold takes the places. If there are none, what the limits of requests were charged is given back.
func (v *Visit) hold(ctx context.Context, now, end limitgate.Time, before Answer) Answer {
	if n := len(v.conns.legs); cap(v.places) < n {
		v.places = make([]limitgate.Place, n)
	}
	v.places = v.places[:len(v.conns.legs)]
	a := v.acquire(ctx, now, end)
	switch {
	case before.Limit >= 0 && before.Err == nil && !before.Admitted(): // a dry run, which what refuses first is told of
		before.Err = a.Err
		return before
	case a.Refused || a.Err == nil && !a.Admitted():
		if err := v.refund(ctx); err != nil {
			a.Err = errors.Join(a.Err, err)
		}
	case before.Err != nil:
		a.Err = errors.Join(before.Err, a.Err)
	case a.Err == nil && before.Leg >= 0 && before.tighter(&a):
		return before
	}
	return a
}

// tighter tells which of two answers says more: the one that waited longer, or leaves less.
func (a *Answer) tighter(b *Answer) bool {
	return a.Delay() > b.Delay() || a.Delay() == b.Delay() && a.Remaining < b.Remaining
}

// leave gives back the turn that the work was promised, and all else that it was charged.
func (v *Visit) leave(ctx context.Context) error {
	v.calm.Context, v.charged = ctx, false
	return limitgate.LeaveAll(&v.calm, v.gate.config.Now(), v.requests.legs)
}

// refund gives back all that the limits of requests were charged.
func (v *Visit) refund(ctx context.Context) error {
	v.calm.Context, v.charged = ctx, false
	return limitgate.RefundAll(&v.calm, v.gate.config.Now(), v.requests.legs)
}

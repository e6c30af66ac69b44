package limitgate

import (
	"context"
	"fmt"
	"time"
)

// promiser is implemented by steps that delay requests: it gives the steps of those that wait for their turn, whose Undo
// keeps what was promised to others. nil: nobody is promised a turn.
type promiser interface{ promises() Steps }

// Sleep waits for d, which begins at now, and tells when it ended; if ctx is done first, with ctx's error. Wait uses
// this one, on a timer; a simulation brings its own.
func Sleep(ctx context.Context, now Time, d time.Duration) (Time, error) {
	begin := time.Now()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return now.Add(max(time.Since(begin), d)), nil
	case <-ctx.Done():
		return now.Add(time.Since(begin)), fmt.Errorf("waiting for a turn: %w", context.Cause(ctx))
	}
}

// Wait is WaitAt now, for a request of cost 1, with Sleep.
func (l *Limiter) Wait(ctx context.Context, key string) (Decision, error) {
	return l.WaitAt(ctx, Now(), key, 1, Sleep)
}

// WaitAt returns when it is the request's turn: at once, or after sleep.
//
// A limit that delays (Req, Pace, Token with a Queue) promises a turn, in order of asking, and charges it. A refusal is
// returned as it is: the queue is full. If ctx ends the sleep, or would before the turn, WaitAt gives back what no
// later grant was promised after it, and returns ctx's error. Other limits promise nothing: while one refuses, and there is
// a time after which it would not, WaitAt sleeps for that long and asks again.
//
// The Delay of the decision is all the time that was waited. It fails like TakeAt, and charges nothing then.
func (l *Limiter) WaitAt(ctx context.Context, now Time, key string, cost Cost,
	sleep func(ctx context.Context, now Time, d time.Duration) (Time, error)) (Decision, error) {
	if err := l.fits(cost); err != nil {
		return undecided(), err
	}
	limit, begin := &l.limit, now
	if l.turns != nil {
		limit = l.turns
	}
	for {
		d, c, err := l.zone.Do(ctx, now, limit, key, cost, Take)
		if err != nil {
			return undecided(), err
		}
		pause := d.Delay()
		if d.Outcome == Rejected {
			if pause = d.RetryAfter(); l.turns != nil || pause == 0 {
				return d, nil
			}
		}
		woke := now
		if pause > 0 {
			if woke, err = until(ctx, now, pause, sleep); err != nil {
				if e := l.refund(context.WithoutCancel(ctx), woke, limit, key, c); e != nil {
					err = fmt.Errorf("giving back a turn: %w, after %w", e, err)
				}
				return undecided(), err
			}
		}
		if d.Outcome != Rejected {
			if d = d.until(woke.Sub(begin)); d.wait() > 0 {
				d.Outcome = Delayed
			}
			return d, nil
		}
		now = max(woke, now.Add(pause))
	}
}

// until sleeps, unless ctx would end it.
func until(ctx context.Context, now Time, d time.Duration, sleep func(context.Context, Time, time.Duration) (Time, error)) (Time, error) {
	if err := ctx.Err(); err != nil {
		return now, fmt.Errorf("waiting for a turn: %w", context.Cause(ctx))
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return now, fmt.Errorf("waiting for a turn in %v: %w", d, context.DeadlineExceeded)
	}
	return sleep(ctx, now, d)
}

package admit

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limitgate/limitgate"
)

// queues are who waits for places: one queue for each limit and key that has nobody but waiting work to offer. The first of a
// queue asks for the place when one was given back here, and now and then, because others may give theirs back elsewhere: another
// gate on the same zone, another process.
type queues struct {
	some atomic.Int64 // how many wait in all queues

	mu      sync.Mutex // guards what follows
	waiting map[string][]*waiter
}

// waiter is one piece of work in one queue.
type waiter struct {
	name string
	turn chan struct{} // 1: it has become the first, or a place was given back
}

// again is how long the first of a queue sleeps before it asks without having been told to.
const again = 10 * time.Millisecond

// name tells the queue of a leg from others.
func (v *Visit) name(leg int) string {
	return string(append([]byte{byte(v.conns.spans[leg].limit)}, v.conns.legs[leg].Key...))
}

// join queues up for the place of a leg.
func (q *queues) join(name string) *waiter {
	w := &waiter{name: name, turn: make(chan struct{}, 1)}
	q.some.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[string][]*waiter{}
	}
	q.waiting[name] = append(q.waiting[name], w)
	return w
}

// leave takes w out of its queue, and tells who is first now.
func (q *queues) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.some.Add(-1)
	line := q.waiting[w.name]
	for i := range line {
		if line[i] == w {
			line = append(line[:i], line[i+1:]...)
			break
		}
	}
	if len(line) == 0 {
		delete(q.waiting, w.name)
		return
	}
	q.waiting[w.name] = line
	line[0].tell()
}

// first tells whether it is for w to ask.
func (q *queues) first(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting[w.name][0] == w
}

// ahead gives the first leg of v for whose place others wait; -1: there is none.
func (q *queues) ahead(v *Visit) int {
	if q.some.Load() == 0 {
		return -1
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range v.conns.legs {
		if len(q.waiting[v.name(i)]) > 0 {
			return i
		}
	}
	return -1
}

// released tells those who are first that v has given back its places. A waiter joins before it asks and v gives back before it looks
// here, so one of the two sees the other.
func (q *queues) released(v *Visit) {
	if q.some.Load() == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range v.conns.legs {
		if line := q.waiting[v.name(i)]; len(line) > 0 {
			line[0].tell()
		}
	}
}

func (w *waiter) tell() {
	select {
	case w.turn <- struct{}{}:
	default:
	}
}

// take asks for the places once.
func (v *Visit) take(ctx context.Context, now limitgate.Time) Answer {
	a := Answer{Limit: -1}
	a.Verdict, a.Err = limitgate.AcquireAll(ctx, now, v.conns.legs, v.places)
	v.judge(&a, &v.conns)
	return a
}

// acquire takes the places, and waits for them behind those who already do, where the gate has work wait.
func (v *Visit) acquire(ctx context.Context, now, end limitgate.Time) Answer {
	c, leg := &v.gate.config, -1
	if c.Wait > 0 && !c.DryRun {
		leg = v.gate.queues.ahead(v)
	}
	if leg < 0 {
		a := v.take(ctx, now)
		if c.Wait == 0 || c.DryRun || a.Admitted() || a.Err != nil || a.NoRoom() {
			return a
		}
		leg = a.Leg
	}
	return v.queue(ctx, now, end, leg)
}

// queue waits for the place of a leg, and then for what else is missing.
func (v *Visit) queue(ctx context.Context, now, end limitgate.Time, leg int) Answer {
	q, begin, from := &v.gate.queues, now, time.Now()
	w := q.join(v.name(leg))
	defer func() { q.leave(w) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	refused := Answer{Refused: true, Limit: v.conns.spans[leg].limit}
	refused.Leg, refused.Outcome = leg, limitgate.Rejected
	for {
		pause := end.Sub(now)
		if q.first(w) {
			a := v.take(ctx, now)
			if a.Admitted() || a.Err != nil {
				if a.Err == nil && now > begin {
					a.Outcome, a.Wait = limitgate.Delayed, now.Sub(begin)
				}
				return a
			}
			refused = a
			if a.Leg != leg {
				q.leave(w)
				leg = a.Leg
				w = q.join(v.name(leg))
				continue
			}
			pause = min(pause, again)
		}
		if end <= now {
			return refused
		}
		timer.Reset(pause)
		select {
		case <-w.turn:
		case <-timer.C:
		case <-ctx.Done():
			refused.Left = true
			refused.Err = fmt.Errorf("waiting for a place: %w", context.Cause(ctx))
			return refused
		}
		now = begin.Add(time.Since(from))
	}
}

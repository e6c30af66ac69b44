package httplimit

import (
	"context"
	"net/http"
	"slices"

	"github.com/limitgate/limitgate"
)

// Outcome is how a request ended.
type Outcome struct {
	Request *http.Request
	Status  int         // 200 if the handler wrote none, 101 if it took over the connection, 500 if it panicked before it wrote one
	Bytes   int64       // of the body, as the handler wrote it
	Header  http.Header // of the response; a handler can leave something there for Settle, and delete it when it is used
	Panic   bool
}

// Failed counts what did not work out: every status from 400 on, and panics.
func Failed(o Outcome) bool { return o.Status >= 400 || o.Panic }

// StatusIn counts some statuses.
func StatusIn(statuses ...int) func(Outcome) bool {
	return func(o Outcome) bool { return slices.Contains(statuses, o.Status) }
}

// follow runs next, and afterwards settles and gives back places, whatever way it ends.
func (m *Middleware) follow(w http.ResponseWriter, r *http.Request, v *visit, settles bool, next http.Handler) {
	t := &tracker{ResponseWriter: w, places: v.places[:len(v.conns)]}
	returned := false
	defer func() {
		// What is held hangs on the connection once that is taken over.
		if !t.hijacked {
			release(t.places)
		}
		m.leave(r, v, t, returned)
		if settles {
			m.settle(v, Outcome{Request: r, Status: t.end(returned), Bytes: t.bytes, Header: w.Header(), Panic: !returned})
		}
		if !t.hijacked {
			m.done(v)
		}
	}()
	next.ServeHTTP(t.writer(), r)
	returned = true
}

// release gives places back, in the order of their limits.
func release(places []limitgate.Place) {
	for i := range places {
		// A zone that fails to take one back frees it when its time is over. There is nobody to tell.
		_ = places[i].Release(context.Background())
	}
}

// settle gives back what does not count, and takes what a request has cost in the end.
func (m *Middleware) settle(v *visit, o Outcome) {
	ctx := context.Background() // a client that left stops no accounting
	now := m.config.Now()
	for i, l := range v.rules {
		leg := v.legs[i : i+1]
		switch {
		case l.Counts != nil && !l.Counts(o):
			_ = limitgate.RefundAll(ctx, now, leg) // see giveBack
		case l.Settle != nil:
			final := max(l.Settle(o), 0)
			more := final - leg[0].Cost
			if more < 0 {
				_ = limitgate.RefundAll(ctx, now, leg)
				more = final
			}
			spend(ctx, now, l.Limiter, leg[0].Key, more)
		}
	}
}

// spend takes cost, or as much as is left.
func spend(ctx context.Context, now limitgate.Time, l *limitgate.Limiter, key string, cost limitgate.Cost) {
	const tries = 4 // others may be faster: then less is left
	for range tries {
		if cost < 1 {
			return
		}
		d, err := l.TakeAt(ctx, now, key, cost)
		if err != nil || d.Admitted() {
			return
		}
		left, err := l.CheckAt(ctx, now, key, 1)
		if err != nil || !left.Admitted() {
			return
		}
		cost = min(cost, limitgate.Cost(left.Remaining)+1)
	}
}

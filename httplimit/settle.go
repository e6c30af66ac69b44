package httplimit

import (
	"errors"
	"net/http"
	"slices"

	"github.com/limitgate/limitgate/internal/admit"
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
func (m *Middleware) follow(w http.ResponseWriter, r *http.Request, v *admit.Visit, settles bool, next http.Handler) {
	shape, t := wrapTracker(tracker{ResponseWriter: w, middleware: m, request: r, visit: v})
	returned := false
	defer func() { m.leave(v, t, settles, returned) }()
	next.ServeHTTP(shape, r)
	returned = true
}

// leave ends a visit whose handler returned, or panicked.
func (m *Middleware) leave(v *admit.Visit, t *tracker, settles, returned bool) {
	var err error
	defer func() {
		// What is held hangs on the connection once that is taken over. A writer that somebody keeps holds nothing.
		if !t.hijacked {
			t.visit = nil
			err = errors.Join(err, v.End(t.request.Context()))
		}
		m.told(t.request, err)
	}()
	v.Learn(ended(t, returned))
	if settles {
		err = m.settle(v, Outcome{Request: t.request, Status: t.end(returned), Bytes: t.bytes, Header: t.Header(), Panic: !returned}, 0)
	}
}

// settle gives back what does not count, and takes what a request has cost in the end, by all limits from one on. Where a function of the
// caller's panics, the limits behind it are settled all the same.
func (m *Middleware) settle(v *admit.Visit, o Outcome, from int) (err error) {
	i := from
	defer func() {
		if i < len(m.rules) {
			_ = m.settle(v, o, i+1) // the panic is what is told
		}
	}()
	ctx := o.Request.Context()
	for ; i < len(m.rules); i++ {
		switch l := &m.rules[i]; {
		case !v.Charged(i):
		case l.Counts != nil && !l.Counts(o):
			err = errors.Join(err, v.GiveBack(ctx, i))
		case l.Settle != nil:
			err = errors.Join(err, v.Settle(ctx, i, l.Settle(o)))
		}
	}
	return err
}

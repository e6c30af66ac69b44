package shape

import (
	"errors"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// Text is a text with variables in it, evaluated for each request.
type Text interface {
	// Append appends the text's value in r to dst.
	Append(r *request.Request, dst []byte) []byte
}

// Handler is what one scope makes of answers. It is immutable and serves many goroutines.
type Handler struct {
	now   func() limitgate.Time
	steps []step // that the head goes through, in order
	rate  amount
	after amount
	share *bandwidth // nil: none
}

var _ request.Shaper = (*Handler)(nil)

// step is a filter's part in the head.
type step interface {
	// shape changes the head, and puts the body's filter on its way where there is one. The error is request.ErrRefused.
	shape(r *request.Request) error
}

// value is what a directive gives: fixed, or a text with variables.
type value struct {
	fixed []byte
	text  Text // nil: fixed
}

// of returns the value in a request's memory or the configuration's.
func (v *value) of(r *request.Request) []byte {
	if v.text == nil {
		return v.fixed
	}
	return r.Claim(v.text.Append(r, r.Scratch()))
}

// amount is a number of bytes: fixed, or a text with variables.
type amount struct {
	fixed int64
	text  Text // nil: fixed
}

// ErrLeft is what SendBody returns when the client has left while its bytes were held back.
var ErrLeft = errors.New("client left")

// ShapeHead takes the head through the scope's filters.
func (h *Handler) ShapeHead(r *request.Request) error {
	for _, s := range h.steps {
		if err := s.shape(r); err != nil {
			return err
		}
	}
	return nil
}

// plain reports whether an answer with a status gets the fields of expires, and those of add_header and add_trailer without
// always.
func plain(status int) bool {
	switch status {
	case 200, 201, 204, 206, 301, 302, 303, 304, 307, 308:
		return true
	}
	return false
}

// SendBody sends p no faster than the location, or the request itself, allows.
func (h *Handler) SendBody(r *request.Request, p []byte) error {
	pace := &r.Pace
	if !pace.Begun {
		pace.Begun = true
		h.begin(r)
	}
	if pace.Rate == 0 {
		return h.pass(r, p)
	}
	for len(p) > 0 {
		n, wait := take(pace, h.now(), int64(len(p)))
		if n > 0 {
			if err := h.pass(r, p[:n]); err != nil {
				return err
			}
			p = p[n:]
			continue
		}
		if err := h.hold(r, wait); err != nil {
			return err
		}
	}
	return nil
}

// pass sends p, which the response itself may send now, when those it shares its bandwidth with let it.
func (h *Handler) pass(r *request.Request, p []byte) error {
	if h.share == nil || len(r.Pace.Turn.Key) == 0 {
		return r.Stream.SendBody(p)
	}
	return h.share.send(r, p, h.now)
}

// Settle implements request.Shaper.
func (h *Handler) Settle(r *request.Request) {
	if h.share != nil {
		h.share.settle(r, h.now())
	}
}

// hold sends what there is and waits. Only now is it known how much the head and the framing came to, which count as they
// do in nginx; where they were more, the wait is found to be too short and comes again.
func (h *Handler) hold(r *request.Request, wait time.Duration) error {
	if err := r.Stream.Flush(); err != nil {
		return err
	}
	if sent := r.Stream.BytesSent(); sent > r.Pace.Sent {
		count(&r.Pace, sent-r.Pace.Sent)
		return nil
	}
	if !r.Stream.Sleep(wait) {
		return ErrLeft
	}
	return nil
}

// begin reads the rate that holds for a response. From here on $limit_rate is that rate, as in nginx.
func (h *Handler) begin(r *request.Request) {
	if !r.LimitRate.Set {
		r.LimitRate = request.RateSetting{Set: true, BytesPerSec: h.rate.of(r)}
	}
	r.Pace.Rate = r.LimitRate.BytesPerSec
	if r.Pace.Rate > 0 {
		r.Pace.After = h.after.of(r)
	}
	if h.share != nil {
		h.share.begin(r)
	}
}

// of returns the amount for a request; what is no number is 0, as in nginx.
func (a *amount) of(r *request.Request) int64 {
	if a.text == nil {
		return a.fixed
	}
	v := r.Claim(a.text.Append(r, r.Scratch()))
	n, ok := conf.ParseSize(string(v))
	if !ok {
		r.Logf(errorlog.Error, `invalid size "%s"`, v)
		return 0
	}
	return n
}

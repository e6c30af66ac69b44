package shape

import (
	"bytes"
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

// Handler is one scope's add_header, limit_rate and limit_rate_after. It is immutable and serves many goroutines.
type Handler struct {
	now    func() limitgate.Time
	fields []field
	rate   amount
	after  amount
}

var _ request.Shaper = (*Handler)(nil)

// field is one add_header.
type field struct {
	name    []byte
	fixed   []byte
	text    Text // nil: fixed
	always  bool
	replace bool // the field may be there once: the one that is there gives way
}

// amount is a number of bytes: fixed, or a text with variables.
type amount struct {
	fixed int64
	text  Text // nil: fixed
}

// ErrLeft is what SendBody returns when the client has left while its bytes were held back.
var ErrLeft = errors.New("client left")

// ShapeHead adds the location's fields to the head.
func (h *Handler) ShapeHead(r *request.Request) error {
	for i := range h.fields {
		f := &h.fields[i]
		if !f.always && !adds(r.Response.Status) {
			continue
		}
		v := f.fixed
		if f.text != nil {
			v = oneLine(r.Claim(f.text.Append(r, r.Scratch())))
		}
		if f.replace {
			remove(&r.Response, f.name)
		}
		if len(v) > 0 {
			r.AddHeader(f.name, v)
		}
	}
	return nil
}

// adds reports whether fields without always are added to an answer with a status.
func adds(status int) bool {
	switch status {
	case 200, 201, 204, 206, 301, 302, 303, 304, 307, 308:
		return true
	}
	return false
}

// oneLine keeps a value on one line, whatever a client put into a variable: nginx would let it add fields of its own.
func oneLine(v []byte) []byte {
	for i, c := range v {
		if c == '\r' || c == '\n' || c == 0 {
			v[i] = ' '
		}
	}
	return v
}

// remove takes a field out of a head.
func remove(out *request.Response, name []byte) {
	kept := out.Headers[:0]
	for _, h := range out.Headers {
		if !bytes.EqualFold(h.Name, name) {
			kept = append(kept, h)
		}
	}
	out.Headers = kept
}

// SendBody sends p no faster than the location, or the request itself, allows.
func (h *Handler) SendBody(r *request.Request, p []byte) error {
	pace := &r.Pace
	if !pace.Begun {
		pace.Begun = true
		h.begin(r)
	}
	if pace.Rate == 0 {
		return r.Stream.SendBody(p)
	}
	for len(p) > 0 {
		n, wait := take(pace, h.now(), int64(len(p)))
		if n > 0 {
			if err := r.Stream.SendBody(p[:n]); err != nil {
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

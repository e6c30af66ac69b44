package upstream

import (
	"errors"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// gather reads the request's body before the upstream is asked. Where it is to be streamed only what is here with the head is
// taken, and the rest is pumped.
func (x *exchange) gather() (phase.Next, bool) {
	r := x.r
	b := &r.Body
	if x.h.streams(r) && !b.Begun {
		whole, err := r.TakeBody()
		if err != nil {
			return x.bodyFault(err), false
		}
		x.more = !whole
	} else if err := r.KeepBody(); err != nil {
		return x.bodyFault(err), false
	}
	if x.h.body != nil {
		x.body = x.h.body.Append(r, x.body[:0])
	}
	x.stored = !x.h.ownBody() && (b.File != nil || len(b.Bytes) > bodyBuffer)
	return phase.Continue, true
}

// streams reports whether the body goes on as it comes.
func (h *Handler) streams(r *request.Request) bool {
	return h.streaming && !h.ownBody() && r.BodyLength != 0 && (r.BodyLength > 0 || h.http11)
}

// ownBody reports whether the upstream gets another body than the client's. That one is read all the same.
func (h *Handler) ownBody() bool { return h.body != nil || h.dropBody }

// bodyFault answers a request whose body broke.
func (x *exchange) bodyFault(err error) phase.Next {
	r := x.r
	if !x.sent {
		return phase.BodyFault(r, err)
	}
	r.Response.Linger = true
	var b *request.BodyError
	if errors.As(err, &b) {
		if b.Log != "" {
			x.logf(b.Level, "%s%s", b.Log, sending)
		}
		if b.Status == 499 {
			r.Leave(499)
			return phase.Done
		}
		r.Fail(b.Status)
		return phase.Fail
	}
	x.logf(errorlog.Info, "client prematurely closed connection%s", sending)
	r.Leave(499)
	return phase.Done
}

package phase

import (
	"errors"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/request"
)

// BodyFault answers a request whose body could not be read.
func BodyFault(r *request.Request, err error) Next {
	r.Response.Linger = true
	var b *request.BodyError
	if errors.As(err, &b) {
		if b.Log != "" {
			r.Logf(b.Level, "%s", b.Log)
		}
		if b.Status == 499 {
			r.Leave(499)
			return Done
		}
		r.Fail(b.Status)
		return Fail
	}
	r.Logf(errorlog.Info, "client prematurely closed connection")
	r.Leave(400)
	return Done
}

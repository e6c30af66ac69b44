package limit

import (
	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
)

// unavailable is the answer where a limit is fail=closed and its store is out: that is not the client's doing.
const unavailable = 503

// fallback is what the fail= of a limit wants.
func fallback(f conf.Fail) limitgate.Fallback {
	switch f {
	case "open":
		return limitgate.FailOpen
	case "closed":
		return limitgate.FailClosed
	case "local":
		return limitgate.FailLocal
	}
	return limitgate.NoFallback
}

// keepStore notes what decided for a limit that lives in a store: of several limits the one that is furthest from it.
func (m *limit) keepStore(r *request.Request, d limitgate.Decision) {
	if !m.stored {
		return
	}
	s := request.StoreOK
	switch d.Fallback() {
	case limitgate.FailLocal:
		s = request.StoreLocal
	case limitgate.FailOpen:
		s = request.StoreOpen
	case limitgate.FailClosed:
		s = request.StoreClosed
	}
	r.StoreStatus = max(r.StoreStatus, s)
}

// keepStores does so for all limits that were asked together.
func (l *legs) keepStores(r *request.Request) {
	for i := range l.list {
		l.terms[i].of.keepStore(r, l.list[i].Decision)
	}
}

// answer is the status of who is refused.
func (g *group) answer(d limitgate.Decision) int {
	if d.Fallback() == limitgate.FailClosed {
		return unavailable
	}
	return g.status
}

// store finds the limit_store that a zone names. One that is not there was reported when all was known.
func (c *compiler) store(name string) conf.LimitStore {
	for _, d := range c.http.Own("limit_store") {
		if name != "" && d.Arg(0) == name {
			s, _ := conf.ReadLimitStore(d, c.env.Errors)
			return s
		}
	}
	return conf.LimitStore{}
}

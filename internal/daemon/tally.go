package daemon

import (
	"sync/atomic"

	"github.com/limitgate/limitgate/internal/history"
	"github.com/limitgate/limitgate/internal/request"
)

// tally counts requests of all generations. It is striped by connection, so that those of several processors count beside each other.
type tally [16]struct {
	requests, failed, rejected atomic.Int64
	class                      [6]atomic.Uint64 // by the first digit of the status; 0: none was sent
	_                          [56]byte         // to two cache lines of its own
}

// add counts a request that was answered.
func (t *tally) add(r *request.Request) {
	s := &t[r.Conn.Serial%uint64(len(t))]
	s.requests.Add(1)
	class := r.Response.Status / 100
	if class < 0 || class >= len(s.class) {
		class = 0
	}
	s.class[class].Add(1)
	switch {
	case r.ReqStatus == request.LimitRejected, r.ConnStatus == request.LimitRejected,
		r.CountStatus == request.LimitRejected, r.TokenStatus == request.LimitRejected:
		s.rejected.Add(1)
	case r.Response.Status >= 500:
		s.failed.Add(1)
	}
}

// counts adds all up.
func (t *tally) counts() (c history.Counts) {
	for i := range t {
		c.Requests += t[i].requests.Load()
		c.Failed += t[i].failed.Load()
		c.Rejected += t[i].rejected.Load()
	}
	return c
}

// answers adds up the answers by the first digit of their status.
func (t *tally) answers() (n [6]uint64) {
	for i := range t {
		for c := range n {
			n[c] += t[i].class[c].Load()
		}
	}
	return n
}

package decision

import (
	"strconv"

	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/request"
)

// Trusts reports whether the peer of a request may ask for others. Behind a balancer that speaks the PROXY protocol the peer
// is who the balancer says as well.
func (p *Place) Trusts(r *request.Request) bool {
	c := r.Conn
	return p.trusted != nil && p.trusted.Contains(c.PeerAddr.Addr()) &&
		(!c.ProxySource.IsValid() || p.trusted.Contains(c.ProxySource.Addr()))
}

// Ask makes of a request that is a question the one that it asks about, once. It reports false where the question can't be
// answered; the request has failed then.
func (p *Place) Ask(r *request.Request) bool {
	if r.Asked != nil || r.Internal {
		return true
	}
	r.Asked = r.Method
	if !p.Trusts(r) {
		return true
	}
	if r.BodyLength != 0 {
		// Proxies leave bodies out, and some of them not the field that announces one: what comes next on the connection may
		// be the next question.
		r.Response.Close = true
	}
	q, wrong := p.read(r)
	if wrong == (fault{}) && q.target != nil {
		wrong = p.apply(r, &q)
	}
	if wrong == (fault{}) {
		return true
	}
	r.Logf(errorlog.Warn, "limit_decision: the %s of what is asked about %s", wrong.what, wrong.how)
	r.Fail(400)
	return false
}

// Conclude answers a request that failed, where that is not left to the page of its status. What is only sent elsewhere, by
// a return or for its slash, was refused by nobody. With header nothing comes back that nginx's auth_request takes for a
// fault of this service, as long as it is none.
func (p *Place) Conclude(r *request.Request) bool {
	status, refused := r.Response.Status, verdict(r) == request.LimitRejected
	switch {
	case r.Asked == nil || r.ErrStatus != 0: // it could not be read, or an error_page answers
		return false
	case status >= 300 && status < 400 && !refused:
		r.Response.Location = nil
		p.pass(r)
		return true
	case !p.header || !refused && (status < 400 || status > 499 || status == 401):
		return false
	}
	p.tell(r)
	r.AddHeader(nameStatus, r.Claim(strconv.AppendInt(r.Scratch(), int64(status), 10)))
	_ = r.Answer(403, nil, nil) // the client is gone if this fails; the edge knows
	return true
}

// pass says yes.
func (p *Place) pass(r *request.Request) {
	r.SkipsBody = true
	p.tell(r)
	r.Response.Proxied = true   // its conditions are for who has the content
	_ = r.Answer(200, nil, nil) // as above
}

// tell adds the verdict, where a limit was asked and the place tells it.
func (p *Place) tell(r *request.Request) {
	if v := verdict(r); p.header && v != request.LimitUnset {
		r.AddHeader(nameVerdict, verdicts[v])
	}
}

var (
	methodGet   = []byte("GET")
	nameVerdict = []byte("X-Limit-Verdict")
	nameStatus  = []byte("X-Limit-Status")
	verdicts    = [...][]byte{
		request.LimitPassed: []byte("PASSED"), request.LimitDelayed: []byte("DELAYED"), request.LimitRejected: []byte("REJECTED"),
		request.LimitDelayedDryRun: []byte("DELAYED_DRY_RUN"), request.LimitRejectedDryRun: []byte("REJECTED_DRY_RUN"),
	}
)

// gravity orders what limits say of a request: what was done to it comes before what would have been.
var gravity = [...]int{
	request.LimitUnset: 0, request.LimitPassed: 1, request.LimitDelayedDryRun: 2, request.LimitRejectedDryRun: 3, request.LimitDelayed: 4,
	request.LimitRejected: 5,
}

// verdict is the gravest that limits said of a request.
func verdict(r *request.Request) request.LimitStatus {
	v := r.ReqStatus
	for _, other := range [...]request.LimitStatus{r.CountStatus, r.TokenStatus} {
		if gravity[other] > gravity[v] {
			v = other
		}
	}
	return v
}

// content is the place's content.
type content struct {
	*Place
	rest phase.Handler
}

var _ phase.Handler = (*content)(nil)

// Serve says yes; behind an error it leaves the answer to the handler that has its page.
func (c *content) Serve(r *request.Request) phase.Next {
	if r.IsSub() && c.rest != nil { // an access check asks: what it asks is not here
		return c.rest.Serve(r)
	}
	if r.ErrStatus == 0 || c.rest == nil {
		c.pass(r)
		return phase.Done
	}
	if r.Asked != nil { // the page is for who asks; error_page went by the method of what was asked about
		if r.Method = methodGet; string(r.Asked) == "HEAD" {
			r.Method = r.Asked
		}
	}
	return c.rest.Serve(r)
}

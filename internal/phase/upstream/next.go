package upstream

import (
	"time"

	"github.com/limitgate/limitgate"
)

// conditions are ways in which an attempt can fail, as proxy_next_upstream names them.
type conditions uint16

const (
	onError conditions = 1 << iota
	onTimeout
	onInvalidHeader
	onNonIdempotent // together with another one: the request may have reached a peer and must not reach two
	on403
	on404
	on429
	on500
	on502
	on503
	on504
)

// conditionOf returns what a word of proxy_next_upstream stands for; off and updating stand for none.
func conditionOf(word string) conditions {
	switch word {
	case "error":
		return onError
	case "timeout":
		return onTimeout
	case "invalid_header":
		return onInvalidHeader
	case "non_idempotent":
		return onNonIdempotent
	case "http_403":
		return on403
	case "http_404":
		return on404
	case "http_429":
		return on429
	case "http_500":
		return on500
	case "http_502":
		return on502
	case "http_503":
		return on503
	case "http_504":
		return on504
	}
	return 0
}

// conditionOfStatus returns the condition that an answer's status is, or 0.
func conditionOfStatus(status int) conditions {
	switch status {
	case 403:
		return on403
	case 404:
		return on404
	case 429:
		return on429
	case 500:
		return on500
	case 502:
		return on502
	case 503:
		return on503
	case 504:
		return on504
	}
	return 0
}

// retry is when a request goes on to another peer, and how often.
type retry struct {
	on      conditions
	tries   int           // 0: as many as there are peers
	timeout time.Duration // 0: for ever
}

// goesOn reports whether the request may be sent to another peer after a failure (ngx_http_upstream_next).
func (x *exchange) goesOn(c conditions) bool {
	t := &x.h.retry
	if x.sent && !x.repeatable() {
		c |= onNonIdempotent
	}
	if t.on&c != c || x.sent && x.more {
		return false
	}
	return t.timeout == 0 || x.set.now()-x.first < limitgate.Time(t.timeout)
}

// refused returns the fault of an answer whose status sends the request on to another peer, where there is one
// (ngx_http_upstream_test_next).
func (x *exchange) refused() *fault {
	if x.resp.Status < 300 {
		return nil
	}
	c := conditionOfStatus(x.resp.Status)
	if c == 0 || x.choice.tries < 2 || !x.goesOn(c) {
		return nil
	}
	return &fault{kind: faultStatus, status: x.resp.Status}
}

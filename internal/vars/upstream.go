package vars

import (
	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// upstreamVars tell how upstreams were asked. A request that asked several has several values, in order.
var upstreamVars = map[string]Variable{
	"upstream_addr": eachAttempt(func(a *request.Attempt, dst []byte) []byte { return append(dst, a.Addr...) }),
	"upstream_status": eachAttempt(func(a *request.Attempt, dst []byte) []byte {
		if a.Status == 0 {
			return append(dst, '-')
		}
		dst, _ = appendInt(dst, int64(a.Status))
		return dst
	}),
	"upstream_connect_time":    eachAttempt(func(a *request.Attempt, dst []byte) []byte { return appendReached(dst, a.Connect) }),
	"upstream_header_time":     eachAttempt(func(a *request.Attempt, dst []byte) []byte { return appendReached(dst, a.Header) }),
	"upstream_response_time":   eachAttempt(func(a *request.Attempt, dst []byte) []byte { return appendReached(dst, a.Response) }),
	"upstream_bytes_sent":      eachCount(func(a *request.Attempt) int64 { return a.Sent }),
	"upstream_bytes_received":  eachCount(func(a *request.Attempt) int64 { return a.Received }),
	"upstream_response_length": eachCount(func(a *request.Attempt) int64 { return a.Length }),
	"upstream_cache_status":    none, // there is no cache that could have answered
	"proxy_host": func(r *request.Request, dst []byte) ([]byte, bool) {
		return append(dst, r.ProxyHost...), r.ProxyHost != nil
	},
	"proxy_port": func(r *request.Request, dst []byte) ([]byte, bool) {
		return append(dst, r.ProxyPort...), r.ProxyPort != nil
	},
	"proxy_add_x_forwarded_for": func(r *request.Request, dst []byte) ([]byte, bool) {
		dst, found := appendJoined(dst, r, header.XForwardedFor, ", ")
		if found {
			dst = append(dst, ", "...)
		}
		return request.AppendAddr(dst, r.ClientAddr.Addr()), true
	},
}

// eachAttempt is a list over the attempts: a comma between peers, a colon between upstreams.
func eachAttempt(one func(*request.Attempt, []byte) []byte) Variable {
	return func(r *request.Request, dst []byte) ([]byte, bool) {
		first := true
		for i := range r.Attempts {
			a := &r.Attempts[i]
			if a.Addr == nil {
				dst, first = append(dst, " : "...), true
				continue
			}
			if !first {
				dst = append(dst, ", "...)
			}
			dst, first = one(a, dst), false
		}
		return dst, len(r.Attempts) > 0
	}
}

func eachCount(pick func(*request.Attempt) int64) Variable {
	return eachAttempt(func(a *request.Attempt, dst []byte) []byte {
		dst, _ = appendInt(dst, pick(a))
		return dst
	})
}

// appendReached appends the time a step took, or "-" where the attempt did not get that far.
func appendReached(dst []byte, ns int64) []byte {
	if ns < 0 {
		return append(dst, '-')
	}
	return appendMillis(dst, ns)
}

package retry

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
)

// Config is all that a Transport can do.
type Config struct {
	// Next sends the requests; nil: http.DefaultTransport. An answer that is dropped and does not end is closed while it is read, which
	// those of http.Transport allow.
	Next http.RoundTripper

	Policy Policy

	// Observe is told of each attempt that failed, with its answer or error, before the next; nil: nobody is. The answer's body is
	// not for reading.
	Observe func(r *http.Request, e Event, answer *http.Response, err error)
}

// Validate says what is wrong with c.
func (c Config) Validate() error { return c.Policy.Validate() }

// Transport sends requests, and those that were refused again. It is an http.RoundTripper, immutable, and safe for concurrent use.
type Transport struct {
	next    http.RoundTripper
	policy  Policy
	observe func(r *http.Request, e Event, answer *http.Response, err error)
}

var _ http.RoundTripper = (*Transport)(nil)

// New makes a Transport of the zero Policy, with a budget of its own. next sends the requests; nil: http.DefaultTransport.
func New(next http.RoundTripper) *Transport {
	t, err := NewWith(Config{Next: next})
	if err != nil {
		panic("retry.New: the zero Policy: " + err.Error())
	}
	return t
}

// NewWith makes a Transport of a Config. It fails if that is not valid.
func NewWith(c Config) (*Transport, error) {
	p, err := c.Policy.Compile()
	if err != nil {
		return nil, err
	}
	if c.Next == nil {
		c.Next = http.DefaultTransport
	}
	return &Transport{next: c.Next, policy: p, observe: c.Observe}, nil
}

// RoundTrip sends r, again if need be, and gives the last answer or error as it came. The request is not changed, and further attempts
// have the body that r.GetBody gives.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, attempt := r.Context(), r
	course := t.policy.Begin()
	for {
		answer, err := t.next.RoundTrip(attempt)
		if err == nil && !passing(answer.StatusCode) {
			return answer, nil
		}
		e := course.Failed(ctx, judge(r, answer, err, t.policy.Now()))
		if t.observe != nil {
			t.observe(r, e, answer, err)
		}
		if e.Stop != None {
			return answer, err
		}
		if answer != nil {
			drop(answer)
		}
		if err := course.Wait(ctx); err != nil {
			return nil, err
		}
		if attempt, err = again(ctx, r); err != nil {
			return nil, err
		}
	}
}

// passing tells of statuses that another attempt may not meet.
func passing(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// judge says how an attempt failed.
func judge(r *http.Request, answer *http.Response, err error, now limitgate.Time) Failure {
	f := Failure{Passing: true}
	replayable := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
	if err != nil {
		// A deadline that is not the context's, which Failed looks at, is one of the transport's own, and may be kept the next time.
		var bad *tls.CertificateVerificationError
		var op *net.OpError
		f.Passing = !errors.As(err, &bad) && !errors.Is(err, context.Canceled)
		unsent := errors.As(err, &op) && op.Op == "dial"
		f.Safe = replayable && (unsent || idempotent(r))
		return f
	}
	f.Hint, f.Hinted = after(answer.Header, now)
	refused := answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable && f.Hinted
	f.Safe = replayable && (refused || idempotent(r))
	return f
}

// idempotent tells of requests that may be worked on twice.
func idempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return len(r.Header["Idempotency-Key"]) > 0
}

// after reads Retry-After: of several lines the longest, so that none is broken.
func after(h http.Header, now limitgate.Time) (hint time.Duration, hinted bool) {
	for _, line := range h["Retry-After"] {
		if d, ok := wait(strings.TrimSpace(line), h.Get("Date"), now); ok {
			hint, hinted = max(hint, d), true
		}
	}
	return hint, hinted
}

// wait reads seconds, or a date, which is read against the answer's own, so that no two clocks have to agree.
func wait(text, date string, now limitgate.Time) (time.Duration, bool) {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(n, uint64(longest/time.Second))) * time.Second, true
	} else if errors.Is(err, strconv.ErrRange) && strings.Trim(text, "0123456789") == "" {
		return longest, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(date)
	if err != nil {
		from = time.Unix(0, int64(now))
	}
	return min(max(at.Sub(from), 0), longest), true // Sub has no year that is too far
}

// most is how much of a dropped answer is read so that its connection can be used again, and soon in which time: a server that does
// not end its refusals must not hold up who would have had them at once.
const (
	most = 64 << 10
	soon = 100 * time.Millisecond
)

// drop reads what is left of an answer, if that is not much and there soon, and closes it. One that the transport unpacks it only closes:
// that can't be done while it is read.
func drop(answer *http.Response) {
	body := answer.Body
	if !answer.Uncompressed {
		// None of the errors says anything of the next attempt.
		stop := time.AfterFunc(soon, func() { _ = body.Close() }) // the timer's goroutine ends with the close
		_, _ = io.CopyN(io.Discard, body, most)
		stop.Stop()
	}
	_ = body.Close()
}

// again is r with a body that was not read.
func again(ctx context.Context, r *http.Request) (*http.Request, error) {
	next := r.WithContext(ctx)
	if r.GetBody == nil {
		return next, nil
	}
	var err error
	if next.Body, err = r.GetBody(); err != nil {
		return nil, err
	}
	return next, nil
}

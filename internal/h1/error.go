package h1

import (
	"errors"
	"fmt"
)

// Error says why bytes were refused, in nginx's words, and what nginx answers.
type Error struct {
	// Status is the answer: 400, 405, 414, 494 (sent as 400 with its own page), 501 or 505 for a request, 502 for an
	// upstream's response.
	Status int
	// Message is the log line's text, complete with what was read when: `client sent invalid method while reading client
	// request line`. Requests are logged at info, responses at error.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// What nginx was doing, as its log context puts it behind a message (ngx_http_log_error).
const (
	readingLine     = " while reading client request line"
	readingHeaders  = " while reading client request headers"
	readingUpstream = " while reading response header from upstream"
)

func lineError(status int, msg string) error {
	return &Error{Status: status, Message: msg + readingLine}
}

func headError(status int, format string, args ...any) error {
	return &Error{Status: status, Message: fmt.Sprintf(format, args...) + readingHeaders}
}

func upstreamError(format string, args ...any) error {
	return &Error{Status: 502, Message: fmt.Sprintf(format, args...) + readingUpstream}
}

// Status returns what to answer for an error of this package, 0 for any other.
func Status(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

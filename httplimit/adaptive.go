package httplimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/limitgate/limitgate/adaptive"
)

// ended is what the limit that finds itself learns from how a request ended.
func ended(t *tracker, returned bool) adaptive.Outcome {
	left := t.request.Context().Err()
	switch status := t.end(returned); {
	case t.hijacked || !returned:
		return adaptive.Ignored
	case errors.Is(left, context.Canceled):
		return adaptive.Left
	case left != nil, status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout:
		return adaptive.Dropped
	case status == http.StatusTooManyRequests: // of a limit further in: nothing was worked on
		return adaptive.Ignored
	}
	return adaptive.Answered
}

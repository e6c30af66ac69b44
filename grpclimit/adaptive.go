package grpclimit

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/adaptive"
)

// ended is what the limit that finds itself learns from how a call ended.
func ended(ctx context.Context, o Outcome) adaptive.Outcome {
	left, code := ctx.Err(), status.Code(o.Err)
	if code == codes.Unknown {
		code = status.FromContextError(o.Err).Code() // as a server of gRPC answers it
	}
	switch {
	case errors.Is(o.Err, errPanicked):
		return adaptive.Ignored
	case errors.Is(left, context.Canceled), code == codes.Canceled:
		if o.Stream {
			return adaptive.Ignored // a stream is left when it has told enough
		}
		return adaptive.Left
	case left != nil, code == codes.Unavailable, code == codes.DeadlineExceeded, code == codes.ResourceExhausted && o.Client:
		return adaptive.Dropped
	case o.Stream, code == codes.ResourceExhausted: // on a server that is a limit further in: nothing was worked on
		return adaptive.Ignored
	}
	return adaptive.Answered
}

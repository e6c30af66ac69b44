// Package grpcretry is the client's half of a limit in gRPC: an interceptor that calls again what was refused, when the server says. It
// stands between a client and its connection, on the policy of package retry. Streams it leaves alone: what was sent on them can't be
// had again.
//
//	retry := grpcretry.New()
//	grpc.NewClient(target, grpc.WithUnaryInterceptor(retry.UnaryClient))
//
// RESOURCE_EXHAUSTED is called again if the server says that a limit was the reason, by google.rpc.RetryInfo or QuotaFailure: the same
// code is that of a message which is too large. UNAVAILABLE may come after the call was worked on, so it is called again if RetryInfo is
// with it or the method is named as idempotent. No other code is.
package grpcretry

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/retry"
)

// Config is all that an Interceptor can do.
type Config struct {
	Policy retry.Policy

	// Idempotent tells of methods ("/package.Service/Method") that may be worked on twice; nil: none.
	Idempotent func(method string) bool

	// Observe is told of each attempt that failed, before the next; nil: nobody is.
	Observe func(ctx context.Context, method string, e retry.Event, err error)
}

// Validate says what is wrong with c.
func (c Config) Validate() error { return c.Policy.Validate() }

// Interceptor calls again. It is immutable, and safe for concurrent use.
type Interceptor struct{ config Config }

var _ grpc.UnaryClientInterceptor = (*Interceptor)(nil).UnaryClient

// New makes an Interceptor of the zero Policy, with a budget of its own.
func New() *Interceptor {
	in, err := NewWith(Config{})
	if err != nil {
		panic("grpcretry.New: the zero Policy: " + err.Error())
	}
	return in
}

// NewWith makes an Interceptor of a Config. It fails if that is not valid.
func NewWith(c Config) (*Interceptor, error) {
	var err error
	if c.Policy, err = c.Policy.Compile(); err != nil {
		return nil, err
	}
	return &Interceptor{config: c}, nil
}

// UnaryClient is the interceptor of a client's unary calls. The last error is the caller's, as it came.
func (in *Interceptor) UnaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	course := in.config.Policy.Begin()
	for {
		err := invoker(ctx, method, req, reply, cc, opts...)
		if err == nil {
			return nil
		}
		e := course.Failed(ctx, in.judge(method, err))
		if in.config.Observe != nil {
			in.config.Observe(ctx, method, e, err)
		}
		if e.Stop != retry.None {
			return err
		}
		if course.Wait(ctx) != nil {
			if ctx.Err() == nil { // Policy.Sleep would not: the call has failed all the same
				return err
			}
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// judge says how a call failed.
func (in *Interceptor) judge(method string, err error) retry.Failure {
	s := status.Convert(err)
	code := s.Code()
	if code != codes.ResourceExhausted && code != codes.Unavailable {
		return retry.Failure{}
	}
	f := retry.Failure{}
	limited := false
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			f.Hint, f.Hinted = max(d.GetRetryDelay().AsDuration(), time.Duration(0)), true
		case *errdetails.QuotaFailure:
			limited = true
		}
	}
	idempotent := in.config.Idempotent != nil && in.config.Idempotent(method)
	if code == codes.ResourceExhausted {
		f.Passing, f.Safe = f.Hinted || limited, true
		return f
	}
	f.Passing, f.Safe = true, f.Hinted || idempotent
	return f
}

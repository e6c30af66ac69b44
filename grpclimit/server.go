package grpclimit

import (
	"context"

	"google.golang.org/grpc"

	"github.com/limitgate/limitgate/internal/admit"
)

var (
	_ grpc.UnaryServerInterceptor  = (*Interceptor)(nil).UnaryServer
	_ grpc.StreamServerInterceptor = (*Interceptor)(nil).StreamServer
)

// UnaryServer is the interceptor of a server's unary calls.
func (in *Interceptor) UnaryServer(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	c := Call{Method: info.FullMethod, Message: req}
	v, f, err := in.begin(ctx, c)
	if err != nil {
		if md := f.pushback(); md != nil {
			// Without a transport, as in a test that calls the interceptor itself, there is nobody to tell.
			_ = grpc.SetTrailer(ctx, md)
		}
		return nil, err
	}
	if v == nil {
		return handler(ctx, req)
	}
	return in.serve(ctx, v, c, handler)
}

// serve runs the handler of a call that goes on.
func (in *Interceptor) serve(ctx context.Context, v *admit.Visit, c Call, handler grpc.UnaryHandler) (any, error) {
	o := Outcome{Call: c, Err: errPanicked}
	defer func() { in.end(ctx, v, o, true) }()
	o.Answer, o.Err = handler(ctx, c.Message)
	return o.Answer, o.Err
}

// StreamServer is the interceptor of a server's streams.
func (in *Interceptor) StreamServer(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := s.Context()
	c := Call{Method: info.FullMethod, Stream: true}
	v, f, err := in.begin(ctx, c)
	if err != nil {
		if md := f.pushback(); md != nil {
			s.SetTrailer(md)
		}
		return err
	}
	if v == nil {
		return handler(srv, s)
	}
	o := Outcome{Call: c, Err: errPanicked}
	defer func() { in.end(ctx, v, o, true) }()
	o.Err = handler(srv, s)
	return o.Err
}

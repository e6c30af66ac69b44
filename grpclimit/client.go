package grpclimit

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

var (
	_ grpc.UnaryClientInterceptor  = (*Interceptor)(nil).UnaryClient
	_ grpc.StreamClientInterceptor = (*Interceptor)(nil).StreamClient
)

// UnaryClient is the interceptor of a client's unary calls.
func (in *Interceptor) UnaryClient(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
	invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	c := Call{Method: method, Message: req, Target: target(cc), Client: true}
	v, _, err := in.begin(ctx, c)
	if err != nil {
		return err
	}
	if v == nil {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	o := Outcome{Call: c, Err: errPanicked}
	defer func() { in.end(ctx, v, o, true) }()
	o.Err = invoker(ctx, method, req, reply, cc, opts...)
	return o.Err
}

// target is whom a connection is to.
func target(cc *grpc.ClientConn) string {
	if cc == nil {
		return ""
	}
	return cc.Target()
}

// StreamClient is the interceptor of a client's streams.
func (in *Interceptor) StreamClient(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
	streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	c := Call{Method: method, Target: target(cc), Stream: true, Client: true}
	v, _, err := in.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return streamer(ctx, desc, cc, method, opts...)
	}
	s := &clientStream{call: c, many: desc.ServerStreams, end: func(o Outcome) { in.end(ctx, v, o, true) }}
	began := false
	defer func() {
		if !began {
			s.over(errPanicked)
		}
	}()
	s.ClientStream, err = streamer(ctx, desc, cc, method, opts...)
	began = true
	if err != nil {
		s.over(err)
		return nil, err
	}
	s.stop = context.AfterFunc(ctx, func() { s.over(status.FromContextError(ctx.Err()).Err()) })
	return s, nil
}

// clientStream tells when a stream is over.
type clientStream struct {
	grpc.ClientStream
	call  Call
	many  bool // the server sends more than one message
	end   func(o Outcome)
	stop  func() bool // forgets about the context
	ended atomic.Bool
}

// over ends the call, once.
func (s *clientStream) over(err error) {
	if !s.ended.CompareAndSwap(false, true) {
		return
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.end(Outcome{Call: s.call, Err: err})
}

// done is over as the caller sees it, when the context is of no more interest.
func (s *clientStream) done(err error) {
	s.stop()
	s.over(err)
}

// RecvMsg receives, and is what tells of the end.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || !s.many {
		s.done(err)
	}
	return err
}

// SendMsg sends. An error that is not io.EOF ends the stream; that one leaves it to RecvMsg to say why.
func (s *clientStream) SendMsg(m any) error {
	err := s.ClientStream.SendMsg(m)
	if err != nil && !errors.Is(err, io.EOF) {
		s.done(err)
	}
	return err
}

// Header receives the header, and an error ends the stream.
func (s *clientStream) Header() (metadata.MD, error) {
	md, err := s.ClientStream.Header()
	if err != nil {
		s.done(err)
	}
	return md, err
}

// Package grpctest is a gRPC server and its calls, for tests of what stands between the two: one method of each kind, over
// messages of bytes, and what the server saw. It needs no generated code.
package grpctest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The methods: one message for one, many for one, one for many, many for many.
const (
	Unary   = "/limitgate.test.Echo/Unary"
	Collect = "/limitgate.test.Echo/Collect"
	Expand  = "/limitgate.test.Echo/Expand"
	Chat    = "/limitgate.test.Echo/Chat"
)

// Server answers with what it was sent. A call whose metadata has fail-with gets the status RESOURCE_EXHAUSTED, UNAVAILABLE or
// ABORTED, as it says; one with hold waits until it is cancelled or the server is told to Let go.
type Server struct {
	Addr string

	Calls     atomic.Int64 // that began
	Running   atomic.Int64
	Cancelled atomic.Int64 // that ended because their context did

	grpc *grpc.Server
	mu   sync.Mutex // guards what follows
	meta metadata.MD
	held chan struct{}
}

// Serve starts a server on an address of loopback; the test ends it.
func Serve(t testing.TB, options ...grpc.ServerOption) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: ln.Addr().String(), held: make(chan struct{})}
	s.grpc = grpc.NewServer(options...)
	s.grpc.RegisterService(&service, s)
	done := make(chan struct{})
	// Owned by the test: ends when the server is stopped.
	go func() {
		defer close(done)
		_ = s.grpc.Serve(ln) // ends with Stop
	}()
	t.Cleanup(func() { s.grpc.Stop(); <-done })
	return s
}

// Stop ends the server as a restart does: what runs may end, and no more begins.
func (s *Server) Stop() { s.grpc.GracefulStop() }

// Let lets go of the calls that are held, and of those to come.
func (s *Server) Let() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.held:
	default:
		close(s.held)
	}
}

// Metadata is what the newest call brought.
func (s *Server) Metadata() metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta
}

// Dial returns a connection of a client to addr; the test closes it.
func Dial(t testing.TB, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	options = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, options...)
	c, err := grpc.NewClient("passthrough:///"+addr, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Say makes a call of one message.
func Say(ctx context.Context, c *grpc.ClientConn, what []byte, options ...grpc.CallOption) ([]byte, error) {
	var out wrapperspb.BytesValue
	err := c.Invoke(ctx, Unary, wrapperspb.Bytes(what), &out, options...)
	return out.GetValue(), err
}

// Open begins a call of another kind.
func Open(ctx context.Context, c *grpc.ClientConn, method string, options ...grpc.CallOption) (Stream, error) {
	kind := grpc.StreamDesc{ClientStreams: method != Expand, ServerStreams: method != Collect}
	s, err := c.NewStream(ctx, &kind, method, options...)
	return Stream{s}, err
}

// Stream is a call under way.
type Stream struct{ grpc.ClientStream }

// Send sends a message, Recv returns the next one.
func (s Stream) Send(what []byte) error { return s.SendMsg(wrapperspb.Bytes(what)) }

// Recv returns the next message; io.EOF behind the last of a call that went well.
func (s Stream) Recv() ([]byte, error) {
	var m wrapperspb.BytesValue
	err := s.RecvMsg(&m)
	return m.GetValue(), err
}

var service = grpc.ServiceDesc{
	ServiceName: "limitgate.test.Echo", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: unary}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Collect", ClientStreams: true, Handler: handler(collect)},
		{StreamName: "Expand", ServerStreams: true, Handler: handler(expand)},
		{StreamName: "Chat", ClientStreams: true, ServerStreams: true, Handler: handler(chat)},
	},
}

func unary(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	s := srv.(*Server)
	var in wrapperspb.BytesValue
	if err := decode(&in); err != nil {
		return nil, err
	}
	end, err := s.begin(ctx)
	defer end()
	if err != nil {
		return nil, err
	}
	_ = grpc.SetHeader(ctx, metadata.Pairs("x-head", "h"))
	_ = grpc.SetTrailer(ctx, metadata.Pairs("x-tail", "t", "x-tail-bin", "\x00\xff"))
	return &in, nil
}

func handler(f func(grpc.ServerStream) error) grpc.StreamHandler {
	return func(srv any, st grpc.ServerStream) error {
		end, err := srv.(*Server).begin(st.Context())
		defer end()
		if err != nil {
			return err
		}
		st.SetTrailer(metadata.Pairs("x-tail", "t"))
		return f(st)
	}
}

// begin notes a call, and does what its metadata says.
func (s *Server) begin(ctx context.Context) (end func(), err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.Calls.Add(1)
	s.Running.Add(1)
	s.mu.Lock()
	s.meta = md
	s.mu.Unlock()
	end = func() {
		if ctx.Err() != nil {
			s.Cancelled.Add(1)
		}
		s.Running.Add(-1)
	}
	if len(md.Get("hold")) > 0 {
		select {
		case <-s.held:
		case <-ctx.Done():
			return end, status.FromContextError(ctx.Err()).Err()
		}
	}
	for _, code := range [...]codes.Code{codes.ResourceExhausted, codes.Unavailable, codes.Aborted} {
		if v := md.Get("fail-with"); len(v) > 0 && v[0] == code.String() {
			return end, status.Error(code, "as asked")
		}
	}
	return end, nil
}

// each calls f with every message that comes.
func each(st grpc.ServerStream, f func([]byte) error) error {
	for {
		var m wrapperspb.BytesValue
		err := st.RecvMsg(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(m.GetValue())
		}
		if err != nil {
			return err
		}
	}
}

func collect(st grpc.ServerStream) error {
	var all []byte
	if err := each(st, func(p []byte) error { all = append(all, p...); return nil }); err != nil {
		return err
	}
	return st.SendMsg(wrapperspb.Bytes(all))
}

// expand sends each byte of the message as a message.
func expand(st grpc.ServerStream) error {
	return each(st, func(p []byte) error {
		for i := range p {
			if err := st.SendMsg(wrapperspb.Bytes(p[i : i+1])); err != nil {
				return err
			}
		}
		return nil
	})
}

func chat(st grpc.ServerStream) error {
	return each(st, func(p []byte) error { return st.SendMsg(wrapperspb.Bytes(p)) })
}

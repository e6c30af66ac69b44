package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/memzone"
)

// must is a limiter on a zone of its own.
func must(a limitgate.Algorithm) *limitgate.Limiter {
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		panic(err)
	}
	return l
}

// watcher is a server whose streams send two messages.
type watcher struct {
	health.UnimplementedHealthServer
}

func (watcher) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func (watcher) Watch(_ *health.HealthCheckRequest, s health.Health_WatchServer) error {
	return errors.Join(s.Send(&health.HealthCheckResponse{}), s.Send(&health.HealthCheckResponse{}))
}

// serve starts a server, and gives a client of it and what ends both.
func serve(server []grpc.ServerOption, client ...grpc.DialOption) (health.HealthClient, func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer(server...)
	health.RegisterHealthServer(s, watcher{})
	// Owned by the example, ends when it stops the server.
	go s.Serve(l)
	cc, err := grpc.NewClient(l.Addr().String(), append(client, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	return health.NewHealthClient(cc), func() { cc.Close(); s.Stop() }
}

func ExampleNew() {
	limiter, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 1, NoDelay: true})
	if err != nil {
		panic(err)
	}
	limit := grpclimit.New(limiter, grpclimit.ClientNetwork())
	client, stop := serve([]grpc.ServerOption{grpc.UnaryInterceptor(limit.UnaryServer), grpc.StreamInterceptor(limit.StreamServer)})
	defer stop()

	for range 3 {
		_, err := client.Check(context.Background(), &health.HealthCheckRequest{})
		fmt.Println(status.Code(err))
	}
	// Output:
	// OK
	// OK
	// ResourceExhausted
}

func ExampleNewWith() {
	limit, err := grpclimit.NewWith(grpclimit.Config{
		Limits: []grpclimit.Limit{
			{Name: "client", Limiter: must(limitgate.Token{Rate: limitgate.PerSecond(50), Capacity: 100}), Key: grpclimit.ClientNetwork()},
			{Name: "search", Limiter: must(limitgate.Conn{Limit: 8}), Key: grpclimit.Everybody, Methods: []string{"/shop.Search/*"}},
			{Name: "guesses", Limiter: must(limitgate.Count{Limit: 2, Window: time.Hour}), Key: grpclimit.ClientNetwork(),
				Methods: []string{"/shop.Login/Login"}, Counts: grpclimit.CodeIn(codes.Unauthenticated)},
		},
		Skip: func(_ context.Context, c grpclimit.Call) bool { return c.Method == health.Health_Check_FullMethodName },
	})
	if err != nil {
		panic(err)
	}
	for _, answer := range []codes.Code{codes.OK, codes.Unauthenticated, codes.OK, codes.Unauthenticated, codes.OK} {
		_, err := limit.UnaryServer(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/shop.Login/Login"},
			func(context.Context, any) (any, error) { return nil, status.Error(answer, "") })
		fmt.Println(status.Code(err))
	}
	// Output:
	// OK
	// Unauthenticated
	// OK
	// Unauthenticated
	// ResourceExhausted
}

func ExampleConfig_Validate() {
	c := grpclimit.Config{Limits: []grpclimit.Limit{
		{Name: "search", Limiter: must(limitgate.Conn{Limit: 8}), Key: grpclimit.Everybody, Methods: []string{"Search"}},
	}}
	fmt.Println(c.Validate())
	// Output:
	// limit 0 "search" of calls: method "Search": must be like /package.Service/Method or /package.Service/*
}

func ExampleInterceptor_UnaryServer() {
	limit := grpclimit.New(must(limitgate.Conn{Limit: 1}), grpclimit.Method)
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Search/Find"}
	_, err := limit.UnaryServer(context.Background(), nil, info, func(ctx context.Context, _ any) (any, error) {
		_, err := limit.UnaryServer(ctx, nil, info, func(context.Context, any) (any, error) { return nil, nil })
		fmt.Println("while it works:", err)
		return nil, nil
	})
	fmt.Println("itself:", err)
	// Output:
	// while it works: rpc error: code = ResourceExhausted desc = limit "default": too many calls (at most 1 at once)
	// itself: <nil>
}

func ExampleInterceptor_StreamServer() {
	limit := grpclimit.New(must(limitgate.Conn{Limit: 100}), grpclimit.ClientNetwork())
	client, stop := serve([]grpc.ServerOption{grpc.StreamInterceptor(limit.StreamServer)})
	defer stop()

	stream, err := client.Watch(context.Background(), &health.HealthCheckRequest{}) // holds its place until its handler returns
	for err == nil {
		_, err = stream.Recv()
	}
	fmt.Println(err)
	// Output: EOF
}

func ExampleInterceptor_UnaryClient() {
	// One a second to each server: whoever is early waits, unless its deadline is sooner than its turn.
	limit := grpclimit.New(must(limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 10}), grpclimit.Target)
	client, stop := serve(nil, grpc.WithUnaryInterceptor(limit.UnaryClient))
	defer stop()

	_, err := client.Check(context.Background(), &health.HealthCheckRequest{})
	fmt.Println(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = client.Check(ctx, &health.HealthCheckRequest{})
	fmt.Println(status.Code(err))
	// Output:
	// <nil>
	// ResourceExhausted
}

func ExampleInterceptor_StreamClient() {
	places := must(limitgate.Conn{Limit: 1})
	limit := grpclimit.New(places, grpclimit.Everybody)
	client, stop := serve(nil, grpc.WithStreamInterceptor(limit.StreamClient))
	defer stop()

	first, err := client.Watch(context.Background(), &health.HealthCheckRequest{})
	if err != nil {
		panic(err)
	}
	_, err = client.Watch(context.Background(), &health.HealthCheckRequest{})
	fmt.Println("a second one:", status.Code(err))
	for !errors.Is(err, io.EOF) { // the end of the first gives its place back
		_, err = first.Recv()
	}
	_, err = client.Watch(context.Background(), &health.HealthCheckRequest{})
	fmt.Println("after the first:", err)
	// Output:
	// a second one: ResourceExhausted
	// after the first: <nil>
}

func ExampleRefusal_Status() {
	s := grpclimit.Refusal{Limit: "client", Says: "10r/s, burst 20", RetryAfter: 300 * time.Millisecond}.Status()
	fmt.Println(s.Code(), s.Message())
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.QuotaFailure:
			fmt.Println(d.Violations[0].Subject)
		case *errdetails.RetryInfo:
			fmt.Println(d.RetryDelay.AsDuration())
		}
	}
	// Output:
	// ResourceExhausted limit "client": too many calls (10r/s, burst 20)
	// limit:client
	// 300ms
}

func ExampleFailed() {
	fmt.Println(grpclimit.Failed(grpclimit.Outcome{}), grpclimit.Failed(grpclimit.Outcome{Err: io.ErrUnexpectedEOF}))
	// Output: false true
}

func ExampleCodeIn() {
	wrong := grpclimit.CodeIn(codes.Unauthenticated, codes.PermissionDenied)
	fmt.Println(wrong(grpclimit.Outcome{Err: status.Error(codes.Unauthenticated, "wrong password")}), wrong(grpclimit.Outcome{}))
	// Output: true false
}

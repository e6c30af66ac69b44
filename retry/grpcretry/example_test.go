package grpcretry_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limitgate/limitgate/retry"
	"github.com/limitgate/limitgate/retry/grpcretry"
)

// refusing is the next interceptor of a client whose server refuses the first n calls.
func refusing(n int) grpc.UnaryInvoker {
	return func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		if n--; n < 0 {
			return nil
		}
		s, err := status.New(codes.ResourceExhausted, "too fast").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
		if err != nil {
			panic(err)
		}
		return s.Err()
	}
}

func ExampleNew() {
	again := grpcretry.New()
	cc, err := grpc.NewClient("dns:///search.example:443", grpc.WithUnaryInterceptor(again.UnaryClient),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer cc.Close()
	fmt.Println(cc.Target())
	// Output: dns:///search.example:443
}

func ExampleNewWith() {
	again, err := grpcretry.NewWith(grpcretry.Config{
		Policy:     retry.Policy{Attempts: 4, Base: time.Millisecond},
		Idempotent: func(method string) bool { return method == "/shop.Search/Find" },
		Observe:    func(_ context.Context, _ string, e retry.Event, _ error) { fmt.Println(e.Attempt, e.Stop) },
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(again.UnaryClient(context.Background(), "/shop.Cart/Add", nil, nil, nil, refusing(2)))
	// Output:
	// 1 another attempt
	// 2 another attempt
	// <nil>
}

func ExampleConfig_Validate() {
	fmt.Println(grpcretry.Config{Policy: retry.Policy{Max: time.Millisecond}}.Validate())
	// Output: retries: base 100ms is longer than max 1ms
}

func ExampleInterceptor_UnaryClient() {
	fmt.Println(grpcretry.New().UnaryClient(context.Background(), "/shop.Cart/Add", nil, nil, nil, refusing(1)))
	// Output: <nil>
}

package grpclimit_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/grpclimit"
)

func ExampleNewWith_adaptive() {
	found, err := adaptive.New(adaptive.Config{Initial: 1, Max: 100})
	if err != nil {
		panic(err)
	}
	limit, err := grpclimit.NewWith(grpclimit.Config{Adaptive: found})
	if err != nil {
		panic(err)
	}
	// On a server: grpc.NewServer(grpc.UnaryInterceptor(limit.UnaryServer), grpc.StreamInterceptor(limit.StreamServer))
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Search/Find"}
	_, err = limit.UnaryServer(context.Background(), nil, info, func(ctx context.Context, _ any) (any, error) {
		_, err := limit.UnaryServer(ctx, nil, info, func(context.Context, any) (any, error) { return nil, nil }) // another call, while this one is at work
		fmt.Println("second:", status.Code(err))
		return nil, nil
	})
	fmt.Println("first:", status.Code(err))
	// Output:
	// second: ResourceExhausted
	// first: OK
}

package grpclimit_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/memzone"
)

func limiter(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func with(t testing.TB, c grpclimit.Config) *grpclimit.Interceptor {
	t.Helper()
	in, err := grpclimit.NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// service is a health service whose methods the test writes.
type service struct {
	health.UnimplementedHealthServer
	check func(ctx context.Context) error
	watch func(s health.Health_WatchServer) error
}

func (s *service) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.check != nil {
		if err := s.check(ctx); err != nil {
			return nil, err
		}
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func (s *service) Watch(_ *health.HealthCheckRequest, w health.Health_WatchServer) error {
	return s.watch(w)
}

// dial starts a server of the service and gives a client of it.
func dial(t testing.TB, s *service, server []grpc.ServerOption, client ...grpc.DialOption) health.HealthClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(server...)
	health.RegisterHealthServer(srv, s)
	served := make(chan error, 1)
	// Owned by the test, ends when it stops the server.
	go func() { served <- srv.Serve(l) }()
	client = append(client, grpc.WithTransportCredentials(insecure.NewCredentials()))
	cc, err := grpc.NewClient(l.Addr().String(), client...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cc.Close()
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return health.NewHealthClient(cc)
}

// free is how many places of a limit are free.
func free(t testing.TB, l *limitgate.Limiter, key string) int64 {
	t.Helper()
	d, err := l.CheckAt(context.Background(), limitgate.Now(), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !d.Admitted() {
		return 0
	}
	return d.Remaining + 1
}

// call makes one unary call through the server's interceptor, without a server.
func call(ctx context.Context, in *grpclimit.Interceptor, method string, handler func() error) error {
	_, err := in.UnaryServer(ctx, nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) {
		if handler == nil {
			return nil, nil
		}
		return nil, handler()
	})
	return err
}

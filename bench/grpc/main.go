// Command grpc has ghz call a server of gRPC that package grpclimit limits, and says what the server's handler saw and what the
// callers were told. It stands beside the product and ends with an error if more were at work than the limit allows, or if a refusal
// was not RESOURCE_EXHAUSTED.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/bojand/ghz/runner"
	"google.golang.org/grpc"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/memzone"
)

// slow is a service whose calls take a while, and which counts how many are at work.
type slow struct {
	health.UnimplementedHealthServer
	work          time.Duration
	working, most atomic.Int64
}

// Check is one call.
func (s *slow) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	n := s.working.Add(1)
	defer s.working.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	time.Sleep(s.work)
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func main() {
	limit := flag.Int64("limit", 10, "calls at work at once")
	callers := flag.Uint("callers", 50, "concurrent callers")
	calls := flag.Uint("calls", 20_000, "calls in all")
	work := flag.Duration("work", 2*time.Millisecond, "how long a call works")
	flag.Parse()
	if err := run(*limit, *callers, *calls, *work); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(limit int64, callers, calls uint, work time.Duration) error {
	limiter, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Conn{Limit: limit})
	if err != nil {
		return fmt.Errorf("making the limit: %w", err)
	}
	in := grpclimit.New(limiter, grpclimit.Everybody)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s := &slow{work: work}
	server := grpc.NewServer(grpc.UnaryInterceptor(in.UnaryServer))
	health.RegisterHealthServer(server, s)
	reflection.Register(server)
	// Owned by run, which stops the server.
	go server.Serve(l)
	defer server.Stop()

	report, err := runner.Run("grpc.health.v1.Health/Check", l.Addr().String(), runner.WithInsecure(true), runner.WithDataFromJSON("{}"),
		runner.WithConcurrency(callers), runner.WithTotalRequests(calls), runner.WithConnections(4))
	if err != nil {
		return fmt.Errorf("calling: %w", err)
	}
	fmt.Printf("limit %d, %d callers, %d calls in %v: at most %d at work, %v a second\n", limit, callers, report.Count, report.Total.Round(time.Millisecond), s.most.Load(), int64(report.Rps))
	for code, n := range report.StatusCodeDist {
		fmt.Printf("%8d %s\n", n, code)
		if code != "OK" && code != "ResourceExhausted" {
			err = fmt.Errorf("a refusal is %s, want ResourceExhausted", code)
		}
	}
	if s.most.Load() > limit {
		err = fmt.Errorf("%d at work, want at most %d", s.most.Load(), limit)
	}
	return err
}

package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
	"github.com/limitgate/limitgate/grpclimit"
)

func finds(t testing.TB, c adaptive.Config) *adaptive.Limiter {
	t.Helper()
	l, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What the limit that finds itself refuses says so, and is given back to all others.
func TestAdaptiveRefusesLastAndGivesBack(t *testing.T) {
	for _, dry := range []bool{false, true} {
		token, conn := limiter(t, limitgate.Token{Rate: limitgate.PerDay(1), Capacity: 5}), limiter(t, limitgate.Conn{Limit: 5})
		l := finds(t, adaptive.Config{Initial: 1, Max: 1})
		var last grpclimit.Event
		in := with(t, grpclimit.Config{
			Limits:   []grpclimit.Limit{{Limiter: token, Key: grpclimit.Everybody}, {Limiter: conn, Key: grpclimit.Everybody}},
			Adaptive: l, DryRun: dry,
			Observe: func(_ context.Context, _ grpclimit.Call, e grpclimit.Event) { last = e },
		})
		err := call(t.Context(), in, "/s/M", func() error {
			err := call(t.Context(), in, "/s/M", nil)
			if last.Limit != "adaptive" || last.Outcome != limitgate.Rejected || last.DryRun != dry || last.Err != nil {
				t.Errorf("dry run %v: observed %+v, want a refusal by adaptive", dry, last)
			}
			if dry {
				return err
			}
			const says = `limit "adaptive": too many calls (as many at once as are worked on in good time)`
			if got := retryAfter(t, err); got != time.Second || status.Convert(err).Message() != says {
				t.Errorf("got %v with %v to retry, want %s with 1s", err, got, says)
			}
			return nil
		})
		if err != nil {
			t.Errorf("dry run %v: got %v", dry, err)
		}
		if x, y := free(t, token, "*"), free(t, conn, "*"); x != 4 || y != 5 || l.InFlight() != 0 {
			t.Errorf("dry run %v: got %d, %d places and %d in flight, want 4, 5 and 0", dry, x, y, l.InFlight())
		}
	}
	if _, err := grpclimit.NewWith(grpclimit.Config{}); err == nil {
		t.Error("neither Limits nor Adaptive: got no error")
	}
}

func TestAdaptiveLearnsHowCallsEnd(t *testing.T) {
	left, cancel := context.WithCancel(context.Background())
	cancel()
	late, end := context.WithTimeout(context.Background(), -1)
	defer end()
	is := func(code codes.Code) func() error { return func() error { return status.Error(code, "") } }
	fine := context.Background()
	for _, c := range []struct {
		name            string
		ctx             context.Context
		handler         func() error
		server, client  bool // whether it lowers the limit of calls
		streams, reader bool // and of streams, on a server and a client
	}{
		{"answers", fine, is(codes.OK), false, false, false, false},
		{"an error of its own", fine, is(codes.Internal), false, false, false, false},
		{"an error of no code", fine, func() error { return errors.New("broken") }, false, false, false, false},
		{"overload", fine, is(codes.Unavailable), true, true, true, true},
		{"a deadline further in", fine, func() error { return context.DeadlineExceeded }, true, true, true, true},
		{"a deadline", late, is(codes.OK), true, true, true, true},
		{"who leaves", left, is(codes.OK), false, false, false, false},
		{"somebody's limit", fine, is(codes.ResourceExhausted), false, true, false, true},
		{"a panic", fine, func() error { panic("broken") }, false, false, false, false},
	} {
		for name, want := range map[string]bool{"unary server": c.server, "unary client": c.client, "stream server": c.streams, "stream client": c.reader} {
			var now atomic.Int64 // a stream whose context ends is over in a goroutine of its own
			now.Store(int64(time.Hour))
			l := finds(t, adaptive.Config{})
			in := with(t, grpclimit.Config{Adaptive: l, Now: func() limitgate.Time { return limitgate.Time(now.Load()) }})
			work := func() error {
				now.Add(int64(5 * time.Millisecond))
				return c.handler()
			}
			for i := range 400 {
				ctx := c.ctx
				if i%4 == 0 {
					ctx = fine // some work well: where nothing does, nothing is learned
				}
				func() {
					defer func() { _ = recover() }()
					each(ctx, in, name, work)
				}()
			}
			for end := time.Now().Add(5 * time.Second); l.InFlight() != 0 && time.Now().Before(end); {
				runtime.Gosched()
			}
			if got := l.Limit() < 20; got != want || l.InFlight() != 0 {
				t.Errorf("%s, %s: got a limit of %d with %d in flight, lowered: want %v", c.name, name, l.Limit(), l.InFlight(), want)
			}
		}
	}
}

// each makes one call through one of the interceptors.
func each(ctx context.Context, in *grpclimit.Interceptor, name string, work func() error) {
	switch name {
	case "unary server":
		_ = call(ctx, in, "/s/M", work)
	case "unary client":
		_ = in.UnaryClient(ctx, "/s/M", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return work() })
	case "stream server":
		_ = in.StreamServer(nil, onlyContext{ctx: ctx}, &grpc.StreamServerInfo{FullMethod: "/s/M"}, func(any, grpc.ServerStream) error { return work() })
	case "stream client":
		s, err := in.StreamClient(ctx, &grpc.StreamDesc{ServerStreams: true}, nil, "/s/M", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			if err := work(); err != nil {
				return nil, err
			}
			return read{}, nil
		})
		if err == nil {
			_ = s.RecvMsg(nil)
		}
	}
}

// onlyContext is a stream of which nothing is read.
type onlyContext struct {
	grpc.ServerStream
	ctx context.Context
}

func (s onlyContext) Context() context.Context { return s.ctx }

// read is a client's stream that has come to its end.
type read struct{ grpc.ClientStream }

func (read) RecvMsg(any) error { return io.EOF }

// A server with four workers of 10 ms and more calls than these can serve: the limit is found, and they are kept busy.
func TestAdaptiveFindsTheLimitOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := finds(t, adaptive.Config{})
		in := with(t, grpclimit.Config{Adaptive: l})
		workers := make(chan struct{}, 4)
		var done atomic.Int64
		var all sync.WaitGroup
		for at := range 5000 {
			all.Go(func() {
				_ = call(t.Context(), in, "/s/M", func() error {
					workers <- struct{}{}
					time.Sleep(10 * time.Millisecond)
					<-workers
					if at >= 2500 {
						done.Add(1)
					}
					return nil
				})
			})
			time.Sleep(time.Millisecond)
		}
		all.Wait()
		if got := l.Limit(); got < 4 || got > 12 || done.Load() < 900 || l.InFlight() != 0 {
			t.Errorf("got a limit of %d, %d served in the last 2.5 s and %d in flight, want 4 to 12, at least 900 of 1000 and none", got, done.Load(), l.InFlight())
		}
		t.Logf("limit %d, %d served of 1000", l.Limit(), done.Load())
	})
}

// A stream holds its place as long as it lasts, and how long that is tells nothing.
func TestAdaptiveCountsStreams(t *testing.T) {
	l := finds(t, adaptive.Config{Initial: 1, Max: 1})
	in := with(t, grpclimit.Config{Adaptive: l})
	begun, end := make(chan bool), make(chan bool)
	client := dial(t, &service{watch: func(health.Health_WatchServer) error {
		begun <- true
		<-end
		return nil
	}}, []grpc.ServerOption{grpc.StreamInterceptor(in.StreamServer), grpc.UnaryInterceptor(in.UnaryServer)})
	first, err := client.Watch(t.Context(), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if _, err := client.Check(t.Context(), &health.HealthCheckRequest{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call beside the stream: got %v, want ResourceExhausted", err)
	}
	end <- true
	if _, err := first.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream: got %v, want its end", err)
	}
	eventually(t, "the place of a stream that ended is free", func() bool { return l.InFlight() == 0 })
	if _, err := client.Check(t.Context(), &health.HealthCheckRequest{}); err != nil {
		t.Errorf("a call after the stream: got %v", err)
	}
}

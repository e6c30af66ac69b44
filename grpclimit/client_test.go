package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/memzone"
)

// ended is how a call looks to its client when it is over.
type ended struct {
	status   *status.Status
	pushback []string
}

func lastWords(t *testing.T, client health.HealthClient) ended {
	t.Helper()
	var trailer metadata.MD
	_, err := client.Check(t.Context(), &health.HealthCheckRequest{}, grpc.Trailer(&trailer))
	return ended{status.Convert(err), trailer["grpc-retry-pushback-ms"]}
}

const retryUnavailable = `{"methodConfig": [{"name": [{}], "retryPolicy": {
	"maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// A client that tries again what is UNAVAILABLE makes one attempt at what is refused. (field case 95) That its policy is at work
// shows where the limit can't be asked: that is UNAVAILABLE.
func TestField95RefusalIsNotTriedAgain(t *testing.T) {
	bad, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, once)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		limiter  *limitgate.Limiter
		code     codes.Code
		attempts int64
	}{
		"refused": {limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1}), codes.ResourceExhausted, 1},
		"outage":  {bad, codes.Unavailable, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var attempts atomic.Int64
			count := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
				attempts.Add(1)
				return handler(ctx, req)
			}
			in := grpclimit.New(c.limiter, grpclimit.Everybody)
			client := dial(t, &service{}, []grpc.ServerOption{grpc.ChainUnaryInterceptor(count, in.UnaryServer)},
				grpc.WithDefaultServiceConfig(retryUnavailable))
			_, _ = client.Check(t.Context(), &health.HealthCheckRequest{}) // takes the one there is
			attempts.Store(0)
			_, err := client.Check(t.Context(), &health.HealthCheckRequest{})
			if status.Code(err) != c.code || attempts.Load() != c.attempts {
				t.Errorf("got %v in %d attempts, want %v in %d", err, attempts.Load(), c.code, c.attempts)
			}
		})
	}
}

func TestClientIsLimited(t *testing.T) {
	in := grpclimit.New(limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 2}), grpclimit.Each(grpclimit.Target, grpclimit.Method))
	var served atomic.Int64
	client := dial(t, &service{check: func(context.Context) error { served.Add(1); return nil }}, nil, grpc.WithUnaryInterceptor(in.UnaryClient))
	for i, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		if _, err := client.Check(t.Context(), &health.HealthCheckRequest{}); status.Code(err) != want {
			t.Errorf("%d: got %v, want %v", i, err, want)
		}
	}
	if served.Load() != 2 {
		t.Errorf("the server saw %d calls, want 2", served.Load())
	}
}

// A client's stream holds its place until its end, whichever way that comes.
func TestClientStreamHoldsItsPlace(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	in := grpclimit.New(conn, grpclimit.Everybody)
	var fails atomic.Bool
	client := dial(t, &service{watch: func(w health.Health_WatchServer) error {
		if fails.Load() {
			return status.Error(codes.Aborted, "failed")
		}
		if err := w.Send(&health.HealthCheckResponse{}); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(w.Context())
		if len(md["stay"]) > 0 {
			<-w.Context().Done()
		}
		return nil
	}}, nil, grpc.WithStreamInterceptor(in.StreamClient))
	open := func(ctx context.Context) health.Health_WatchClient {
		s, err := client.Watch(ctx, &health.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Watch(ctx, &health.HealthCheckRequest{}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a second stream: got %v, want ResourceExhausted", err)
		}
		return s
	}
	at := func(what string, want int64) {
		if got := free(t, conn, "*"); got != want {
			t.Errorf("%s: got %d places free, want %d", what, got, want)
		}
	}

	s := open(t.Context())
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	at("after a message", 0)
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	at("read to its end", 1)

	fails.Store(true)
	if _, err := open(t.Context()).Recv(); status.Code(err) != codes.Aborted {
		t.Errorf("got %v", err)
	}
	at("failed", 1)

	fails.Store(false)
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "stay", "1"))
	open(ctx)
	cancel() // and nobody reads it
	eventually(t, "the place of a stream that was left is free", func() bool { return free(t, conn, "*") == 1 })
}

// upload is a fake stream that sends, and gets one answer.
type upload struct {
	grpc.ClientStream
	send, recv error
}

func (u *upload) SendMsg(any) error            { return u.send }
func (u *upload) RecvMsg(any) error            { return u.recv }
func (u *upload) Header() (metadata.MD, error) { return nil, u.recv }

func TestEndsOfClientStreams(t *testing.T) {
	broken := status.Error(codes.Internal, "broken")
	for name, c := range map[string]struct {
		many bool
		s    upload
		do   func(grpc.ClientStream) error
		free int64
		err  error // as the limit is told
	}{
		"one answer":             {false, upload{}, func(s grpc.ClientStream) error { return s.RecvMsg(nil) }, 1, nil},
		"one of many":            {true, upload{}, func(s grpc.ClientStream) error { return s.RecvMsg(nil) }, 0, nil},
		"sent":                   {true, upload{}, func(s grpc.ClientStream) error { return s.SendMsg(nil) }, 0, nil},
		"sent, says recv":        {true, upload{send: io.EOF}, func(s grpc.ClientStream) error { return s.SendMsg(nil) }, 0, nil},
		"sending failed":         {true, upload{send: broken}, func(s grpc.ClientStream) error { return s.SendMsg(nil) }, 1, broken},
		"end":                    {true, upload{recv: io.EOF}, func(s grpc.ClientStream) error { return s.RecvMsg(nil) }, 1, nil},
		"failed":                 {true, upload{recv: broken}, func(s grpc.ClientStream) error { return s.RecvMsg(nil) }, 1, broken},
		"header":                 {true, upload{}, func(s grpc.ClientStream) error { _, err := s.Header(); return err }, 0, nil},
		"header failed":          {true, upload{recv: broken}, func(s grpc.ClientStream) error { _, err := s.Header(); return err }, 1, broken},
		"twice gives back once":  {true, upload{recv: broken}, func(s grpc.ClientStream) error { _ = s.RecvMsg(nil); return s.RecvMsg(nil) }, 1, broken},
		"twice with other calls": {false, upload{}, func(s grpc.ClientStream) error { _ = s.RecvMsg(nil); _, err := s.Header(); return err }, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conn := limiter(t, limitgate.Conn{Limit: 1})
			var told []error
			in := with(t, grpclimit.Config{Limits: []grpclimit.Limit{
				{Limiter: conn, Key: grpclimit.Everybody},
				{Limiter: limiter(t, once), Key: grpclimit.Everybody, Counts: func(o grpclimit.Outcome) bool { told = append(told, o.Err); return true }},
			}})
			s, err := in.StreamClient(t.Context(), &grpc.StreamDesc{ServerStreams: c.many, ClientStreams: true}, nil, "/s/M",
				func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
					return &c.s, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			_ = c.do(s)
			if got := free(t, conn, "*"); got != c.free {
				t.Errorf("got %d places free, want %d", got, c.free)
			}
			if int64(len(told)) != c.free || len(told) == 1 && !errors.Is(told[0], c.err) {
				t.Errorf("the limit was told %v, want %v", told, c.err)
			}
		})
	}
}

func TestStreamThatDoesNotBegin(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	in := grpclimit.New(conn, grpclimit.Everybody)
	broken := errors.New("broken")
	for _, panics := range []bool{false, true} {
		func() {
			defer func() { _ = recover() }()
			_, err := in.StreamClient(t.Context(), &grpc.StreamDesc{}, nil, "/s/M",
				func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
					if panics {
						panic(broken)
					}
					return nil, broken
				})
			if !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}()
		if got := free(t, conn, "*"); got != 1 {
			t.Errorf("panics %v: got %d places free, want 1", panics, got)
		}
	}
}

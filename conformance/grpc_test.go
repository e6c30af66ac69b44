package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	rpcstatus "google.golang.org/grpc/status"

	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/internal/grpctest"
)

// grpcConf is a server for calls; what stands in its locations is given.
const grpcConf = `
worker_processes 1;
events { worker_connections 1024; }
http {
    access_log logs/access.log combined;
    limit_req_zone $server_name zone=r:1m rate=1r/m;
    limit_req_zone $server_name zone=slow:1m rate=10r/s;
    limit_conn_zone $server_name zone=c:1m;
    upstream u { server BACKEND; keepalive 8; }
    server {
        listen 127.0.0.1:@8080@ http2;
        server_name s;
        LOCATIONS
    }
}
`

func startGRPC(t *testing.T, b gatewaytest.Binary, s *grpctest.Server, locations string) (*gatewaytest.Gateway, *grpc.ClientConn) {
	t.Helper()
	g := gatewaytest.Start(t, b, strings.NewReplacer("LOCATIONS", locations, "BACKEND", s.Addr).Replace(grpcConf))
	return g, grpctest.Dial(t, g.Addr(8080))
}

// learned is what a client was told from a call.
type learned struct {
	Messages     []string
	Code         string
	Message      string
	Head, Trails map[string]string
}

func fields(md metadata.MD) map[string]string {
	m := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(md)) {
		if k != "date" && k != "server" {
			m[k] = strings.Join(md[k], ", ")
		}
	}
	return m
}

// call makes a call of a kind with messages, and lets everything come back.
func call(t *testing.T, c *grpc.ClientConn, method string, messages []string, meta ...string) learned {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, meta...)
	var out learned
	end := func(err error, head, trails metadata.MD) learned {
		s := rpcstatus.Convert(err)
		out.Code, out.Message, out.Head, out.Trails = s.Code().String(), s.Message(), fields(head), fields(trails)
		return out
	}
	if method == grpctest.Unary {
		var head, trails metadata.MD
		b, err := grpctest.Say(ctx, c, []byte(messages[0]), grpc.Header(&head), grpc.Trailer(&trails))
		if err == nil {
			out.Messages = []string{string(b)}
		}
		return end(err, head, trails)
	}
	s, err := grpctest.Open(ctx, c, method)
	for i := 0; err == nil && i < len(messages); i++ {
		if err = s.Send([]byte(messages[i])); errors.Is(err, io.EOF) {
			err = nil // it ended early: Recv says why
			break
		}
	}
	if err == nil {
		err = s.CloseSend()
	}
	for err == nil {
		var b []byte
		if b, err = s.Recv(); err == nil {
			out.Messages = append(out.Messages, string(b))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	head, _ := s.Header()
	return end(err, head, s.Trailer())
}

// Calls of all kinds, through nginx and through the gateway: what the client gets and what the server sees are the same.
func TestGRPCSideBySide(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 200_000)
	type result struct {
		Told learned
		Saw  map[string]string
	}
	results := map[string][]result{}
	for _, b := range []gatewaytest.Binary{gatewaytest.Nginx(t), gatewaytest.Limitgate(t)} {
		s := grpctest.Serve(t)
		_, c := startGRPC(t, b, s, `
			client_max_body_size 0;
			location / { grpc_pass grpc://u; grpc_set_header X-Set $server_name; }
			location /limitgate.test.Echo/Nothing { grpc_pass u; grpc_set_header Host svc; grpc_hide_header X-Head; }`)
		for _, k := range []struct {
			method   string
			messages []string
			meta     []string
		}{
			{grpctest.Unary, []string{"one"}, nil},
			{grpctest.Unary, []string{""}, []string{"x-custom", "v", "x-custom", "w", "x-bin", "\x00\x01"}},
			{grpctest.Unary, []string{long}, nil},
			{grpctest.Collect, []string{"a", "b", long}, nil},
			{grpctest.Expand, []string{"xyz"}, nil},
			{grpctest.Chat, []string{"1", "2", "3"}, nil},
			{grpctest.Chat, nil, nil},
			{grpctest.Unary, []string{"x"}, []string{"fail-with", "Aborted"}},
			{grpctest.Chat, []string{"x"}, []string{"fail-with", "Unavailable"}},
			{"/limitgate.test.Echo/Nothing", []string{"x"}, nil},
		} {
			r := result{call(t, c, k.method, k.messages, k.meta...), fields(s.Metadata())}
			delete(r.Saw, ":authority") // the port differs
			results[b.Name] = append(results[b.Name], r)
		}
	}
	if d := cmp.Diff(results["nginx"], results["limitgate"]); d != "" {
		t.Errorf("-nginx +limitgate\n%s", d)
	}
	for i, r := range results["limitgate"][:7] {
		if r.Told.Code != "OK" || i != 6 && len(r.Told.Messages) == 0 {
			t.Errorf("call %d: %s %q, %d messages", i, r.Told.Code, r.Told.Message, len(r.Told.Messages))
		}
	}
}

// A stream that talks both ways gets each answer before it asks on.
func TestGRPCTalks(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	_, c := startGRPC(t, gatewaytest.Limitgate(t), s, `location / { grpc_pass u; }`)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	st, err := grpctest.Open(ctx, c, grpctest.Chat)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		want := fmt.Sprint(i)
		if err := st.Send([]byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := st.Recv(); err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %s", got, err, want)
		}
	}
	cancel()
	gatewaytest.Eventually(t, 5*time.Second, "the call ends at the server", func() bool { return s.Cancelled.Load() == 1 && s.Running.Load() == 0 })
}

// A refused call is RESOURCE_EXHAUSTED with the time to come again, whatever passes calls on; a client that tries again what is
// UNAVAILABLE does not try this one. (field case 95)
func TestField95RefusedCalls(t *testing.T) {
	t.Parallel()
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
		"backoffMultiplier": 1.0, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	s := grpctest.Serve(t)
	g, _ := startGRPC(t, gatewaytest.Limitgate(t), s, `
		location / { limit_req zone=r; grpc_pass u; }
		location /limitgate.test.Echo/Collect { limit_req zone=r; proxy_pass http://u; }
		location = /no { return 401; } location /limitgate.test.Echo/Expand { error_page 503 =401 /no; limit_req zone=r; grpc_pass u; }`)
	c := grpctest.Dial(t, g.Addr(8080), grpc.WithDefaultServiceConfig(policy))
	if got := call(t, c, grpctest.Unary, []string{"x"}); got.Code != "OK" {
		t.Fatalf("the first: %v", got)
	}
	for _, method := range []string{grpctest.Unary, grpctest.Chat, grpctest.Collect} {
		before := strings.Count(g.Read("logs/access.log"), method)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		var err error
		if method == grpctest.Unary {
			_, err = grpctest.Say(ctx, c, []byte("x"))
		} else {
			var st grpctest.Stream
			if st, err = grpctest.Open(ctx, c, method); err == nil {
				_, err = st.Recv()
			}
		}
		cancel()
		refused, _ := rpcstatus.FromError(err)
		var wait time.Duration
		for _, d := range refused.Details() {
			if r, is := d.(*errdetails.RetryInfo); is {
				wait = r.GetRetryDelay().AsDuration()
			}
		}
		if refused.Code() != codes.ResourceExhausted || refused.Message() != "too many calls" || wait <= 50*time.Second || wait > time.Minute {
			t.Errorf("%s: %v, wait %v", method, err, wait)
		}
		gatewaytest.Eventually(t, 5*time.Second, "a line", func() bool { return strings.Count(g.Read("logs/access.log"), method) > before })
		if n := strings.Count(g.Read("logs/access.log"), method) - before; n != 1 {
			t.Errorf("%s: %d attempts, want 1", method, n)
		}
	}
	if got := call(t, c, grpctest.Expand, []string{"x"}); got.Code != "Unauthenticated" {
		t.Errorf("an error_page comes before: %v", got)
	}
	if n := s.Calls.Load(); n != 1 {
		t.Errorf("%d calls reached the server, want 1", n)
	}
}

// Each call counts while it runs, also those of one connection.
func TestGRPCPlaces(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	_, c := startGRPC(t, gatewaytest.Limitgate(t), s, `location / { limit_conn c 100; grpc_pass u; }`)
	var wg sync.WaitGroup
	cancels := make([]context.CancelFunc, 100)
	ends := make([]error, 100)
	for i := range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		cancels[i] = cancel
		wg.Add(1)
		// Owned by the test: ends with its call.
		go func() {
			defer wg.Done()
			_, ends[i] = grpctest.Say(metadata.AppendToOutgoingContext(ctx, "hold", "1"), c, []byte("x"))
		}()
	}
	gatewaytest.Eventually(t, 10*time.Second, "100 calls run", func() bool { return s.Running.Load() == 100 })
	got := call(t, c, grpctest.Unary, []string{"x"})
	if got.Code != "ResourceExhausted" || got.Message != "too many calls at once" || got.Trails["grpc-status-details-bin"] != "" {
		t.Errorf("one more: %v", got)
	}
	for _, cancel := range cancels[:50] {
		cancel()
	}
	gatewaytest.Eventually(t, 10*time.Second, "50 calls left", func() bool { return s.Running.Load() == 50 && s.Cancelled.Load() == 50 })
	s.Let()
	wg.Wait()
	for i, err := range ends {
		if want := i < 50; (rpcstatus.Code(err) == codes.Canceled) != want || !want && err != nil {
			t.Errorf("call %d: %v", i, err)
		}
		cancels[i]()
	}
	gatewaytest.Eventually(t, 5*time.Second, "no place is held", func() bool { return s.Running.Load() == 0 })
	for i := range 100 { // and all are free
		if got := call(t, c, grpctest.Unary, []string{"x"}); got.Code != "OK" {
			t.Fatalf("call %d afterwards: %v", i, got)
		}
	}
}

// limit_req delays a call; its siblings do not wait for it.
func TestGRPCDelay(t *testing.T) {
	t.Parallel()
	s := grpctest.Serve(t)
	_, c := startGRPC(t, gatewaytest.Limitgate(t), s, `location / { grpc_pass u; } location /limitgate.test.Echo/Unary { limit_req zone=slow burst=10; grpc_pass u; }`)
	call(t, c, grpctest.Unary, []string{"x"})
	start := time.Now()
	done := make(chan time.Duration)
	// Owned by the test: ends with its call.
	go func() {
		call(t, c, grpctest.Unary, []string{"x"})
		done <- time.Since(start)
	}()
	call(t, c, grpctest.Expand, []string{"x"})
	if d := time.Since(start); d > 80*time.Millisecond {
		t.Errorf("a sibling took %v", d)
	}
	if d := <-done; d < 50*time.Millisecond {
		t.Errorf("the delayed call took %v", d)
	}
}

// A server that ends as servers do takes no call with it, and the next one is asked.
func TestGRPCServersComeAndGo(t *testing.T) {
	t.Parallel()
	a, b := grpctest.Serve(t), grpctest.Serve(t)
	_, c := startGRPC(t, gatewaytest.Limitgate(t), a, `location / { grpc_pass pair; } } upstream pair { server `+a.Addr+`; server `+b.Addr+`; keepalive 4;`)
	for range 20 {
		if got := call(t, c, grpctest.Unary, []string{"x"}); got.Code != "OK" {
			t.Fatal(got)
		}
	}
	if a.Calls.Load() != 10 || b.Calls.Load() != 10 {
		t.Errorf("calls: %d and %d, want 10 each", a.Calls.Load(), b.Calls.Load())
	}
	a.Stop()
	for i := range 20 {
		if got := call(t, c, grpctest.Unary, []string{"x"}); got.Code != "OK" {
			t.Errorf("call %d: %v", i, got)
		}
	}
}

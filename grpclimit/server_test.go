package grpclimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/memzone"
)

var once = limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1}

func TestRefusalSaysWhatAndWhen(t *testing.T) {
	in := with(t, grpclimit.Config{Limits: []grpclimit.Limit{{Name: "hourly", Limiter: limiter(t, once), Key: grpclimit.Everybody}}})
	client := dial(t, &service{}, []grpc.ServerOption{grpc.UnaryInterceptor(in.UnaryServer)})
	if _, err := client.Check(t.Context(), &health.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	trailer := lastWords(t, client)
	s := trailer.status
	if s.Code() != codes.ResourceExhausted || s.Message() != `limit "hourly": too many calls (1r/h, at most 1 at once)` {
		t.Errorf("got %v: %s", s.Code(), s.Message())
	}
	var retry *errdetails.RetryInfo
	var quota *errdetails.QuotaFailure
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			retry = d
		case *errdetails.QuotaFailure:
			quota = d
		}
	}
	if d := retry.GetRetryDelay().AsDuration(); d <= 59*time.Minute || d > time.Hour {
		t.Errorf("retry delay: got %v, want about an hour", d)
	}
	if v := quota.GetViolations(); len(v) != 1 || v[0].GetSubject() != "limit:hourly" || v[0].GetDescription() != "1r/h, at most 1 at once" {
		t.Errorf("violations: got %v", v)
	}
	if got := trailer.pushback; len(got) != 1 || len(got[0]) != len("3599999") {
		t.Errorf("pushback: got %q, want milliseconds of about an hour", got)
	}
}

// Limit 10 at concurrency 50: never more than 10 at work, and who is refused is told RESOURCE_EXHAUSTED.
func TestPlacesHoldUnderLoad(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 10})
	in := grpclimit.New(conn, grpclimit.Everybody)
	var working, most, passed, refused atomic.Int64
	client := dial(t, &service{check: func(context.Context) error {
		n := working.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond) // the work; no limiter reads this clock
		working.Add(-1)
		return nil
	}}, []grpc.ServerOption{grpc.UnaryInterceptor(in.UnaryServer)})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 40 {
				_, err := client.Check(t.Context(), &health.HealthCheckRequest{})
				switch status.Code(err) {
				case codes.OK:
					passed.Add(1)
				case codes.ResourceExhausted:
					refused.Add(1)
				default:
					t.Errorf("got %v", err)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d passed, %d were refused, at most %d at work", passed.Load(), refused.Load(), most.Load())
	if most.Load() > 10 || most.Load() < 5 || passed.Load() < 100 || refused.Load() < 100 {
		t.Errorf("at most %d at work, want 10; %d passed, %d were refused", most.Load(), passed.Load(), refused.Load())
	}
	if got := free(t, conn, "*"); got != 10 {
		t.Errorf("places free at the end: got %d, want 10", got)
	}
}

func TestPlaceEndsWithTheCall(t *testing.T) {
	for name, handler := range map[string]func() error{
		"answer": func() error { return nil },
		"error":  func() error { return errors.New("broken") },
		"panic":  func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			conn := limiter(t, limitgate.Conn{Limit: 2})
			in := grpclimit.New(conn, grpclimit.Everybody)
			func() {
				defer func() { _ = recover() }()
				_ = call(t.Context(), in, "/s/M", func() error {
					if got := free(t, conn, "*"); got != 1 {
						t.Errorf("during the call: got %d places free, want 1", got)
					}
					return handler()
				})
			}()
			if got := free(t, conn, "*"); got != 2 {
				t.Errorf("got %d places free, want 2", got)
			}
		})
	}
}

func TestObserverThatPanicsHoldsNothing(t *testing.T) {
	conn, token := limiter(t, limitgate.Conn{Limit: 2}), limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5})
	in := with(t, grpclimit.Config{
		Limits:  []grpclimit.Limit{{Limiter: conn, Key: grpclimit.Everybody}, {Limiter: token, Key: grpclimit.Everybody}},
		Observe: func(context.Context, grpclimit.Call, grpclimit.Event) { panic("broken") },
	})
	func() {
		defer func() { _ = recover() }()
		_ = call(t.Context(), in, "/s/M", func() error { t.Error("the call went on"); return nil })
	}()
	if places, left := free(t, conn, "*"), free(t, token, "*"); places != 2 || left != 5 {
		t.Errorf("got %d places free and %d left, want 2 and 5", places, left)
	}
}

// Twenty failures at once on a limit of which only successes count leave the count as it was. (field case 60)
func TestField60FailuresAreGivenBackExactly(t *testing.T) {
	l := limiter(t, limitgate.Count{Limit: 30, Window: time.Hour, Windowing: limitgate.Fixed})
	in := with(t, grpclimit.Config{Limits: []grpclimit.Limit{{
		Limiter: l, Key: grpclimit.Everybody, Counts: func(o grpclimit.Outcome) bool { return !grpclimit.Failed(o) },
	}}})
	for range 5 {
		if err := call(t.Context(), in, "/s/M", nil); err != nil {
			t.Fatal(err)
		}
	}
	var all, ready sync.WaitGroup
	ready.Add(20)
	for range 20 {
		all.Go(func() {
			err := call(t.Context(), in, "/s/M", func() error {
				ready.Done()
				ready.Wait()
				return status.Error(codes.Internal, "broken")
			})
			if status.Code(err) != codes.Internal {
				t.Errorf("got %v", err)
			}
		})
	}
	all.Wait()
	if got := free(t, l, "*"); got != 25 {
		t.Errorf("remaining: got %d, want 25", got)
	}
	func() {
		defer func() { _ = recover() }()
		_ = call(t.Context(), in, "/s/M", func() error { panic("broken") })
	}()
	if got := free(t, l, "*"); got != 25 {
		t.Errorf("remaining after a panic: got %d, want 25", got)
	}
}

func TestMethodsHaveTheirLimits(t *testing.T) {
	in := with(t, grpclimit.Config{Limits: []grpclimit.Limit{
		{Name: "one", Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 2}), Key: grpclimit.Everybody, Methods: []string{"/a.S/One"}},
		{Name: "service", Limiter: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 3}), Key: grpclimit.Method, Methods: []string{"/a.S/*"}},
	}})
	passed := map[string]int{}
	for _, m := range []string{"/a.S/One", "/a.S/Two", "/a.T/One", "/b.a.S/One"} {
		for range 5 {
			if call(t.Context(), in, m, nil) == nil {
				passed[m]++
			}
		}
	}
	for m, want := range map[string]int{"/a.S/One": 2, "/a.S/Two": 3, "/a.T/One": 5, "/b.a.S/One": 5} {
		if passed[m] != want {
			t.Errorf("%s: got %d, want %d", m, passed[m], want)
		}
	}
}

// A call whose deadline would pass before its turn does not wait for that, costs nothing, and is told when to come.
func TestDeadlineBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 10})
		in := grpclimit.New(l, grpclimit.Everybody)
		start := time.Now()
		for range 3 { // the third has its turn after 2 s
			if err := call(t.Context(), in, "/s/M", nil); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("three calls took %v, want 2s", took)
		}
		left := free(t, l, "*")
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		defer cancel()
		err := call(ctx, in, "/s/M", nil)
		s := status.Convert(err)
		if s.Code() != codes.ResourceExhausted || time.Since(start) != 2*time.Second || free(t, l, "*") != left {
			t.Errorf("got %v after %v with %d left, want a refusal at once with %d left", err, time.Since(start), free(t, l, "*"), left)
		}
		for _, d := range s.Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok && r.GetRetryDelay().AsDuration() != 600*time.Millisecond {
				t.Errorf("retry delay: got %v, want 600ms", r.GetRetryDelay().AsDuration())
			}
		}
	})
}

func TestWhoLeavesWhileWaitingGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 10})
		in := grpclimit.New(l, grpclimit.Everybody)
		if err := call(t.Context(), in, "/s/M", nil); err != nil {
			t.Fatal(err)
		}
		left := free(t, l, "*")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := call(ctx, in, "/s/M", nil); status.Code(err) != codes.Canceled {
			t.Errorf("got %v, want Canceled", err)
		}
		if got := free(t, l, "*"); got != left {
			t.Errorf("remaining: got %d, want %d", got, left)
		}
	})
}

func TestWaitHasCallsWaitForPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := with(t, grpclimit.Config{Wait: time.Second, Limits: []grpclimit.Limit{{Limiter: limiter(t, limitgate.Conn{Limit: 1}), Key: grpclimit.Everybody}}})
		var all sync.WaitGroup
		var passed, refused atomic.Int64
		for range 5 {
			all.Go(func() {
				err := call(t.Context(), in, "/s/M", func() error { time.Sleep(400 * time.Millisecond); return nil })
				switch status.Code(err) {
				case codes.OK:
					passed.Add(1)
				case codes.ResourceExhausted:
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if passed.Load() != 3 || refused.Load() != 2 {
			t.Errorf("got %d passed and %d refused, want 3 (at 0, 400 and 800 ms) and 2", passed.Load(), refused.Load())
		}
	})
}

// broken is a zone that can't decide.
type broken struct{ limitgate.Zone }

func (broken) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return limitgate.Decision{}, limitgate.Charge{}, errors.New("connection refused")
}

func TestOutageIsUnavailable(t *testing.T) {
	bad, err := limitgate.NewLimiter(broken{memzone.New(memzone.Config{})}, once)
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []bool{false, true} {
		var seen grpclimit.Event
		in := with(t, grpclimit.Config{
			Limits: []grpclimit.Limit{{Limiter: bad, Key: grpclimit.Everybody}}, FailOpen: open,
			Observe: func(_ context.Context, _ grpclimit.Call, e grpclimit.Event) { seen = e },
		})
		want := codes.Unavailable
		if open {
			want = codes.OK
		}
		if err := call(t.Context(), in, "/s/M", nil); status.Code(err) != want {
			t.Errorf("fail open %v: got %v, want %v", open, err, want)
		}
		if seen.Err == nil || seen.Limit != "default" {
			t.Errorf("fail open %v: observed %+v", open, seen)
		}
	}
}

func TestStreamHoldsItsPlaceUntilTheHandlerReturns(t *testing.T) {
	conn := limiter(t, limitgate.Conn{Limit: 1})
	in := grpclimit.New(conn, grpclimit.Everybody)
	begun, end := make(chan bool), make(chan bool)
	client := dial(t, &service{watch: func(w health.Health_WatchServer) error {
		begun <- true
		select {
		case <-end:
		case <-w.Context().Done():
		}
		return nil
	}}, []grpc.ServerOption{grpc.StreamInterceptor(in.StreamServer)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := client.Watch(ctx, &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	second, err := client.Watch(t.Context(), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a second stream: got %v, want ResourceExhausted", err)
	}
	cancel() // the client leaves
	if _, err := first.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("the first stream: got %v", err)
	}
	eventually(t, "the place of a client that left is free", func() bool { return free(t, conn, "*") == 1 })
	third, err := client.Watch(t.Context(), &health.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	end <- true
	if _, err := third.Recv(); err == nil {
		t.Error("a stream that ended gave a message")
	}
	eventually(t, "the place of a handler that returned is free", func() bool { return free(t, conn, "*") == 1 })
}

// eventually waits for what another goroutine of this process is about to do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestDryRunAndSkipAndRefuse(t *testing.T) {
	var seen []limitgate.Outcome
	limits := []grpclimit.Limit{{Limiter: limiter(t, once), Key: grpclimit.Method}}
	dry := with(t, grpclimit.Config{Limits: limits, DryRun: true,
		Skip:    func(_ context.Context, c grpclimit.Call) bool { return c.Method == "/s/Skipped" },
		Observe: func(_ context.Context, _ grpclimit.Call, e grpclimit.Event) { seen = append(seen, e.Outcome) },
	})
	for _, m := range []string{"/s/M", "/s/Skipped", "/s/M", "/s/Skipped"} {
		if err := call(t.Context(), dry, m, nil); err != nil {
			t.Errorf("%s: got %v", m, err)
		}
	}
	if len(seen) != 2 || seen[0] != limitgate.Passed || seen[1] != limitgate.Rejected {
		t.Errorf("observed %v, want one that passed and one that was refused", seen)
	}
	mine := errors.New("mine")
	own := with(t, grpclimit.Config{Limits: limits, Refuse: func(_ context.Context, c grpclimit.Call, f grpclimit.Refusal) error {
		if f.Limit != "default" || f.RetryAfter < 59*time.Minute || c.Method != "/s/M" {
			t.Errorf("got %+v of %+v", f, c)
		}
		return mine
	}})
	if err := call(t.Context(), own, "/s/M", nil); !errors.Is(err, mine) {
		t.Errorf("got %v, want my own error", err)
	}
}

// A wait that breaks off for a reason of its own lets no call pass.
func TestASleepThatFailsLetsNothingPass(t *testing.T) {
	in := with(t, grpclimit.Config{
		Limits: []grpclimit.Limit{{Limiter: limiter(t, limitgate.Req{Rate: limitgate.PerDay(1), Burst: 5}), Key: grpclimit.Everybody}},
		Sleep: func(_ context.Context, now limitgate.Time, _ time.Duration) (limitgate.Time, error) {
			return now, errors.New("stopped")
		},
	})
	if err := call(t.Context(), in, "/s/M", nil); err != nil {
		t.Fatal(err)
	}
	err := call(t.Context(), in, "/s/M", func() error { t.Error("the call went on"); return nil })
	if status.Code(err) != codes.Unknown {
		t.Errorf("got %v, want the error of the wait", err)
	}
}

package grpcretry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/retry"
	"github.com/limitgate/limitgate/retry/grpcretry"
)

// failure is an error with details.
func failure(t testing.TB, code codes.Code, details ...protoadapt.MessageV1) error {
	t.Helper()
	s, err := status.New(code, "failed").WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// script answers by a list, the last one again and again, and keeps when.
type script struct {
	answers []error
	begin   time.Time
	at      []time.Duration
}

func (s *script) invoke(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
	if s.at == nil {
		s.begin = time.Now()
	}
	s.at = append(s.at, time.Since(s.begin))
	return s.answers[min(len(s.at), len(s.answers))-1]
}

func with(t testing.TB, c grpcretry.Config) *grpcretry.Interceptor {
	t.Helper()
	in, err := grpcretry.NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func half(n int64) int64 { return n / 2 }

// What is called again, and when: half of 100 ms and of 200 ms is waited.
func TestWhatIsCalledAgain(t *testing.T) {
	in := func(d time.Duration) protoadapt.MessageV1 {
		return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
	}
	quota := &errdetails.QuotaFailure{}
	ms := time.Millisecond
	for name, c := range map[string]struct {
		method  string
		answers []error
		at      []time.Duration
		code    codes.Code
	}{
		"passes":                {"/s/M", []error{nil}, []time.Duration{0}, codes.OK},
		"told when":             {"/s/M", []error{failure(t, codes.ResourceExhausted, quota, in(300*ms)), nil}, []time.Duration{0, 350 * ms}, codes.OK},
		"told now":              {"/s/M", []error{failure(t, codes.ResourceExhausted, in(-time.Hour)), nil}, []time.Duration{0, 50 * ms}, codes.OK},
		"no time":               {"/s/M", []error{failure(t, codes.ResourceExhausted, quota), nil}, []time.Duration{0, 50 * ms}, codes.OK},
		"too late":              {"/s/M", []error{failure(t, codes.ResourceExhausted, in(time.Hour)), nil}, []time.Duration{0}, codes.ResourceExhausted},
		"message too large":     {"/s/M", []error{failure(t, codes.ResourceExhausted), nil}, []time.Duration{0}, codes.ResourceExhausted},
		"for ever":              {"/s/M", []error{failure(t, codes.ResourceExhausted, quota)}, []time.Duration{0, 50 * ms, 150 * ms}, codes.ResourceExhausted},
		"unavailable":           {"/s/M", []error{failure(t, codes.Unavailable), nil}, []time.Duration{0}, codes.Unavailable},
		"unavailable, told":     {"/s/M", []error{failure(t, codes.Unavailable, in(time.Second)), nil}, []time.Duration{0, 1050 * ms}, codes.OK},
		"unavailable to a read": {"/s/Read", []error{failure(t, codes.Unavailable), nil}, []time.Duration{0, 50 * ms}, codes.OK},
		"aborted":               {"/s/Read", []error{failure(t, codes.Aborted, in(time.Second)), nil}, []time.Duration{0}, codes.Aborted},
		"no status":             {"/s/Read", []error{errors.New("broken"), nil}, []time.Duration{0}, codes.Unknown},
		"then something else":   {"/s/M", []error{failure(t, codes.ResourceExhausted, quota), failure(t, codes.Internal)}, []time.Duration{0, 50 * ms}, codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: c.answers}
				in := with(t, grpcretry.Config{
					Policy: retry.Policy{Random: half}, Idempotent: func(m string) bool { return m == "/s/Read" },
				})
				err := in.UnaryClient(t.Context(), c.method, nil, nil, nil, s.invoke)
				if status.Code(err) != c.code {
					t.Errorf("got %v, want %v", err, c.code)
				}
				if len(s.at) != len(c.at) {
					t.Fatalf("attempts at %v, want %v", s.at, c.at)
				}
				for i := range c.at {
					if (s.at[i] - c.at[i]).Abs() > time.Microsecond {
						t.Errorf("attempts at %v, want %v", s.at, c.at)
					}
				}
			})
		})
	}
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := failure(t, codes.ResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
		var seen []retry.Event
		in := with(t, grpcretry.Config{Policy: retry.Policy{Random: half}, Observe: func(_ context.Context, method string, e retry.Event, err error) {
			if method != "/s/M" || err == nil {
				t.Errorf("observed %q, %v", method, err)
			}
			seen = append(seen, e)
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := &script{answers: []error{refused}}
		if err := in.UnaryClient(ctx, "/s/M", nil, nil, nil, s.invoke); status.Code(err) != codes.ResourceExhausted || time.Since(s.begin) != 0 {
			t.Errorf("got %v after %v, want the refusal at once", err, time.Since(s.begin))
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, stop)
		s = &script{answers: []error{refused}}
		if err := in.UnaryClient(ctx, "/s/M", nil, nil, nil, s.invoke); status.Code(err) != codes.Canceled || time.Since(s.begin) != time.Millisecond {
			t.Errorf("got %v after %v, want Canceled after 1ms", err, time.Since(s.begin))
		}
		if len(seen) != 2 || seen[0].Stop != retry.Late || seen[1].Stop != retry.None || seen[1].Attempt != 1 {
			t.Errorf("observed %v", seen)
		}
	})
}

// A client that obeys what grpclimit says is admitted by its second attempt.
func TestObedientClientIsAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerMinute(13), Capacity: 3})
		if err != nil {
			t.Fatal(err)
		}
		limit := grpclimit.New(l, grpclimit.Everybody)
		in := with(t, grpcretry.Config{Policy: retry.Policy{Random: func(int64) int64 { return 0 }}})
		attempts := 0
		for i := range 20 {
			before := attempts
			err := in.UnaryClient(t.Context(), "/s/M", nil, nil, nil, func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, opts ...grpc.CallOption) error {
				attempts++
				_, err := limit.UnaryServer(ctx, req, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, nil })
				return err
			})
			if err != nil || attempts-before > 2 {
				t.Fatalf("%d: got %v in %d attempts, want it to pass in two at most", i, err, attempts-before)
			}
		}
		if attempts != 20+17 {
			t.Errorf("got %d attempts, want 3 calls that passed at once and 17 that were refused first", attempts)
		}
	})
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	_, err := grpcretry.NewWith(grpcretry.Config{Policy: retry.Policy{Attempts: -1}})
	if err == nil || !strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("got %v", err)
	}
}

func TestPassingAllocatesNothing(t *testing.T) {
	in := grpcretry.New()
	ctx := t.Context()
	good := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	if n := testing.AllocsPerRun(1000, func() {
		if err := in.UnaryClient(ctx, "/s/M", nil, nil, nil, good); err != nil {
			t.Fatal(err)
		}
	}); n > 0 && !racing.Detector {
		t.Errorf("got %v allocations, want none", n)
	}
}

// A wait that breaks off for a reason of its own does not make a call that failed one that succeeded.
func TestASleepThatFailsIsNoSuccess(t *testing.T) {
	refused := failure(t, codes.ResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	in := with(t, grpcretry.Config{Policy: retry.Policy{
		Sleep: func(_ context.Context, now limitgate.Time, _ time.Duration) (limitgate.Time, error) {
			return now, errors.New("stopped")
		},
	}})
	s := &script{answers: []error{refused}}
	err := in.UnaryClient(t.Context(), "/s/M", nil, nil, nil, s.invoke)
	if status.Code(err) != codes.ResourceExhausted || len(s.at) != 1 {
		t.Errorf("got %v in %d attempts, want the refusal in 1", err, len(s.at))
	}
}

package grpclimit_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/grpclimit"
)

// retryAfter is what a refusal tells, 0 where it tells none.
func retryAfter(t *testing.T, err error) time.Duration {
	t.Helper()
	if status.Code(err) != codes.ResourceExhausted {
		t.Fatalf("got %v, want a refusal", err)
	}
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			return r.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// RetryInfo is honest: a moment sooner the call is refused, then it is admitted. (field case 92)
func TestField92RetryInfoIsHonest(t *testing.T) {
	for name, a := range map[string]limitgate.Algorithm{
		"req":     limitgate.Req{Rate: limitgate.PerMinute(7), Burst: 2, NoDelay: true},
		"token":   limitgate.Token{Rate: limitgate.PerMinute(13), Capacity: 3},
		"sliding": limitgate.Count{Limit: 5, Window: 10 * time.Second},
		"fixed":   limitgate.Count{Limit: 5, Window: 7 * time.Second, Windowing: limitgate.Fixed},
		"log":     limitgate.Count{Limit: 3, Window: 9 * time.Second, Windowing: limitgate.Log},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := grpclimit.New(limiter(t, a), grpclimit.Everybody)
				for round := range 5 {
					var err error
					for err == nil {
						err = call(t.Context(), in, "/s/M", nil)
					}
					wait := retryAfter(t, err)
					if wait <= 0 {
						t.Fatalf("%d: no time to retry", round)
					}
					const moment = time.Microsecond
					time.Sleep(wait - moment)
					retryAfter(t, call(t.Context(), in, "/s/M", nil))
					time.Sleep(moment)
					if err := call(t.Context(), in, "/s/M", nil); err != nil {
						t.Errorf("%d: after %v: got %v, want it to pass", round, wait, err)
					}
				}
			})
		})
	}
	in := grpclimit.New(limiter(t, limitgate.Conn{Limit: 1}), grpclimit.Everybody)
	_ = call(t.Context(), in, "/s/M", func() error {
		if d := retryAfter(t, call(t.Context(), in, "/s/M", nil)); d != 0 {
			t.Errorf("a limit of places: got %v, want no time", d)
		}
		return nil
	})
}

// A caller whose handler hangs past its deadline, again and again, leaves nothing behind. (field case 40)
func TestField40HangingHandlersLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := limiter(t, limitgate.Conn{Limit: 2})
		in := grpclimit.New(conn, grpclimit.Everybody)
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := call(ctx, in, "/s/M", func() error { <-ctx.Done(); return ctx.Err() })
			if err == nil {
				t.Error("a handler past its deadline ended well")
			}
			cancel()
		}
		if got := free(t, conn, "*"); got != 2 {
			t.Errorf("got %d places free, want 2", got)
		}
	})
}

// A function of the caller's that panics leaves no other limit unsettled.
func TestLimitsBehindAPanicAreSettled(t *testing.T) {
	five := limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 5}
	second, conn := limiter(t, five), limiter(t, limitgate.Conn{Limit: 1})
	in := with(t, grpclimit.Config{Limits: []grpclimit.Limit{
		{Limiter: limiter(t, five), Key: grpclimit.Everybody, Counts: func(grpclimit.Outcome) bool { panic("boom") }},
		{Limiter: second, Key: grpclimit.Everybody, Counts: grpclimit.Failed},
		{Limiter: conn, Key: grpclimit.Everybody},
	}})
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic is not the caller's")
			}
		}()
		_ = call(t.Context(), in, "/s/M", func() error { return nil })
	}()
	if n, p := free(t, second, "*"), free(t, conn, "*"); n != 5 || p != 1 {
		t.Errorf("got %d calls and %d places left, want 5 and 1", n, p)
	}
}

package limitgate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// broken is a zone that can't decide.
type broken struct{}

var errBroken = errors.New("the store is gone")

func (broken) Bind(l *limitgate.Limit) error {
	l.Bound = new(limitgate.Bound)
	return nil
}

func (broken) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (limitgate.Decision, limitgate.Charge, error) {
	return limitgate.Decision{}, limitgate.Charge{}, errBroken
}

func (broken) Refund(context.Context, limitgate.Time, *limitgate.Limit, limitgate.Charge) error {
	return errBroken
}

// A caller that drops the error must not let everybody in: what comes with an error is a refusal.
func TestAnErrorIsNoAdmission(t *testing.T) {
	ctx, now := context.Background(), limitgate.Time(0)
	req, err := limitgate.NewLimiter(broken{}, limitgate.Req{Rate: limitgate.PerSecond(1)})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := limitgate.NewLimiter(broken{}, limitgate.Conn{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	sleep := func(_ context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
		return now.Add(d), nil
	}
	leg := limitgate.Leg{Limiter: req, Key: "k"}
	decisions := map[string]func() (limitgate.Decision, error){
		"Take":       func() (limitgate.Decision, error) { return req.Take(ctx, "k") },
		"TakeAt":     func() (limitgate.Decision, error) { return req.TakeAt(ctx, now, "k", 1) },
		"cost 0":     func() (limitgate.Decision, error) { return req.TakeAt(ctx, now, "k", 0) },
		"wrong kind": func() (limitgate.Decision, error) { return conn.TakeAt(ctx, now, "k", 1) },
		"CheckAt":    func() (limitgate.Decision, error) { return req.CheckAt(ctx, now, "k", 1) },
		"WaitAt":     func() (limitgate.Decision, error) { return req.WaitAt(ctx, now, "k", 1, sleep) },
		"AcquireAt":  func() (limitgate.Decision, error) { _, d, err := conn.AcquireAt(ctx, now, "k"); return d, err },
		"a receipt":  func() (limitgate.Decision, error) { _, d, err := req.TakeReceiptAt(ctx, now, "k", 1); return d, err },
		"All of one": func() (limitgate.Decision, error) {
			v, err := limitgate.All(ctx, now, []limitgate.Leg{leg})
			return v.Decision, err
		},
		"All of two": func() (limitgate.Decision, error) {
			v, err := limitgate.All(ctx, now, []limitgate.Leg{leg, {Limiter: req, Key: "l"}})
			return v.Decision, err
		},
		"AcquireAll": func() (limitgate.Decision, error) {
			v, err := limitgate.AcquireAll(ctx, now, []limitgate.Leg{{Limiter: conn, Key: "k"}}, make([]limitgate.Place, 1))
			return v.Decision, err
		},
	}
	for name, f := range decisions {
		if d, err := f(); err == nil || d.Admitted() {
			t.Errorf("%s: got %v with error %v, want a refusal and an error", name, d.Outcome, err)
		}
	}
}

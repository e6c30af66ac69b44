package guard_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/memzone"
)

// away is a zone in a store that does not answer.
type away struct{ limitgate.Zone }

func (away) Do(context.Context, limitgate.Time, *limitgate.Limit, string, limitgate.Cost, limitgate.Mode) (d limitgate.Decision, c limitgate.Charge, err error) {
	return d, c, errors.New("connection refused")
}

func ExampleNew() {
	store := guard.New(guard.Config{
		Timeout: 20 * time.Millisecond,
		Tell:    func(e guard.Event) { fmt.Println("the store", e) },
	})
	zone := store.Zone(away{memzone.New(memzone.Config{})}, 0)
	// This instance goes on alone.
	limit := limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 1, NoDelay: true}
	login, err := limitgate.NewLimiter(zone.Fail(limitgate.FailLocal), limit)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		d, err := login.Take(context.Background(), "alice")
		fmt.Println(d.Outcome, d.Fallback(), err)
	}
	// Output:
	// the store does not answer, fail=local decided: connection refused
	// PASSED local <nil>
	// PASSED local <nil>
	// REJECTED local <nil>
}

package zonetest_test

import (
	"context"
	"fmt"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/zonetest"
)

// A test that needs a zone and no other package may take the model.
func ExampleNewModel() {
	zone := zonetest.NewModel()
	limit, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 1})
	for range 3 {
		d, _ := limit.TakeAt(context.Background(), 0, "192.0.2.7", 1)
		fmt.Println(d.Outcome)
	}
	// Output:
	// PASSED
	// DELAYED
	// REJECTED
}

// The kit calls it, where a zone has it, between two configurations: a smaller burst cuts the debt to its own full bucket.
func ExampleModel_Rebind() {
	ctx := context.Background()
	zone := zonetest.NewModel()
	wide, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), Burst: 9, NoDelay: true})
	_, _ = wide.TakeAt(ctx, 0, "key", 10)
	zone.Rebind()
	tight, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerMinute(1), NoDelay: true})
	d, _ := tight.TakeAt(ctx, 0, "key", 1)
	fmt.Println(d.Outcome, d.RetryAfter())
	// Output: REJECTED 1m0s
}

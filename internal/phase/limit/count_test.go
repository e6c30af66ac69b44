package limit

import (
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/meter"
)

// TestOutcomes: every kind of decision counts as what became of the request.
func TestOutcomes(t *testing.T) {
	type d = limitgate.Decision
	for _, c := range []struct {
		name   string
		d      d
		dryRun bool
		want   meter.Outcome
		wait   time.Duration
	}{
		{"passed", d{}, false, meter.Passed, 0},
		{"passed in dry run", d{}, true, meter.DryPassed, 0},
		{"delayed", d{Outcome: limitgate.Delayed, Wait: time.Second}, false, meter.Delayed, time.Second},
		{"delayed in dry run", d{Outcome: limitgate.Delayed, Wait: time.Second}, true, meter.DryDelayed, time.Second},
		{"delayed by too little", d{Outcome: limitgate.Delayed, Wait: time.Microsecond}, false, meter.Passed, 0},
		{"refused", d{Outcome: limitgate.Rejected, Wait: time.Second}, false, meter.Refused, 0},
		{"refused in dry run", d{Outcome: limitgate.Rejected, Wait: time.Second}, true, meter.DryRefused, 0},
		{"no room", d{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, false, meter.NoRoom, 0},
		{"no room in dry run", d{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, true, meter.DryRefused, 0},
		{"passed here", d{}.By(limitgate.FailLocal), false, meter.LocalPassed, 0},
		{"delayed here", d{Outcome: limitgate.Delayed, Wait: time.Second}.By(limitgate.FailLocal), false, meter.LocalDelayed, time.Second},
		{"refused here", d{Outcome: limitgate.Rejected, Wait: time.Second}.By(limitgate.FailLocal), false, meter.LocalRefused, 0},
		{"refused here in dry run", d{Outcome: limitgate.Rejected, Wait: time.Second}.By(limitgate.FailLocal), true, meter.DryRefused, 0},
		{"open", d{}.By(limitgate.FailOpen), false, meter.Open, 0},
		{"closed", d{Outcome: limitgate.Rejected}.By(limitgate.FailClosed), false, meter.Closed, 0},
	} {
		if got, wait := outcomeOf(&c.d, c.dryRun, false); got != c.want || wait != c.wait {
			t.Errorf("%s: got %v, wait %v; want %v, %v", c.name, got, wait, c.want, c.wait)
		}
	}
	for outcome, want := range map[limitgate.Outcome]meter.Outcome{limitgate.Passed: meter.WatchedPassed, limitgate.Rejected: meter.WatchedRefused} {
		if got, _ := outcomeOf(&d{Outcome: outcome}, true, true); got != want {
			t.Errorf("%v of a key that is only watched: got %v, want %v", outcome, got, want)
		}
	}
}

// TestCounted: of limits that are asked together each counts what it admitted, and only the one that refuses if one does.
func TestCounted(t *testing.T) {
	b := newBench(t, `limit_req_zone $binary_remote_addr zone=A:1m rate=1r/s; limit_req_zone $uri zone=B:1m rate=1r/h;
		limit_conn_zone $uri zone=C:1m;
		server { location / { limit_req zone=A burst=9 nodelay; limit_req zone=B burst=1 nodelay; limit_conn C 9; } }`)
	for range 5 {
		b.ask(0, "/")
	}
	for zone, want := range map[string][2]uint64{"A": {2, 0}, "B": {2, 3}, "C": {2, 0}} {
		c := b.meters.Zone(zone).Counts()
		if got := [2]uint64{c.Outcomes[meter.Passed], c.Outcomes[meter.Refused]}; got != want || c.Sum() != want[0]+want[1] {
			t.Errorf("zone %s: got %v, of %d in all; want %v passed and refused", zone, got, c.Sum(), want)
		}
	}
	if v := b.meters.Zone("B").Limited(b.start, 1); len(v.Entries) != 1 || v.Entries[0].Count != 3 {
		t.Errorf("got %+v limited, want one key three times", v.Entries)
	}
}

// TestHinted: a refusal without a time is noted, unless an add_header gives one.
func TestHinted(t *testing.T) {
	for directives, want := range map[string]uint64{"": 1, `add_header Retry-After 1 always;`: 0, `add_header X-Other 1 always;`: 1} {
		b := newBench(t, `limit_conn_zone $uri zone=C:1m; server { location / { limit_conn C 1; `+directives+` } }`)
		b.ask(0, "/")
		b.ask(0, "/")
		if c := b.meters.Zone("C").Counts(); c.Outcomes[meter.Refused] != 1 || c.Unsaid != want {
			t.Errorf("%q: got %d refused, %d without a time; want 1 and %d", directives, c.Outcomes[meter.Refused], c.Unsaid, want)
		}
	}
}

package limit

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/errorlog"
)

// quotas are a window and a bucket of tokens that count by arguments of the request, and a rate beside them.
const quotas = `
	limit_req_zone $arg_a zone=R:1m rate=10r/s;
	limit_count_zone $arg_c zone=C:1m limit=3 window=1m algorithm=fixed;
	limit_token_zone $arg_t zone=T:1m rate=1r/s capacity=5;
	limit_conn_zone $arg_n zone=N:1m;
`

func TestCount(t *testing.T) {
	b := newBench(t, quotas+`server { location / { limit_count zone=C; limit_count_status 429; } }`)
	b.tell([]step{ // the tests begin at a full minute
		{0, "/?c=x", "goes on count:PASSED"},
		{10 * time.Second, "/?c=x", "goes on count:PASSED"},
		{20 * time.Second, "/?c=x", "goes on count:PASSED"},
		{20 * time.Second, "/?c=x", "fails 429 count:REJECTED, Retry-After: 40"},
		{20 * time.Second, "/?c=y", "goes on count:PASSED"},
		{59*time.Second + time.Millisecond, "/?c=x", "fails 429 count:REJECTED, Retry-After: 1"},
		{60 * time.Second, "/?c=x", "goes on count:PASSED"},
		{0, "/", "goes on"},
	})
	want := "error: limiting requests, excess: 1.000 by zone \"C\"\nerror: limiting requests, excess: 1.000 by zone \"C\"\n"
	if got := b.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

func TestWindowsOfACount(t *testing.T) {
	for name, c := range map[string]struct {
		zone  string
		story []step
	}{
		"sliding": {"limit=10 window=1m", []step{
			{0, "/?c=x", "goes on count:PASSED"}, {59 * time.Second, "/?c=x", "goes on count:PASSED"}}},
		"log": {"limit=1 window=10s algorithm=log", []step{
			{5 * time.Second, "/?c=x", "goes on count:PASSED"}, {14 * time.Second, "/?c=x", "fails 503 count:REJECTED, Retry-After: 1"},
			{15 * time.Second, "/?c=x", "goes on count:PASSED"}}},
		"first": {"limit=1 window=10s algorithm=fixed first=on", []step{
			{5 * time.Second, "/?c=x", "goes on count:PASSED"}, {11 * time.Second, "/?c=x", "fails 503 count:REJECTED, Retry-After: 4"},
			{15 * time.Second, "/?c=x", "goes on count:PASSED"}}},
		// The tests begin at 12:00 in UTC, which is 17:30 in Calcutta: its day ends six and a half hours later.
		"timezone": {"limit=1 window=1d algorithm=fixed timezone=Asia/Calcutta", []step{
			{0, "/?c=x", "goes on count:PASSED"}, {time.Hour, "/?c=x", "fails 503 count:REJECTED, Retry-After: 19800"},
			{6*time.Hour + 30*time.Minute, "/?c=x", "goes on count:PASSED"}}},
		"none": {"limit=0 window=1h", []step{
			{0, "/?c=x", "fails 503 count:REJECTED"}, {time.Hour, "/?c=x", "fails 503 count:REJECTED"}, {0, "/", "goes on"}}},
	} {
		t.Run(name, func(t *testing.T) {
			newBench(t, `limit_count_zone $arg_c zone=C:1m `+c.zone+`; server { location / { limit_count zone=C; } }`).tell(c.story)
		})
	}
}

func TestToken(t *testing.T) {
	b := newBench(t, quotas+`server { location / { limit_token zone=T cost=$arg_cost; limit_token_status 429; limit_token_log_level warn; } }`)
	b.tell([]step{
		{0, "/?t=x&cost=3", "goes on token:PASSED"},
		{0, "/?t=x&cost=3", "fails 429 token:REJECTED, Retry-After: 1"}, // two are left, the third comes in a second
		{0, "/?t=x&cost=2", "goes on token:PASSED"},
		{0, "/?t=x&cost=0", "goes on"},
		{4 * time.Second, "/?t=x&cost=4", "goes on token:PASSED"},
		{4 * time.Second, "/?t=x&cost=6", "fails 429 token:REJECTED"}, // never passes
	})
	want := "warn: limiting requests, excess: 5.000 by zone \"T\"\nwarn: limiting requests, excess: 10.000 by zone \"T\"\n"
	if got := b.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

// Limits of all kinds are one decision: where one refuses none is charged, the first that refuses is named, and what the
// client is told to wait is the longest.
func TestKindsDecideTogether(t *testing.T) {
	b := newBench(t, quotas+`server { location / { limit_token zone=T; limit_count zone=C; limit_req zone=R burst=1; limit_conn N 1;
		limit_req_status 501; limit_count_status 502; limit_token_status 504; } }`)
	b.tell([]step{
		{0, "/?a=x&c=x&t=x", "goes on PASSED count:PASSED token:PASSED"},
		{0, "/?a=x&c=x&t=x", "goes on after 100ms DELAYED count:PASSED token:PASSED"},
		{0, "/?a=x&c=x&t=x", "fails 501 REJECTED count:PASSED token:PASSED, Retry-After: 1"}, // and not charged:
		{time.Second, "/?a=x&c=x&t=x", "goes on PASSED count:PASSED token:PASSED"},
		{time.Second, "/?a=x&c=x&t=x", "fails 502 PASSED count:REJECTED token:PASSED, Retry-After: 59"}, // of R it could have waited
		{time.Second, "/?a=x&c=y&t=x", "goes on after 100ms DELAYED count:PASSED token:PASSED"},         // R was not charged
		{time.Second, "/?t=x", "goes on token:PASSED"},
		{time.Second, "/?t=x", "goes on token:PASSED"},
		{time.Second, "/?c=x&t=x", "fails 502 count:REJECTED token:REJECTED, Retry-After: 59"},
		{time.Second, "/?c=z&t=x", "fails 504 count:PASSED token:REJECTED, Retry-After: 1"},
	})
}

// A kind in dry run changes nothing for the others, and counts only what they let pass.
func TestDryRunOfOneKind(t *testing.T) {
	b := newBench(t, quotas+`server { location / { limit_count zone=C; limit_count_dry_run on; limit_token zone=T; limit_req zone=R; } }`)
	b.tell([]step{
		{0, "/?c=x&t=x", "goes on count:PASSED token:PASSED"},
		{0, "/?c=x&t=x", "goes on count:PASSED token:PASSED"},
		{0, "/?c=x&t=x", "goes on count:PASSED token:PASSED"},
		{0, "/?c=x&t=x", "goes on count:REJECTED_DRY_RUN token:PASSED"},
		{0, "/?c=x&t=x", "goes on count:REJECTED_DRY_RUN token:PASSED"},
		{0, "/?c=x&t=x", "fails 503 token:REJECTED, Retry-After: 1"}, // the rehearsed refusals took their tokens
		{0, "/?c=y&a=x", "goes on PASSED count:PASSED"},
		{0, "/?c=y&a=x", "fails 503 REJECTED, Retry-After: 1"},
		{0, "/?c=y", "goes on count:PASSED"},
		{0, "/?c=y", "goes on count:PASSED"}, // what R refused was not counted
		{0, "/?c=y", "goes on count:REJECTED_DRY_RUN"},
	})
	want := `error: limiting requests, dry run, excess: 1.000 by zone "C"
error: limiting requests, dry run, excess: 1.000 by zone "C"
error: limiting requests, excess: 5.000 by zone "T"
error: limiting requests, excess: 1.000 by zone "R"
error: limiting requests, dry run, excess: 1.000 by zone "C"
`
	if got := b.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

func TestRemaining(t *testing.T) {
	b := newBench(t, quotas+`server { location / { limit_count zone=C cost=2; limit_token zone=T cost=2; limit_req zone=R; } }`)
	for i, c := range []struct {
		target       string
		count, token int64
	}{{"/?c=x&t=x", 1, 3}, {"/?c=x&t=x", 1, 3}, {"/?t=x", 0, 1}, {"/?c=y&t=x", 3, 1}} {
		r, _ := b.ask(0, c.target)
		if r.CountLeft != c.count || r.TokenLeft != c.token {
			t.Errorf("request %d: got %d and %d left, want %d and %d", i, r.CountLeft, r.TokenLeft, c.count, c.token)
		}
	}
}

func TestHeadersOfQuotas(t *testing.T) {
	for name, c := range map[string]struct {
		directives string
		story      []step
	}{
		"draft, fixed": {"limit_count zone=C; limit_headers draft;", []step{
			{20 * time.Second, "/?c=x", `goes on count:PASSED, RateLimit-Policy: "C";q=3;w=60, RateLimit: "C";r=2;t=40`},
			{20 * time.Second, "/?c=x", `goes on count:PASSED, RateLimit-Policy: "C";q=3;w=60, RateLimit: "C";r=1;t=40`},
		}},
		"draft, tokens": {"limit_token zone=T cost=2; limit_headers draft;", []step{
			{0, "/?t=x", `goes on token:PASSED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=3;t=1`},
			{0, "/?t=x", `goes on token:PASSED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=1;t=1`},
			{0, "/?t=x", `fails 503 token:REJECTED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=1;t=1, Retry-After: 1`},
		}},
		"draft, absurd costs": {"limit_token zone=T cost=$arg_cost; limit_headers draft;", []step{
			{0, "/?t=x&cost=2", `goes on token:PASSED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=3;t=1`},
			{0, "/?t=x&cost=9223372036854775807", `fails 503 token:REJECTED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=3;t=1`},
			{0, "/?t=x&cost=9223372036854775", `fails 503 token:REJECTED, RateLimit-Policy: "T";q=5;w=5, RateLimit: "T";r=3;t=1`},
		}},
		"legacy, tokens": {"limit_token zone=T cost=2; limit_headers legacy;", []step{
			{0, "/?t=x", "goes on token:PASSED, X-RateLimit-Limit: 5, X-RateLimit-Remaining: 3, X-RateLimit-Reset: 2"},
			{0, "/?t=x", "goes on token:PASSED, X-RateLimit-Limit: 5, X-RateLimit-Remaining: 1, X-RateLimit-Reset: 4"},
			{0, "/?t=x", "fails 503 token:REJECTED, X-RateLimit-Limit: 5, X-RateLimit-Remaining: 1, X-RateLimit-Reset: 4, Retry-After: 1"},
		}},
		"legacy, fixed, and what another kind refused": {"limit_count zone=C cost=2; limit_req zone=R; limit_headers legacy;", []step{
			{20 * time.Second, "/?c=x", "goes on count:PASSED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 1, X-RateLimit-Reset: 40"},
			{20 * time.Second, "/?a=x", "goes on PASSED, X-RateLimit-Limit: 1, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 1"},
			{20 * time.Second, "/?a=x&c=y", "fails 503 REJECTED count:PASSED, X-RateLimit-Limit: 1, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 1, Retry-After: 1"},
		}},
		"draft, none": {"limit_count zone=Z; limit_headers draft;", []step{
			{0, "/?c=x", `fails 503 count:REJECTED, RateLimit-Policy: "Z";q=0;w=1, RateLimit: "Z";r=0`},
		}},
		"draft, all": {"limit_count zone=C; limit_token zone=T; limit_req zone=R burst=9 nodelay; limit_headers draft;", []step{
			{0, "/?a=x&c=x&t=x", `goes on PASSED count:PASSED token:PASSED, RateLimit-Policy: "C";q=3;w=60, "R";q=10;w=1, "T";q=5;w=5, RateLimit: "C";r=2;t=60, "R";r=9;t=1, "T";r=4;t=1`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			newBench(t, quotas+`limit_count_zone $arg_c zone=Z:1m limit=0 window=1h; server { location / { `+c.directives+` } }`).tell(c.story)
		})
	}
}

// What a refusal by a sliding window, a log or a first request tells the client of the reset is at most how long it takes.
func TestLegacyResetOfOtherWindows(t *testing.T) {
	for zone, want := range map[string]string{
		"algorithm=sliding": "100", "algorithm=log": "60", "algorithm=fixed first=on": "60", "algorithm=fixed timezone=UTC": "60",
	} {
		b := newBench(t, `limit_count_zone $arg_c zone=C:1m limit=3 window=1m `+zone+`; server { location / { limit_count zone=C; limit_headers legacy; } }`)
		b.tell([]step{{20 * time.Second, "/?c=x", "goes on count:PASSED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 2, X-RateLimit-Reset: " + want}})
	}
}

func TestQuotaWithoutRoom(t *testing.T) {
	b := newBench(t, `limit_count_zone $arg_c zone=C:32k limit=9 window=1m overflow=reject; server { location / { limit_count zone=C; } }`)
	b.level = errorlog.Crit
	refused := 0
	for i := range 3000 {
		r, _ := b.ask(0, "/?c="+strconv.Itoa(i))
		if r.Response.Status == 503 {
			refused++
		}
	}
	if refused < 900 {
		t.Errorf("got %d of 3000 keys refused by 2048 places", refused)
	}
	if got, want := b.log.Messages(), "crit: could not allocate node in limit_count zone \"C\"\n"; !strings.HasPrefix(got, want) {
		t.Errorf("log: got %.200q, want %q", got, want)
	}
}

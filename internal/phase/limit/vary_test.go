package limit

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/phase"
	"github.com/limitgate/limitgate/internal/phase/phasetest"
	"github.com/limitgate/limitgate/internal/request"
)

// tiers are limits whose numbers come from the request: by a map, or plainly.
const tiers = `
	map $arg_tier $rate { default 1r/s; gold 10r/s; }
	map $arg_tier $burst { default ""; gold 3; }
	limit_req_zone $arg_k zone=R:1m rate=$rate;
	limit_req_zone $arg_k zone=P:1m rate=$arg_rate;
	limit_req_zone $arg_k zone=F:1m rate=1r/s;
	limit_count_zone $arg_k zone=C:1m limit=$arg_limit window=1m algorithm=fixed;
	limit_count_zone $arg_k zone=W:1m limit=1 window=$arg_window;
	limit_token_zone $arg_k zone=T:1m rate=$arg_rate capacity=$arg_capacity;
`

func TestNumbersOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		directives string
		story      []step
		log        string // of what could not be read
	}{
		"tiers": {"limit_req zone=R burst=$burst nodelay;", []step{
			{0, "/?k=x&tier=gold", "goes on PASSED"}, {0, "/?k=x&tier=gold", "goes on PASSED"}, {0, "/?k=x&tier=gold", "goes on PASSED"},
			{0, "/?k=x&tier=gold", "goes on PASSED"}, {0, "/?k=x&tier=gold", "fails 503 REJECTED, Retry-After: 1"},
			{0, "/?k=y", "goes on PASSED"}, {0, "/?k=y", "fails 503 REJECTED, Retry-After: 1"},
			// The state is the key's: with another tier it has the same debt, in time.
			{350 * time.Millisecond, "/?k=x", "fails 503 REJECTED, Retry-After: 1"}, {400 * time.Millisecond, "/?k=x", "goes on PASSED"},
		}, ""},
		"burst and delay": {"limit_req zone=F burst=$arg_b delay=$arg_d;", []step{
			{0, "/?k=x&b=3&d=1", "goes on PASSED"}, {0, "/?k=x&b=3&d=1", "goes on PASSED"},
			{0, "/?k=x&b=3&d=1", "goes on after 1s DELAYED"}, {0, "/?k=x&b=3&d=nodelay", "goes on PASSED"},
			{0, "/?k=x&b=3", "fails 503 REJECTED, Retry-After: 1"}, {0, "/?k=x&b=4", "goes on after 4s DELAYED"},
			{0, "/?k=y", "goes on PASSED"}, {0, "/?k=y&b=0&d=0", "fails 503 REJECTED, Retry-After: 1"},
		}, ""},
		"a rate that is none": {"limit_req zone=P burst=5;", []step{
			{0, "/?k=x&rate=fast", "fails 503 REJECTED"}, {500 * time.Millisecond, "/?k=x", "fails 503 REJECTED"},
			{time.Second, "/?k=x&rate=0r/s", "fails 503 REJECTED"}, {2 * time.Second, "/?k=x&rate=9000000r/s", "fails 503 REJECTED"},
			{2 * time.Second, "/?k=x&rate=1r/s", "goes on PASSED"}, {2 * time.Second, "/?rate=bad", "goes on"},
		}, `error: limit_req zone "P": invalid rate "fast"; the request is refused
error: limit_req zone "P": invalid rate "0r/s"; the request is refused
error: limit_req zone "P": invalid rate "9000000r/s"; the request is refused
`},
		"a burst and a delay that are none": {"limit_req zone=F burst=$arg_b delay=$arg_d;", []step{
			{0, "/?k=x&b=-1&d=x", "goes on PASSED"}, {0, "/?k=x&b=9&d=1.5", "goes on after 1s DELAYED"}, {0, "/?k=x&b=much", "fails 503 REJECTED, Retry-After: 2"},
			{5 * time.Second, "/?k=x&b=99999999999", "fails 503 REJECTED"},
		}, `error: limit_req zone "F": invalid burst "-1"; it counts as none
error: limit_req zone "F": limit of requests: burst 99999999999 at 1r/s would take more than 73 years to drain; at most 2305843008; the request is refused
`},
		"limits": {"limit_count zone=C;", []step{
			{0, "/?k=x&limit=1", "goes on count:PASSED"}, {0, "/?k=x&limit=1", "fails 503 count:REJECTED, Retry-After: 60"},
			{0, "/?k=x&limit=2", "goes on count:PASSED"}, {0, "/?k=x&limit=0", "fails 503 count:REJECTED"}, // blocked, and nothing is said of it
			{0, "/?k=x&limit=99999999", "fails 503 count:REJECTED"}, {5 * time.Second, "/?k=x&limit=", "fails 503 count:REJECTED"},
		}, `error: limit_count zone "C": limit of a window: 99999999 is not between 1 and 16777215, which is the most that windowing fixed can count; the request is refused
error: limit_count zone "C": invalid limit ""; the request is refused
`},
		"windows": {"limit_count zone=W;", []step{
			{0, "/?k=x&window=1m", "goes on count:PASSED"}, {0, "/?k=x&window=1m", "fails 503 count:REJECTED, Retry-After: 61"},
			{0, "/?k=x&window=1h", "goes on count:PASSED"}, // another window begins afresh
			{time.Minute, "/?k=x&window=1h", "fails 503 count:REJECTED, Retry-After: 3541"},
			{0, "/?k=x&window=60s", "fails 503 count:REJECTED, Retry-After: 61"}, // the same as 1m
			{0, "/?k=x&window=400d", "fails 503 count:REJECTED"},
		}, `error: limit_count zone "W": limit of a window: 9600h0m0s is not a whole number of milliseconds between 1ms and 8784h0m0s; the request is refused
`},
		"tokens": {"limit_token zone=T cost=$arg_cost;", []step{
			{0, "/?k=x&rate=1r/s&capacity=5&cost=5", "goes on token:PASSED"}, {0, "/?k=x&rate=1r/s&capacity=5&cost=1", "fails 503 token:REJECTED, Retry-After: 1"},
			{0, "/?k=x&rate=1r/s&capacity=7&cost=2", "goes on token:PASSED"}, {0, "/?k=x&rate=1r/s&capacity=0&cost=1", "fails 503 token:REJECTED"},
			{0, "/?k=y&rate=1r/s&capacity=7&cost=two", "fails 503 token:REJECTED"},
		}, `error: limit_token zone "T": invalid cost "two"; the request is refused
`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tiers+`server { location / { `+c.directives+` } }`)
			b.tell(c.story)
			got := ""
			for line := range strings.Lines(b.log.Messages()) {
				if !strings.Contains(line, "limiting requests") && !strings.Contains(line, "delaying request") {
					got += line
				}
			}
			if got != c.log {
				t.Errorf("log: got\n%s\nwant\n%s", got, c.log)
			}
		})
	}
}

// A request whose numbers can't be read is refused before others are asked, so that they don't charge it; in dry run it
// passes.
func TestNumbersThatCantBeReadChargeNobody(t *testing.T) {
	b := newBench(t, tiers+`server { location / { limit_req zone=F; limit_token zone=T; } location /dry { limit_token zone=T; limit_token_dry_run on; } }`)
	b.tell([]step{
		{0, "/?k=x&rate=bad&capacity=1", "fails 503 token:REJECTED"},
		{0, "/?k=x&rate=1r/s&capacity=1", "goes on PASSED token:PASSED"},
	})
	dry := newBench(t, tiers+`server { location / { limit_token zone=T; limit_token_dry_run on; } }`)
	dry.tell([]step{{0, "/?k=x&rate=bad&capacity=1", "goes on token:REJECTED_DRY_RUN"}})
	want := "error: limit_token zone \"T\": invalid rate \"bad\"; the request is refused\nerror: limiting requests, dry run, excess: 1.000 by zone \"T\"\n"
	if got := dry.log.Messages(); got != want {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

// Whatever values clients make up, a limit keeps a bounded number of them, and a zone has sixteen lengths of windows.
func TestManyValuesFillNoMemory(t *testing.T) {
	h, env := compile(t, tiers+`server { location / { limit_req zone=P burst=$arg_b; limit_count zone=W; } }`, limitgate.Exact)
	phasetest.Good(t, env)
	b := &bench{t: t, handler: h, start: start}
	b.level = errorlog.Crit
	for i := range 3 * maxKnown {
		b.ask(0, fmt.Sprintf("/?k=x&rate=%dr/s&b=%s&window=%d", i+1, strings.Repeat("x", i%200), i+1))
	}
	for i, want := range []int{maxKnown, maxKnown} {
		if got := len(*h.(*handler).earnest[i].vary.known.Load()); got > want {
			t.Errorf("limit %d keeps %d values, want at most %d", i, got, want)
		}
	}
	if got := parts(env, "W"); got != 16 {
		t.Errorf("got %d lengths of windows, want 16", got)
	}
	b.level = errorlog.Error
	b.tell([]step{{10 * time.Second, "/?k=n&rate=1r/s&window=9h", "fails 503 count:REJECTED"}})
	want := `error: limit_count zone "W": sliding windows of 9h0m0s would be one more than the 16 tables that a zone may have; the request is refused`
	if got := b.log.Messages(); !strings.HasPrefix(got, want) {
		t.Errorf("log: got\n%s\nwant\n%s", got, want)
	}
}

// A limit that no table can hold brings no more tables into being than one that works.
func TestLimitsWithoutRoomFillNoMemory(t *testing.T) {
	h, env := compile(t, `limit_count_zone $arg_k zone=L:32k limit=10000 window=$arg_w algorithm=log; server { location / { limit_count zone=L; } }`, limitgate.Exact)
	phasetest.Good(t, env)
	b := &bench{t: t, handler: h, level: errorlog.Error, start: start}
	for i := range 50 {
		if r, next := b.ask(time.Duration(i)*time.Second, fmt.Sprintf("/?k=x&w=%d", i+1)); next != phase.Fail || r.Response.Status != 503 {
			t.Fatalf("window %d: got %s, want it refused", i+1, b.outcome(r, next))
		}
	}
	if got := parts(env, "L"); got != 16 {
		t.Errorf("got %d tables, want 16", got)
	}
	if got, want := b.log.Messages(), "have no room for a log of 10000"; !strings.Contains(got, want) {
		t.Errorf("log: got\n%s\nwant %s in it", got, want)
	}
}

// parts is how many parts a zone has.
func parts(env *phase.Env, zone string) (n int) {
	for id := range env.Zones.(zones) {
		if (phase.ZoneSpec{Name: zone}).Beside(id) {
			n++
		}
	}
	return n
}

// A key that many requests ask about with many numbers at once gets what the largest of them allows.
func TestNumbersFromManySides(t *testing.T) {
	http := tiers + `server { location / { limit_count zone=C; } }`
	h, env := compile(t, http, limitgate.Exact)
	phasetest.Good(t, env)
	var passed [8]int
	var wg sync.WaitGroup
	for g := range passed {
		wg.Go(func() {
			for i := range 200 {
				r := phasetest.Request(t, fmt.Sprintf("GET /?k=x&limit=%d HTTP/1.1\r\nHost: h\r\n\r\n", 1+(g+i)%50), &phasetest.Client{}, nil)
				r.Now = start
				if h.Serve(r) == phase.Continue {
					passed[g]++
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range passed {
		total += n
	}
	if total != 50 {
		t.Errorf("got %d passed, want 50", total)
	}
}

// Values that were met before leave no garbage.
func TestKnownNumbersLeaveNoGarbage(t *testing.T) {
	b := newBench(t, tiers+`server { location / { limit_req zone=R burst=$burst; limit_count zone=C cost=$arg_cost; limit_token zone=T; limit_headers draft; } }`)
	r := phasetest.Request(t, "GET /?k=x&tier=gold&limit=1000000&rate=10r/s&capacity=100000&cost=2 HTTP/1.1\r\nHost: h\r\n\r\n", &b.client, nil)
	conn, addr, uri, args := r.Conn, r.ClientAddr, r.URI, r.Args
	settings := &request.Settings{ErrorLog: errorlog.New(errorlog.Sink{Writer: io.Discard, Level: errorlog.Info})}
	now := b.start
	serve := func() {
		r.Reset()
		r.Conn, r.ClientAddr, r.URI, r.Args, r.Settings = conn, addr, uri, args, settings
		now += limitgate.Time(time.Second)
		r.Now = now
		if next := b.handler.Serve(r); next != phase.Continue {
			t.Fatalf("got %v, want it to go on", next)
		}
	}
	for range 20 {
		serve()
	}
	if n := testing.AllocsPerRun(200, serve); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

func TestCompileNumbers(t *testing.T) {
	const count = `limit_count_zone $arg_a zone=A:1m `
	for name, c := range map[string]struct{ text, want string }{
		"unknown variable":      {`limit_req_zone $arg_a zone=A:1m rate=$nosuch; server { location / { limit_req zone=A; } }`, `unknown "nosuch" variable`},
		"sliding":               {count + `limit=1048576 window=1m; server { location / { } }`, `zone "A": limit of a window: 1048576 is not between 1 and 1048575, which is the most that windowing sliding can count`},
		"fixed":                 {count + `limit=16777216 window=1m algorithm=fixed; server { location / { } }`, `zone "A": limit of a window: 16777216 is not between 1 and 16777215, which is the most that windowing fixed can count`},
		"log":                   {count + `limit=10001 window=1m algorithm=log; server { location / { } }`, `zone "A": limit of a window: 10001 is not between 1 and 10000, which is the most that windowing log can count`},
		"window":                {count + `limit=1 window=367d; server { location / { } }`, `zone "A": limit of a window: 8808h0m0s is not a whole number of milliseconds between 1ms and 8784h0m0s`},
		"window of tiers":       {count + `limit=$arg_l window=367d; server { location / { } }`, `zone "A": limit of a window: 8808h0m0s is not a whole number of milliseconds between 1ms and 8784h0m0s`},
		"first, sliding":        {count + `limit=1 window=1m first=on; server { location / { } }`, `zone "A": limit of a window: first request and calendar are for windowing fixed, not sliding`},
		"capacity":              {`limit_token_zone $arg_a zone=A:1m rate=1r/d capacity=99999; server { location / { } }`, `zone "A": token bucket: capacity 99999 and queue 0 at 1r/d would take more than 73 years to fill; together at most 26687`},
		"burst":                 {`limit_req_zone $arg_a zone=A:1m rate=1r/d; server { location / { limit_req zone=A burst=99999; } }`, `zone "A": limit of requests: burst 99999 at 1r/d would take more than 73 years to drain; at most 26686`},
		"log without room":      {`limit_count_zone $arg_a zone=A:32k limit=10000 window=1m algorithm=log; server { location / { limit_count zone=A; } }`, `zone "A": binding a limit to its zone: memory zone: 32768 bytes have no room for a log of 10000; at most 2682, or a larger zone`},
		"unknown in a cost":     {count + `limit=1 window=1m; server { location / { limit_count zone=A cost=$nosuch; } }`, `unknown "nosuch" variable`},
		"good":                  {count + `limit=$arg_l window=$arg_w algorithm=log; server { location / { limit_count zone=A cost=$arg_c; } }`, ``},
		"more than 64 together": {many(65) + `server { location / { ` + manyLimits(65) + ` } }`, `more than 64 limits in one place`},
	} {
		t.Run(name, func(t *testing.T) {
			_, env := compile(t, c.text, limitgate.Exact)
			got := ""
			for _, e := range env.Errors.List() {
				got, _, _ = strings.Cut(e.Error(), " in /")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func many(n int) (zones string) {
	for i := range n {
		zones += fmt.Sprintf("limit_token_zone $arg_a zone=Z%d:32k rate=1r/s capacity=1;\n", i)
	}
	return zones
}

func manyLimits(n int) (limits string) {
	for i := range n {
		limits += fmt.Sprintf("limit_token zone=Z%d;\n", i)
	}
	return limits
}

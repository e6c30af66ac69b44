package conformance

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/gatewaytest"
	"github.com/limitgate/limitgate/memzone"
)

// The tests fieldcases_*_test.go are faults that users reported of other limiters, under the numbers of a list that has gaps.
// Rows of the list that are not here, and why:
//
//	27	a cap of 10 B/s: internal/phase/shape.TestTenBytesASecond, with the clock passed in
//	31	its second half, a warning of a balancer that is counted: internal/phase/limit.TestABalancerThatIsCounted
//	42, 43	places of instances that died, or whose store did: rediszone and httplimit, TestField42 and TestField43
//	60, 95	what does not count, and refusals that are not tried again: httplimit and grpclimit, TestField60 and TestField95
//	92	Retry-After: internal/phase/limit.TestRetryAfterIsHonest, and httplimit, grpclimit and retry, TestField92
//
// Of 1, 7, 8, 12, 14, 15, 31, 34 and 38 the list also wants a warning of a checker: internal/lint.

// instant is when the stories with a clock of their own begin.
var instant = limitgate.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

// taker binds a limit to a new zone and returns what asks it for one key at a time after instant.
func taker(t *testing.T, a limitgate.Algorithm) func(after time.Duration) limitgate.Decision {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return func(after time.Duration) limitgate.Decision {
		d, err := l.TakeAt(context.Background(), instant+limitgate.Time(after), "key", 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// letter writes a decision as the list does: P, D and the milliseconds, R. A wait below a millisecond is none, as in the
// gateway.
func letter(d limitgate.Decision) string {
	switch {
	case d.Outcome == limitgate.Rejected:
		return "R"
	case d.Delay() >= time.Millisecond:
		return fmt.Sprint("D", d.Delay().Milliseconds())
	}
	return "P"
}

// fieldSite is a gateway whose limits stand in front of a backend that answers 200. The text holds what http needs before
// its server, and what the server holds; @8081@ is the backend.
func fieldSite(t *testing.T, http, server string) *gatewaytest.Gateway {
	t.Helper()
	return gatewaytest.Start(t, gatewaytest.Limitgate(t), `
error_log logs/error.log info;
events {}
http {
	access_log off;
	`+http+`
	server { listen 127.0.0.1:@8080@; `+server+` }
	server { listen 127.0.0.1:@8081@; location / { return 200 "backend"; } }
}`)
}

// ask sends one request with header lines and returns the answer.
func ask(t *testing.T, g *gatewaytest.Gateway, path string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest("GET", g.URL(8080, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

// asks counts the answers of a status to n requests, one after the other.
func asks(t *testing.T, g *gatewaytest.Gateway, n, status int, path string, headers ...string) (got int) {
	t.Helper()
	for range n {
		if ask(t, g, path, headers...).StatusCode == status {
			got++
		}
	}
	return got
}

// shuffled returns 0 to n-1 in an order that seed stands for.
func shuffled(seed, n int) []int { return rand.New(rand.NewPCG(uint64(seed), 0)).Perm(n) }

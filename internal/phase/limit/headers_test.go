package limit

import (
	"testing"
	"time"
)

func TestDraftHeaders(t *testing.T) {
	b := newBench(t, twoZones+`server { location / { limit_req zone=A burst=20 nodelay; limit_headers draft; } }`)
	b.tell([]step{
		{0, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=21;w=3, RateLimit: "A";r=20;t=1`},
		{0, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=21;w=3, RateLimit: "A";r=19;t=1`},
		{10 * time.Second, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=21;w=3, RateLimit: "A";r=20;t=1`},
		{0, "/", "goes on"},
	})
	for range 19 {
		b.ask(10*time.Second, "/?a=x")
	}
	b.tell([]step{
		{10 * time.Second, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=21;w=3, RateLimit: "A";r=0;t=1`},
		{10 * time.Second, "/?a=x", `fails 503 REJECTED, RateLimit-Policy: "A";q=21;w=3, RateLimit: "A";r=0;t=1, Retry-After: 1`},
	})
}

func TestDraftHeadersOfASlowLimit(t *testing.T) {
	b := newBench(t, `limit_req_zone $arg_a zone=A:1m rate=1r/m; server { location / { limit_req zone=A burst=2 nodelay; limit_headers draft; } }`)
	b.tell([]step{
		{0, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=3;w=180, RateLimit: "A";r=2;t=60`},
		{15 * time.Second, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=3;w=180, RateLimit: "A";r=1;t=45`},
		{20 * time.Second, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=3;w=180, RateLimit: "A";r=0;t=40`},
		{20 * time.Second, "/?a=x", `fails 503 REJECTED, RateLimit-Policy: "A";q=3;w=180, RateLimit: "A";r=0;t=40, Retry-After: 40`},
		{60 * time.Second, "/?a=x", `goes on PASSED, RateLimit-Policy: "A";q=3;w=180, RateLimit: "A";r=0;t=60`},
	})
}

func TestDraftHeadersPutTheBindingLimitFirst(t *testing.T) {
	b := newBench(t, twoZones+`server { location / {
		limit_req zone=A burst=5 nodelay; limit_req zone=B burst=1 nodelay; limit_headers draft; } }`)
	b.tell([]step{
		{0, "/?a=x&b=x", `goes on PASSED, RateLimit-Policy: "B";q=2;w=1, "A";q=6;w=1, RateLimit: "B";r=1;t=1, "A";r=5;t=1`},
		{0, "/?a=x&b=x", `goes on PASSED, RateLimit-Policy: "B";q=2;w=1, "A";q=6;w=1, RateLimit: "B";r=0;t=1, "A";r=4;t=1`},
		{0, "/?a=x&b=x", `fails 503 REJECTED, RateLimit-Policy: "B";q=2;w=1, "A";q=6;w=1, RateLimit: "B";r=0;t=1, "A";r=4;t=1, Retry-After: 1`},
		{0, "/?a=y&b=x", `fails 503 REJECTED, RateLimit-Policy: "B";q=2;w=1, "A";q=6;w=1, RateLimit: "B";r=0;t=1, "A";r=6;t=0, Retry-After: 1`},
	})
}

func TestLegacyHeaders(t *testing.T) {
	b := newBench(t, `limit_req_zone $arg_a zone=A:1m rate=1r/m; server { location / {
		limit_req zone=A burst=2 nodelay; limit_headers legacy; } }`)
	b.tell([]step{
		{0, "/?a=x", "goes on PASSED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 2, X-RateLimit-Reset: 60"},
		{0, "/?a=x", "goes on PASSED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 1, X-RateLimit-Reset: 120"},
		{0, "/?a=x", "goes on PASSED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 180"},
		{30 * time.Second, "/?a=x", "fails 503 REJECTED, X-RateLimit-Limit: 3, X-RateLimit-Remaining: 0, X-RateLimit-Reset: 150, Retry-After: 30"},
	})
}

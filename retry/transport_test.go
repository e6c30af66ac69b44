package retry_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/racing"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/retry"
)

// reply is what the upstream of a test does with one attempt.
type reply struct {
	status int
	header string // "Name: value", more behind a semicolon
	err    error
}

// upstream answers by a script, the last line again and again, and keeps what it was asked and when.
type upstream struct {
	replies []reply
	begin   time.Time
	at      []time.Duration
	bodies  []string
	open    int // bodies that are not closed
	read    []int
}

type answerBody struct {
	*bytes.Reader
	u      *upstream
	closed bool
	size   int
}

func (b *answerBody) Close() error {
	if b.closed {
		return errors.New("closed twice")
	}
	b.closed = true
	b.u.open--
	b.u.read = append(b.u.read, b.size-b.Len())
	return nil
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	if u.at == nil {
		u.begin = time.Now()
	}
	u.at = append(u.at, time.Since(u.begin))
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		u.bodies = append(u.bodies, string(b))
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	now := u.replies[min(len(u.at), len(u.replies))-1]
	if now.err != nil {
		return nil, now.err
	}
	h := http.Header{}
	for line := range strings.SplitSeq(now.header, ";") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h.Add(name, value)
		}
	}
	u.open++
	return &http.Response{StatusCode: now.status, Header: h, Request: r, Body: &answerBody{bytes.NewReader(make([]byte, 1000)), u, false, 1000}}, nil
}

// half is a Random in the middle.
func half(n int64) int64 { return n / 2 }

func transport(t testing.TB, next http.RoundTripper, change func(c *retry.Config)) *retry.Transport {
	t.Helper()
	c := retry.Config{Next: next, Policy: retry.Policy{Random: half}}
	if change != nil {
		change(&c)
	}
	tr, err := retry.NewWith(c)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func request(t testing.TB, method, body string) *http.Request {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://upstream.example/", b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	errDial  = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	errReset = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset")}
)

// What is sent again, and when. The bounds of the waits are 100 ms, 200 ms; half of them is waited.
func TestWhatIsSentAgain(t *testing.T) {
	refused, unavailable := reply{status: 429}, reply{status: 503}
	later := reply{status: 503, header: "Retry-After: 2"}
	good := reply{status: 200}
	ms := time.Millisecond
	for name, c := range map[string]struct {
		method, body string
		header       string // of the request
		replies      []reply
		at           []time.Duration
		status       int
		err          error
	}{
		"passes":                      {"GET", "", "", []reply{good}, []time.Duration{0}, 200, nil},
		"refused":                     {"GET", "", "", []reply{refused, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"refused for ever":            {"GET", "", "", []reply{refused}, []time.Duration{0, 50 * ms, 150 * ms}, 429, nil},
		"seconds":                     {"GET", "", "", []reply{{status: 429, header: "Retry-After: 3"}, good}, []time.Duration{0, 3150 * ms}, 200, nil},
		"seconds of 0":                {"GET", "", "", []reply{{status: 429, header: "Retry-After: 0"}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"seconds, beyond time":        {"GET", "", "", []reply{{status: 429, header: "Retry-After: 31"}, good}, []time.Duration{0}, 429, nil},
		"absurd seconds":              {"GET", "", "", []reply{{status: 429, header: "Retry-After: 99999999999999999999"}, good}, []time.Duration{0}, 429, nil},
		"seconds that are none":       {"GET", "", "", []reply{{status: 429, header: "Retry-After: -5"}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"date":                        {"GET", "", "", []reply{{status: 429, header: "Retry-After: Sat, 01 Jan 2000 00:00:04 GMT"}, good}, []time.Duration{0, 4200 * ms}, 200, nil},
		"date of another clock":       {"GET", "", "", []reply{{status: 429, header: "Date: Sat, 01 Jan 2022 00:00:00 GMT;Retry-After: Sat, 01 Jan 2022 00:00:05 GMT"}, good}, []time.Duration{0, 5250 * ms}, 200, nil},
		"date that has passed":        {"GET", "", "", []reply{{status: 429, header: "Retry-After: Sat, 01 Jan 1994 00:00:04 GMT"}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"unavailable":                 {"GET", "", "", []reply{unavailable, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"server's mistake":            {"GET", "", "", []reply{{status: 500}, good}, []time.Duration{0}, 500, nil},
		"bad gateway":                 {"GET", "", "", []reply{{status: 502}, {status: 504}, good}, []time.Duration{0, 50 * ms, 150 * ms}, 200, nil},
		"reset":                       {"GET", "", "", []reply{{err: errReset}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"reset for ever":              {"GET", "", "", []reply{{err: errReset}}, []time.Duration{0, 50 * ms, 150 * ms}, 0, errReset},
		"certificate":                 {"GET", "", "", []reply{{err: &tls.CertificateVerificationError{Err: io.EOF}}}, []time.Duration{0}, 0, io.EOF},
		"canceled inside":             {"GET", "", "", []reply{{err: context.Canceled}}, []time.Duration{0}, 0, context.Canceled},
		"timeout inside":              {"GET", "", "", []reply{{err: context.DeadlineExceeded}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"put":                         {"PUT", "body", "", []reply{{err: errReset}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"post refused":                {"POST", "body", "", []reply{refused, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"post told to come later":     {"POST", "body", "", []reply{later, good}, []time.Duration{0, 2100 * ms}, 200, nil},
		"post unavailable":            {"POST", "body", "", []reply{unavailable, good}, []time.Duration{0}, 503, nil},
		"post of nothing":             {"POST", "", "", []reply{unavailable, good}, []time.Duration{0}, 503, nil},
		"post bad gateway":            {"POST", "body", "", []reply{{status: 502, header: "Retry-After: 1"}, good}, []time.Duration{0}, 502, nil},
		"post reset":                  {"POST", "body", "", []reply{{err: errReset}, good}, []time.Duration{0}, 0, errReset},
		"post not connected":          {"POST", "body", "", []reply{{err: errDial}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"post with a key":             {"POST", "body", "Idempotency-Key", []reply{{err: errReset}, good}, []time.Duration{0, 50 * ms}, 200, nil},
		"patch, then another refusal": {"PATCH", "body", "", []reply{refused, unavailable}, []time.Duration{0, 50 * ms}, 503, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &upstream{replies: c.replies}
				r := request(t, c.method, c.body)
				if c.header != "" {
					r.Header.Set(c.header, "1")
				}
				answer, err := transport(t, u, nil).RoundTrip(r)
				if !errors.Is(err, c.err) || (answer != nil) != (c.err == nil) {
					t.Fatalf("got %v and error %v, want error %v", answer, err, c.err)
				}
				if !equal(u.at, c.at) {
					t.Errorf("attempts at %v, want %v", u.at, c.at)
				}
				for _, b := range u.bodies {
					if b != c.body {
						t.Errorf("an attempt had the body %q, want %q", b, c.body)
					}
				}
				for _, n := range u.read {
					if n != 1000 {
						t.Errorf("%d bytes of an answer were read before it was closed, want all 1000", n)
					}
				}
				if answer == nil {
					return
				}
				if answer.StatusCode != c.status || u.open != 1 {
					t.Errorf("got %d with %d answers open, want %d and only that one", answer.StatusCode, u.open, c.status)
				}
				if b, err := io.ReadAll(answer.Body); len(b) != 1000 || err != nil {
					t.Errorf("the answer has %d bytes left (%v), want all 1000", len(b), err)
				}
			})
		})
	}
}

// equal compares times to a microsecond, which is what rounding costs.
func equal(a, b []time.Duration) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if (a[i] - b[i]).Abs() > time.Microsecond {
			return false
		}
	}
	return true
}

func TestBodyThatCantBeHadAgainIsSentOnce(t *testing.T) {
	u := &upstream{replies: []reply{{status: 429}}}
	r := request(t, "PUT", "body")
	r.GetBody = nil
	if answer, err := transport(t, u, nil).RoundTrip(r); err != nil || answer.StatusCode != 429 || len(u.at) != 1 {
		t.Errorf("got %v, %v in %d attempts, want the 429 in one", answer, err, len(u.at))
	}
	u = &upstream{replies: []reply{{status: 429}}}
	gone := errors.New("the file is gone")
	r = request(t, "PUT", "body")
	r.GetBody = func() (io.ReadCloser, error) { return nil, gone }
	if _, err := transport(t, u, func(c *retry.Config) { c.Policy.Base = 1 }).RoundTrip(r); !errors.Is(err, gone) || u.open != 0 {
		t.Errorf("got %v with %d answers open, want %v and 0", err, u.open, gone)
	}
}

// Nothing is waited for that would come too late, and a context that ends ends the wait.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{replies: []reply{{status: 429, header: "Retry-After: 1"}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var seen []retry.Event
		tr := transport(t, u, func(c *retry.Config) {
			c.Observe = func(_ *http.Request, e retry.Event, _ *http.Response, _ error) { seen = append(seen, e) }
		})
		answer, err := tr.RoundTrip(request(t, "GET", "").WithContext(ctx))
		if err != nil || answer.StatusCode != 429 || time.Since(u.begin) != 0 || len(seen) != 1 || seen[0].Stop != retry.Late {
			t.Errorf("got %v, %v after %v, and %v, want the 429 at once because it is too late", answer, err, time.Since(u.begin), seen)
		}

		u = &upstream{replies: []reply{{status: 429, header: "Retry-After: 10"}}}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, stop)
		answer, err = transport(t, u, nil).RoundTrip(request(t, "GET", "").WithContext(ctx))
		if !errors.Is(err, context.Canceled) || answer != nil || time.Since(u.begin) != 3*time.Second || u.open != 0 {
			t.Errorf("got %v, %v after %v with %d answers open", answer, err, time.Since(u.begin), u.open)
		}

		// The time of all attempts together: 4 s and half of 400 ms, twice, is more than 8 s.
		u = &upstream{replies: []reply{{status: 429, header: "Retry-After: 4"}}}
		tr = transport(t, u, func(c *retry.Config) { c.Policy.Time, c.Policy.Attempts = 8*time.Second, 10 })
		if answer, err = tr.RoundTrip(request(t, "GET", "")); err != nil || answer.StatusCode != 429 || len(u.at) != 2 {
			t.Errorf("got %v, %v at %v, want two attempts", answer, err, u.at)
		}
	})
}

// The waits without a hint double up to the bound, and any random number stays within.
func TestBackoffDoublesUpToMax(t *testing.T) {
	for name, c := range map[string]struct {
		random func(int64) int64
		want   []time.Duration
	}{
		"most":  {func(n int64) int64 { return n - 1 }, []time.Duration{0, 1, 3, 7, 12, 17}},
		"least": {func(int64) int64 { return 0 }, []time.Duration{0, 0, 0, 0, 0, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := &upstream{replies: []reply{{status: 503}}}
			tr := transport(t, u, func(p *retry.Config) {
				p.Policy = retry.Policy{Attempts: 6, Base: time.Second, Max: 5 * time.Second, Random: c.random}
			})
			if _, err := tr.RoundTrip(request(t, "GET", "")); err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i] *= time.Second
			}
			if !equal(u.at, c.want) {
				t.Errorf("%s: attempts at %v, want %v", name, u.at, c.want)
			}
		})
	}
}

// An outage: of 1000 requests that all fail, a tenth is sent again, and what the floor has.
func TestBudgetBoundsRetries(t *testing.T) {
	for _, c := range []struct {
		config retry.BudgetConfig
		want   int
	}{
		{retry.BudgetConfig{}, 1000 + 100 + 10},
		{retry.BudgetConfig{Percent: 50}, 1000 + 500 + 10},
		{retry.BudgetConfig{Percent: -1}, 1000 + 10},
		{retry.BudgetConfig{Percent: -1, FloorKey: "k", Floor: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 3})}, 1000 + 3},
	} {
		b, err := retry.NewBudget(c.config)
		if err != nil {
			t.Fatal(err)
		}
		u := &upstream{replies: []reply{{status: 503}}}
		// Time stands still: the floor fills by nothing.
		now := limitgate.Now()
		tr := transport(t, u, func(c *retry.Config) {
			c.Policy.Budget, c.Policy.Attempts, c.Policy.Now = b, 4, func() limitgate.Time { return now }
			c.Policy.Sleep = func(_ context.Context, now limitgate.Time, d time.Duration) (limitgate.Time, error) {
				return now.Add(d), nil
			}
		})
		for range 1000 {
			answer, err := tr.RoundTrip(request(t, "GET", ""))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
		}
		if len(u.at) != c.want || u.open != 0 {
			t.Errorf("%+v: got %d attempts with %d answers open, want %d and 0", c.config, len(u.at), u.open, c.want)
		}
	}
}

func limiter(t testing.TB, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// What requests saved up is bounded.
func TestBudgetSavesUpNoMoreThanSaid(t *testing.T) {
	b, err := retry.NewBudget(retry.BudgetConfig{Percent: 100, Saved: 5, Floor: limiter(t, limitgate.Token{Rate: limitgate.PerHour(1), Capacity: 1})})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		b.Request()
	}
	n := 0
	for now := limitgate.Now(); b.Retry(t.Context(), now); n++ {
	}
	if n != 6 {
		t.Errorf("got %d retries, want 5 saved and 1 of the floor", n)
	}
}

func TestConfigSaysWhatIsWrong(t *testing.T) {
	for want, p := range map[string]retry.Policy{
		"must not be negative": {Attempts: -1},
		"is longer than max":   {Base: time.Minute},
	} {
		if _, err := retry.NewWith(retry.Config{Policy: p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, b := range map[string]retry.BudgetConfig{
		"at most 100":       {Percent: 101},
		"5 saved":           {Saved: -5},
		"acquired and rele": {Floor: limiter(t, limitgate.Conn{Limit: 1})},
	} {
		if _, err := retry.NewBudget(b); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "-5", "5"), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// one always gives the same answer.
type one struct{ answer *http.Response }

func (o one) RoundTrip(*http.Request) (*http.Response, error) { return o.answer, nil }

func TestPassingAllocatesNothing(t *testing.T) {
	tr := retry.New(one{&http.Response{StatusCode: 200}})
	r := request(t, "GET", "")
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := tr.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}); n > 0 && !racing.Detector {
		t.Errorf("got %v allocations, want none", n)
	}
}

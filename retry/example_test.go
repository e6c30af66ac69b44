package retry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/retry"
)

// refusing is a server that refuses the first n requests.
func refusing(n int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n--; n >= 0 {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "too fast", http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "welcome")
	}))
}

func ExampleNew() {
	server := refusing(1)
	defer server.Close()
	client := &http.Client{Transport: retry.New(nil)}

	answer, err := client.Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 200 OK
}

func ExampleNewWith() {
	server := refusing(100)
	defer server.Close()
	transport, err := retry.NewWith(retry.Config{
		Policy: retry.Policy{Attempts: 2, Base: time.Millisecond},
		Observe: func(_ *http.Request, e retry.Event, answer *http.Response, _ error) {
			fmt.Println(e.Attempt, answer.Status, e.Stop)
		},
	})
	if err != nil {
		panic(err)
	}
	answer, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output:
	// 1 429 Too Many Requests another attempt
	// 2 429 Too Many Requests attempts
	// 429 Too Many Requests
}

func ExampleConfig_Validate() {
	fmt.Println(retry.Config{Policy: retry.Policy{Attempts: -1}}.Validate())
	// Output: retries: attempts -1, time 0s, base 0s and max 0s must not be negative
}

func ExampleTransport_RoundTrip() {
	server := refusing(1)
	defer server.Close()
	request, err := http.NewRequest("POST", server.URL, nil)
	if err != nil {
		panic(err)
	}
	answer, err := retry.New(nil).RoundTrip(request) // a POST too: a 429 was not worked on
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output: 200 OK
}

func ExampleNewBudget() {
	floor, err := limitgate.NewLimiter(memzone.New(memzone.Config{}), limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 5})
	if err != nil {
		panic(err)
	}
	budget, err := retry.NewBudget(retry.BudgetConfig{Percent: 20, Floor: floor})
	if err != nil {
		panic(err)
	}
	now, n := limitgate.Now(), 0
	for range 10 {
		budget.Request()
	}
	for budget.Retry(context.Background(), now) {
		n++
	}
	fmt.Println(n, "retries: 20 % of 10, and the floor")
	// Output: 7 retries: 20 % of 10, and the floor
}

func ExampleBudgetConfig_Validate() {
	fmt.Println(retry.BudgetConfig{Percent: 150}.Validate())
	// Output: retry budget: 150 percent of requests; at most 100
}

func ExampleBudget_Request() {
	budget, err := retry.NewBudget(retry.BudgetConfig{Percent: 50})
	if err != nil {
		panic(err)
	}
	budget.Request()
	budget.Request() // two requests pay for one retry
	fmt.Println(budget.Retry(context.Background(), limitgate.Now()))
	// Output: true
}

func ExampleBudget_Retry() {
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	now, n := limitgate.Now(), 0
	for budget.Retry(context.Background(), now) {
		n++
	}
	fmt.Println(n, "without any request")
	// Output: 10 without any request
}

func ExamplePolicy_Validate() {
	fmt.Println(retry.Policy{Base: time.Minute}.Validate())
	// Output: retries: base 1m0s is longer than max 10s
}

func ExamplePolicy_Compile() {
	p, err := retry.Policy{Attempts: 5}.Compile()
	fmt.Println(p.Attempts, p.Time, p.Base, p.Max, p.Budget != nil, err)
	// Output: 5 30s 100ms 10s true <nil>
}

// Anything can be tried again by a policy.
func ExamplePolicy_Begin() {
	p, err := retry.Policy{Base: time.Millisecond}.Compile()
	if err != nil {
		panic(err)
	}
	ctx, tries := context.Background(), 0
	work := func() error {
		if tries++; tries < 3 {
			return errors.New("busy")
		}
		return nil
	}
	course := p.Begin()
	for err = work(); err != nil; err = work() {
		if e := course.Failed(ctx, retry.Failure{Passing: true, Safe: true}); e.Stop != retry.None {
			break
		}
		if err = course.Wait(ctx); err != nil {
			break
		}
	}
	fmt.Println(tries, err)
	// Output: 3 <nil>
}

func ExampleCourse_Failed() {
	p, err := retry.Policy{Random: func(int64) int64 { return 0 }}.Compile()
	if err != nil {
		panic(err)
	}
	course := p.Begin()
	fmt.Println(course.Failed(context.Background(), retry.Failure{Passing: true, Safe: true, Hinted: true, Hint: 2 * time.Second}))
	fmt.Println(course.Failed(context.Background(), retry.Failure{Passing: true}).Stop)
	// Output:
	// {1 2s another attempt}
	// not safe
}

func ExampleCourse_Wait() {
	p, err := retry.Policy{}.Compile()
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	course := p.Begin()
	course.Failed(ctx, retry.Failure{Passing: true, Safe: true, Hinted: true, Hint: 5 * time.Second})
	cancel()
	fmt.Println(course.Wait(ctx))
	// Output: waiting for attempt 2: waiting for a turn: context canceled
}

func ExampleReason_String() {
	fmt.Println(retry.Late, retry.Spent)
	// Output: too late budget spent
}

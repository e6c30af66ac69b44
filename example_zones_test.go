package limitgate_test

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// What a zone does for each request: it runs the limit's step on the key's state, and stores what comes out.
func ExampleLimit_Step() {
	a := limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 1, NoDelay: true}
	l := limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	_ = new(limitgate.Bound).Join(&l) // as Zone.Bind does
	state, d := l.Step(0, noon(), 2)
	fmt.Println(d.Outcome, d.Excess, limitgate.Time(state).Sub(noon()))
	// Output: PASSED 1.000 200ms
}

// A key that owes nothing, and a request of cost 1: no step has to be called.
func ExampleLimit_Quick() {
	a := limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 1, NoDelay: true}
	l := limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	_ = new(limitgate.Bound).Join(&l) // as Zone.Bind does
	fmt.Println(l.Quick(0, noon(), 1), l.Quick(0, noon(), 2), l.Quick(limitgate.State(noon())+1, noon(), 1))
	// Output: true false false
}

func ExampleLimit_QuickStep() {
	a := limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 1, NoDelay: true}
	l := limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
	_ = new(limitgate.Bound).Join(&l) // as Zone.Bind does
	state, d := l.QuickStep(noon())
	fmt.Println(d.Outcome, d.Remaining, limitgate.Time(state).Sub(noon()))
	// Output: PASSED 1 100ms
}

func ExampleMode_Charges() {
	fmt.Println(limitgate.Check.Charges(), limitgate.Take.Charges(), limitgate.Spend.Charges())
	// Output: false true true
}

// What a refusal cut is stored by all modes but Peek.
func ExampleMode_Stores() {
	passed, refused := limitgate.Decision{}, limitgate.Decision{Outcome: limitgate.Rejected}
	fmt.Println(limitgate.Check.Stores(passed), limitgate.Check.Stores(refused), limitgate.Peek.Stores(refused))
	// Output: false true false
}

// Limits that share a zone know the largest full state among them, so that none cuts what another allows.
func ExampleBound_Join() {
	b := new(limitgate.Bound)
	for _, burst := range []int64{9, 4} {
		a := limitgate.Req{Rate: limitgate.PerSecond(1), Burst: burst}
		l := limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
		fmt.Println(b.Join(&l), time.Duration(b.Full()))
	}
	// Output:
	// <nil> 10s
	// <nil> 10s
}

func ExampleBound_Full() {
	fmt.Println(new(limitgate.Bound).Full())
	// Output: 0
}

// logSteps are the steps of five requests in ten seconds.
func logSteps() *limitgate.LogSteps {
	g, _ := limitgate.Count{Limit: 5, Window: 10 * time.Second, Windowing: limitgate.Log}.Compile().(*limitgate.LogSteps)
	return g
}

// A zone asks with the stamps that count: here five, one a second, so the first one makes room in six seconds.
func ExampleLogSteps_Decide() {
	first := noon()
	d := logSteps().Decide(first.Add(4*time.Second), 1, 5, func(n int64) limitgate.Time { return first.Add(time.Duration(n) * time.Second) })
	fmt.Println(d.Outcome, d.Remaining, d.RetryAfter())
	// Output: REJECTED 0 6s
}

// A stamp more than a minute ahead is from before the clock was set back.
func ExampleLogSteps_Cut() {
	fmt.Println(logSteps().Cut(noon()).Sub(noon()))
	// Output: 1m0s
}

func ExampleLogSteps_Since() {
	fmt.Println(logSteps().Since(noon()).Sub(noon()))
	// Output: -10s
}

func ExampleLogSteps_Until() {
	fmt.Println(logSteps().Until(noon()).Sub(noon()))
	// Output: 10s
}

func ExampleLogSteps_Full() {
	fmt.Println(logSteps().Full())
	// Output: 5
}

// A zone of words has no room for a log: every word is refused.
func ExampleLogSteps_Step() {
	_, d := logSteps().Step(0, noon(), 1, 0)
	fmt.Println(d.Outcome, d.NoRoom())
	// Output: REJECTED true
}

func ExampleLogSteps_Undo() {
	fmt.Println(logSteps().Undo(7, 0, 7, noon())) // no word is a log, so nothing is taken back
	// Output: 7
}

func ExampleLogSteps_DrainAt() {
	fmt.Println(logSteps().DrainAt(7, noon()))
	// Output: 0
}

// A zone elsewhere does with these numbers what Decide does.
func ExampleLogSteps_Terms() {
	t := logSteps().Terms(noon(), 6, 0)
	fmt.Println(t.Form == limitgate.FormLog, t.Limit, t.Window, t.Passes)
	// Output: true 5 10000 false
}

package limitgate_test

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

func ExamplePerSecond() {
	fmt.Println(limitgate.PerSecond(10), limitgate.PerSecond(10).Interval())
	// Output: 10r/s 100ms
}

func ExamplePerMinute() {
	fmt.Println(limitgate.PerMinute(30), limitgate.PerMinute(30).Interval())
	// Output: 30r/m 2s
}

func ExamplePerHour() {
	fmt.Println(limitgate.PerHour(100), limitgate.PerHour(100).Interval())
	// Output: 100r/h 36s
}

func ExamplePerDay() {
	fmt.Println(limitgate.PerDay(1000), limitgate.PerDay(1000).Interval())
	// Output: 1000r/d 1m26.4s
}

// A rate that can't be kept says what can.
func ExampleRate_Validate() {
	fmt.Println(limitgate.PerSecond(1_000_000).Validate())
	fmt.Println(limitgate.PerSecond(1_000_001).Validate())
	fmt.Println(limitgate.Per(1, 101*24*time.Hour).Validate())
	// Output:
	// <nil>
	// rate 1000001r/s: at most 1000000r/s can be kept
	// rate 1r/2424h0m0s: must be at least one request in 100 days
}

// The time of a request is whole nanoseconds, rounded down: one that comes exactly on time is never refused.
func ExampleRate_Interval() {
	fmt.Println(limitgate.PerSecond(3).Interval(), limitgate.PerMinute(7).Interval())
	// Output: 333.333333ms 8.571428571s
}

// What nginx makes of a rate: 1r/m is 16 thousandths of a request a second, one in 62.5 seconds.
func ExampleRate_Thousandths() {
	fmt.Println(limitgate.PerMinute(1).Thousandths(), limitgate.PerMinute(30).Thousandths(), limitgate.PerDay(1).Thousandths())
	// Output: 16 500 0
}

// For a report. Nothing is decided by it.
func ExampleRate_Millionths() {
	fmt.Println(limitgate.PerMinute(30).Millionths())
	// Output: 30000000 1m0s
}

func ExampleRate_Float() {
	fmt.Printf("%.3f requests a second\n", limitgate.PerMinute(100).Float())
	// Output: 1.667 requests a second
}

// Rates print as ParseRate reads them.
func ExampleRate_String() {
	r, err := limitgate.ParseRate("0.5r/s")
	fmt.Println(r, err, limitgate.Per(5, 15*time.Minute))
	// Output: 0.5r/s <nil> 5r/15m0s
}

func ExampleArithmetic_String() {
	fmt.Println(limitgate.Exact, limitgate.Nginx)
	// Output: exact nginx
}

func ExampleWindowing_String() {
	fmt.Println(limitgate.Sliding, limitgate.Fixed, limitgate.Log)
	// Output: sliding fixed log
}

// The largest limits that fit into a state.
func ExampleWindowing_Max() {
	fmt.Println(limitgate.Sliding.Max(), limitgate.Fixed.Max(), limitgate.Log.Max())
	// Output: 1048575 16777215 10000
}

func ExampleReq_Validate() {
	fmt.Println(limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 20}.Validate())
	fmt.Println(limitgate.Req{Rate: limitgate.PerSecond(10), Burst: -1}.Validate())
	fmt.Println(limitgate.Req{Rate: limitgate.PerDay(1), Burst: 30_000}.Validate())
	// Output:
	// <nil>
	// limit of requests: burst -1 and delay 0 must not be negative
	// limit of requests: burst 30000 at 1r/d would take more than 73 years to drain; at most 26686
}

func ExampleToken_Validate() {
	fmt.Println(limitgate.Token{Rate: limitgate.PerSecond(10)}.Validate())
	// Output: token bucket: capacity 0 must be at least 1, and queue 0 not negative
}

func ExampleCount_Validate() {
	fmt.Println(limitgate.Count{Limit: 5, Window: 100 * time.Microsecond}.Validate())
	fmt.Println(limitgate.Count{Limit: 5, Window: time.Hour, First: true}.Validate())
	// Output:
	// limit of a window: 100µs is not a whole number of milliseconds between 1ms and 8784h0m0s
	// limit of a window: first request and calendar are for windowing fixed, not sliding
}

func ExampleConn_Validate() {
	fmt.Println(limitgate.Conn{Limit: 300_000}.Validate())
	// Output: limit of requests at once: 300000 is not between 1 and 262140
}

func ExamplePace_Validate() {
	fmt.Println(limitgate.Pace{Rate: 1_000_000, Burst: 64 << 10}.Validate())
	// Output: <nil>
}

// Limits of one kind may share a zone; both arithmetics of Req have a kind of their own.
func ExampleReq_Kind() {
	fmt.Println(limitgate.Req{}.Kind(), "-", limitgate.Req{Arithmetic: limitgate.Nginx}.Kind())
	// Output: req - req (nginx arithmetic)
}

func ExampleToken_Kind() {
	fmt.Println(limitgate.Token{}.Kind() == limitgate.KindToken)
	// Output: true
}

func ExampleCount_Kind() {
	fmt.Println(limitgate.Count{}.Kind(), "-", limitgate.Count{Windowing: limitgate.Fixed}.Kind(), "-", limitgate.Count{Windowing: limitgate.Log}.Kind())
	// Output: sliding window - fixed window - log
}

func ExampleConn_Kind() {
	fmt.Println(limitgate.Conn{}.Kind())
	// Output: conn
}

func ExamplePace_Kind() {
	fmt.Println(limitgate.Pace{}.Kind())
	// Output: pace
}

// Kinds print for messages.
func ExampleKind_String() {
	fmt.Println(limitgate.KindNone, limitgate.KindConn, limitgate.KindLog)
	// Output: none conn log
}

// The arithmetic alone is a pure function: the state of a key, an instant and a cost in, the next state and a decision out.
func ExampleReq_Compile() {
	steps := limitgate.Req{Rate: limitgate.PerSecond(10), Burst: 1, NoDelay: true}.Compile()
	state := limitgate.State(0) // of a key that nobody has seen
	for range 3 {
		var d limitgate.Decision
		state, d = steps.Step(state, noon(), 1, 0)
		fmt.Println(d.Outcome, d.Excess, steps.DrainAt(state, noon()).Sub(noon()))
	}
	// Output:
	// PASSED 0.000 100ms
	// PASSED 1.000 200ms
	// REJECTED 2.000 200ms
}

// A full bucket is a debt of so much time.
func ExampleToken_Compile() {
	steps := limitgate.Token{Rate: limitgate.PerSecond(10), Capacity: 20}.Compile()
	fmt.Println(time.Duration(steps.Full()))
	// Output: 2s
}

// A charge is taken back from the word that has it.
func ExampleCount_Compile() {
	steps := limitgate.Count{Limit: 3, Window: time.Minute}.Compile()
	before, _ := steps.Step(0, noon(), 1, 0)
	after, d := steps.Step(before, noon(), 2, 0)
	fmt.Println(d.Outcome, d.Remaining, steps.Undo(after, before, after, noon()) == before)
	// Output: PASSED 0 true
}

// The state is how many places are held, and no time frees one.
func ExampleConn_Compile() {
	steps := limitgate.Conn{Limit: 2}.Compile()
	state, d := steps.Step(0, noon(), 1, 0)
	fmt.Println(state, d.Remaining, steps.DrainAt(state, noon()) == limitgate.Never)
	// Output: 1 1 true
}

// Bytes are a debt in time, too: a megabyte a second takes a second for one.
func ExamplePace_Compile() {
	steps := limitgate.Pace{Rate: 1_000_000}.Compile()
	state, _ := steps.Step(0, noon(), 1_000_000, 0)
	fmt.Println(steps.DrainAt(state, noon()).Sub(noon()))
	// Output: 1s
}

package adaptive_test

import (
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/adaptive"
)

// at is an instant of the examples: their time is passed in.
const at = limitgate.Time(time.Hour)

func ExampleNew() {
	limit, err := adaptive.New(adaptive.Config{Initial: 2, Max: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		_, ok := limit.Acquire(at)
		fmt.Println(i+1, ok)
	}
	_, err = adaptive.New(adaptive.Config{Min: 20, Max: 10})
	fmt.Println(err)
	// Output:
	// 1 true
	// 2 true
	// 3 false
	// adaptive limit: Min 20 is above Max 10
}

func ExampleLimiter_Acquire() {
	limit, _ := adaptive.New(adaptive.Config{})
	t, ok := limit.Acquire(at)
	fmt.Println(ok, limit.InFlight(), "of", limit.Limit())
	t.Done(at.Add(5*time.Millisecond), adaptive.Answered)
	fmt.Println(limit.InFlight())
	// Output:
	// true 1 of 20
	// 0
}

// A backend with 8 workers that take 5 ms each, asked by as many as the limit lets through.
func ExampleTicket_Done() {
	limit, _ := adaptive.New(adaptive.Config{})
	now := at
	for range 2000 {
		var held []adaptive.Ticket
		for t, ok := limit.Acquire(now); ok; t, ok = limit.Acquire(now) {
			held = append(held, t)
		}
		for i := range held {
			if i%8 == 0 {
				now = now.Add(5 * time.Millisecond)
			}
			held[i].Done(now, adaptive.Answered)
		}
	}
	fmt.Println("between 8 and 24:", limit.Limit() >= 8 && limit.Limit() <= 24)
	// Output:
	// between 8 and 24: true
}

// Places that are held elsewhere, in a zone that several processes share, with a limit found here.
func ExampleEstimate() {
	var e adaptive.Estimate
	c, _ := adaptive.Config{Initial: 10}.Complete()
	m := e.Begin(&c, at)
	changed := e.End(&c, at.Add(5*time.Millisecond), m, 5*time.Millisecond, adaptive.Answered)
	fmt.Println(e.Limit(&c), changed, e.InFlight())
	// Output:
	// 10 false 0
}

// still is a processor that nothing asks much of.
type still struct{}

func (still) Load(limitgate.Time) int { return 120 }

func ExampleCPU() {
	limit, err := adaptive.New(adaptive.Config{CPU: still{}, CPUTarget: 800})
	fmt.Println(limit.Limit(), err)
	// Output:
	// 20 <nil>
}

func ExampleNewProcessor() {
	cpu := adaptive.NewProcessor()
	limit, err := adaptive.New(adaptive.Config{CPU: cpu})
	fmt.Println(limit.Limit(), err, cpu.Load(at) >= 0)
	// Output:
	// 20 <nil> true
}

package guard_test

import (
	"context"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/guard"
	"github.com/limitgate/limitgate/memzone"
)

// near is a zone in a store that answers.
func near() limitgate.Zone { return memzone.New(memzone.Config{}) }

// alone is a roster in which nobody else is.
type alone struct{ left chan string }

func (alone) Sign(_ context.Context, name string, _ time.Duration) (live, left []string, err error) {
	return []string{name}, nil, nil
}

func (a alone) Leave(_ context.Context, name string, _ time.Duration) error {
	a.left <- name
	return nil
}

func ExamplePhase_String() {
	fmt.Println(guard.Up, guard.Down, guard.Rising)
	// Output: up down rising
}

func ExampleEvent_String() {
	fmt.Println(guard.Event{Phase: guard.Up})
	// Output: answers again
}

func ExampleStore_Timeout() {
	fmt.Println(guard.New(guard.Config{}).Timeout())
	// Output: 50ms
}

// Nobody watches it.
func ExampleStore_Live() {
	fmt.Println(guard.New(guard.Config{}).Live())
	// Output: 0
}

// A gateway does so for as long as it runs.
func ExampleStore_Watch() {
	store := guard.New(guard.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	// ends with ctx
	go func() {
		store.Watch(ctx, guard.Watching{Roster: alone{}, Name: "gateway-1"})
		close(done)
	}()
	for store.Live() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	fmt.Println(store.Live(), store.Peers())
	// Output: 1 [gateway-1]
}

func ExampleStore_Peers() {
	fmt.Println(len(guard.New(guard.Config{}).Peers()))
	// Output: 0
}

// The others know at once that it is gone.
func ExampleStore_Leave() {
	r := alone{make(chan string, 1)}
	err := guard.New(guard.Config{}).Leave(context.Background(), guard.Watching{Roster: r, Name: "gateway-1"})
	fmt.Println(<-r.left, err)
	// Output: gateway-1 <nil>
}

func ExampleStore_Stats() {
	store := guard.New(guard.Config{})
	login, _ := limitgate.NewLimiter(store.Zone(near(), 0), limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, _ = login.Take(context.Background(), "alice")
	st := store.Stats()
	fmt.Println(st.Calls, st.Failed, st.Phase)
	// Output: 1 0 up
}

// It is down after five failures in a row.
func ExampleStore_Err() {
	store := guard.New(guard.Config{})
	login, _ := limitgate.NewLimiter(store.Zone(away{near()}, 0), limitgate.Req{Rate: limitgate.PerSecond(5)})
	for range 5 {
		_, _ = login.Take(context.Background(), "alice")
	}
	fmt.Println(store.Stats().Phase, store.Err())
	// Output: down connection refused
}

func ExampleStore_Zone() {
	zone := guard.New(guard.Config{}).Zone(near(), 10<<20)
	fmt.Println(zone.Mirror().Capacity() > 400_000)
	// Output: true
}

func ExampleZone_Fail() {
	zone := guard.New(guard.Config{}).Zone(away{near()}, 0)
	login, _ := limitgate.NewLimiter(zone.Fail(limitgate.FailClosed), limitgate.Req{Rate: limitgate.PerSecond(5)})
	d, err := login.Take(context.Background(), "alice")
	fmt.Println(d.Outcome, d.Fallback(), err)
	// Output: REJECTED closed <nil>
}

func ExampleZone_Inner() {
	inner := near()
	fmt.Println(guard.New(guard.Config{}).Zone(inner, 0).Inner() == inner)
	// Output: true
}

func ExampleZone_Mirror() {
	zone := guard.New(guard.Config{}).Zone(near(), 0)
	fmt.Println(zone.Mirror().Bytes() <= 1<<20)
	// Output: true
}

// Another configuration may have another window.
func ExampleZone_Rebind() {
	zone := guard.New(guard.Config{}).Zone(near(), 0)
	_, _ = limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Hour})
	zone.Rebind()
	_, err := limitgate.NewLimiter(zone, limitgate.Count{Limit: 5, Window: time.Minute})
	fmt.Println(err)
	// Output: <nil>
}

// A zone holds states of one kind, that of the first limit.
func ExampleZone_Bind() {
	zone := guard.New(guard.Config{}).Zone(near(), 0)
	_, _ = limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	_, err := limitgate.NewLimiter(zone, limitgate.Token{Rate: limitgate.PerSecond(5), Capacity: 5})
	fmt.Println(err != nil)
	// Output: true
}

// The limiters of package limitgate call it. It is not known yet how many instances there are, so it is open without its store.
func ExampleZone_Do() {
	zone := guard.New(guard.Config{}).Zone(away{near()}, 0)
	login, _ := limitgate.NewLimiter(zone, limitgate.Req{Rate: limitgate.PerSecond(5)})
	d, err := login.Take(context.Background(), "alice")
	fmt.Println(d.Outcome, d.Fallback(), err)
	// Output: PASSED open <nil>
}

// What was not charged is nothing to give back.
func ExampleZone_Refund() {
	zone := guard.New(guard.Config{}).Zone(near(), 0)
	limit := &limitgate.Limit{Kind: limitgate.KindConn}
	fmt.Println(zone.Refund(context.Background(), limitgate.Now(), limit, limitgate.Charge{}))
	// Output: <nil>
}

func ExampleZone_RefundKey() {
	zone := guard.New(guard.Config{}).Zone(near(), 0)
	limit := &limitgate.Limit{Kind: limitgate.KindConn}
	fmt.Println(zone.RefundKey(context.Background(), limitgate.Now(), limit, "alice", limitgate.Charge{}))
	// Output: <nil>
}

package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
)

// local is the place of FailLocal in fallbacks.
const local = 2

// within reports a total that is off by more than a part of what a limit of 100 r/s with a burst admits in a time.
func within(t *testing.T, what string, admitted int, burst int64, d time.Duration, low, high float64) {
	t.Helper()
	rate := float64(faultRate) * d.Seconds()
	least, most := low*rate, high*rate+float64(burst+1)
	t.Logf("%s: %d admitted in %v, %.3f of the rate", what, admitted, d.Round(time.Millisecond), float64(admitted)/rate)
	if float64(admitted) < least || float64(admitted) > most {
		t.Errorf("%s: got %d admitted in %v, want %.0f to %.0f", what, admitted, d, least, most)
	}
}

// TestFourInstances: four instances that share 100 r/s admit that together, within a hundredth; when the store is killed at most a
// quarter more, from the first second on.
func TestFourInstances(t *testing.T) {
	server := redistest.Start(t)
	const burst = 40
	limit := limitgate.Req{Rate: limitgate.PerSecond(faultRate), Burst: burst, NoDelay: true}
	var members []*member
	for i := range 4 {
		members = append(members, enlist(t, fmt.Sprint(i), server.URL(), limit))
	}
	awaitLive(t, members, 4)
	press(members, local, 50, time.Second) // the burst is gone then
	c, took, _ := press(members, local, 50, 4*time.Second)
	within(t, "strict", c.admitted, 0, took, 0.99, 1.01)
	server.Kill()
	for i := range 3 {
		c, took, _ = press(members, local, 50, time.Second)
		within(t, fmt.Sprintf("fail=local, second %d", i+1), c.admitted, -1, took, 0.5, 1.25)
	}
}

// TestField89: of a load that stays the same as much is admitted by four instances as by two.
func TestField89(t *testing.T) {
	server := redistest.Start(t)
	limit := limitgate.Req{Rate: limitgate.PerSecond(faultRate), Burst: 40, NoDelay: true}
	var members []*member
	for i := range 2 {
		members = append(members, enlist(t, fmt.Sprint(i), server.URL(), limit))
	}
	awaitLive(t, members, 2)
	press(members, local, 100, time.Second)
	c, took, _ := press(members, local, 100, 3*time.Second)
	within(t, "two instances", c.admitted, 0, took, 0.98, 1.02)
	for i := range 2 {
		members = append(members, enlist(t, fmt.Sprint(2+i), server.URL(), limit))
	}
	awaitLive(t, members, 4)
	c, took, _ = press(members, local, 50, 3*time.Second)
	within(t, "four instances", c.admitted, 40, took, 0.98, 1.02)
	// And each knows its share, should the store go.
	server.Kill()
	press(members, local, 50, time.Second)
	c, took, _ = press(members, local, 50, 2*time.Second)
	within(t, "four instances without the store", c.admitted, -1, took, 0.5, 1.25)
}

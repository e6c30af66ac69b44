package limitgate

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"
)

// Windowing is how Count counts.
type Windowing uint8

// The ways to count, and the largest limit of each.
const (
	Sliding Windowing = iota // two counters, the older weighed by its overlap: 1,048,575
	Fixed                    // one counter that begins anew with each window: 16,777,215
	Log                      // the time of each request: 10,000
)

// String gives the name a configuration uses.
func (w Windowing) String() string {
	switch w {
	case Sliding:
		return "sliding"
	case Fixed:
		return "fixed"
	case Log:
		return "log"
	}
	return "unknown"
}

// Count limits how many requests are admitted in a window of time. Refused ones are not counted, so a limit that is raised
// takes effect at once, and a client that hammers is not locked out by that.
type Count struct {
	// Limit is how many requests, or how much cost, a window admits: at least 1, at most what Windowing says.
	Limit int64

	// Window is its length: whole milliseconds, up to 366 days.
	Window time.Duration

	Windowing Windowing

	// First lets a Fixed window begin with a key's first request instead of at a multiple of its length.
	First bool

	// Calendar aligns a Fixed window to the clocks of a place: days from midnight to midnight, whether they have 23, 24 or
	// 25 hours. Window must then divide a day, or be whole days; seven begin on Mondays. nil aligns to the Unix epoch.
	Calendar *time.Location
}

var _ Algorithm = Count{}

const (
	maxWindow = 366 * 24 * time.Hour
	day       = 24 * time.Hour

	// skew is how far another processor's clock, or a step of the clock, may be behind what a window has seen already,
	// without being taken for a clock that was set back.
	skew = 60 * time.Second
)

// Max is the largest limit that can be counted in this way.
func (w Windowing) Max() int64 {
	switch w {
	case Fixed:
		return maxFixed
	case Log:
		return maxLog
	}
	return maxSliding
}

// Validate says what is wrong with c.
func (c Count) Validate() error {
	switch {
	case c.Windowing > Log:
		return fmt.Errorf("limit of a window: unknown windowing %d; Sliding, Fixed or Log", c.Windowing)
	case c.Limit < 1 || c.Limit > c.Windowing.Max():
		return fmt.Errorf("limit of a window: %d is not between 1 and %d, which is the most that windowing %v can count", c.Limit, c.Windowing.Max(), c.Windowing)
	case c.Window < time.Millisecond || c.Window > maxWindow || c.Window%time.Millisecond != 0:
		return fmt.Errorf("limit of a window: %v is not a whole number of milliseconds between 1ms and %v", c.Window, maxWindow)
	case c.Windowing != Fixed && (c.First || c.Calendar != nil):
		return fmt.Errorf("limit of a window: first request and calendar are for windowing fixed, not %v", c.Windowing)
	case c.First && c.Calendar != nil:
		return errors.New("limit of a window: begins with the first request or with the calendar, not with both")
	case c.Calendar != nil && day%c.Window != 0 && c.Window%day != 0:
		return fmt.Errorf("limit of a window: %v neither divides a day nor is whole days, so it has no place in a calendar", c.Window)
	}
	return nil
}

// Kind is the layout of the states: KindSliding, KindFixed or KindLog.
func (c Count) Kind() Kind {
	switch c.Windowing {
	case Fixed:
		return KindFixed
	case Log:
		return KindLog
	}
	return KindSliding
}

// Compile derives the constants of the steps.
func (c Count) Compile() Steps {
	switch {
	case c.Windowing == Log:
		return &LogSteps{limit: c.Limit, window: c.Window}
	case c.Windowing == Sliding:
		return newSlidingSteps(c)
	case c.First:
		return &fixedSteps{limit: c.Limit, window: c.Window, first: true}
	case c.Calendar != nil:
		return &fixedSteps{limit: c.Limit, window: c.Window, calendar: newCalendar(c.Window, c.Calendar)}
	}
	return &fixedSteps{limit: c.Limit, window: c.Window}
}

// salt tells windows of one length and alignment from all others. It is the same in every process.
func (c Count) salt() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %v %v", c.Window, c.Windowing, c.First)
	if c.Calendar != nil {
		_, _ = fmt.Fprintf(h, " %v", c.Calendar)
	}
	return h.Sum64() | 1
}

// overLimit is a refusal by a window in which used of limit are gone; ahead is how long until the request would pass.
func overLimit(limit, used int64, cost Cost, ahead time.Duration) Decision {
	left := max(limit-used, 0)
	a := Decision{Outcome: Rejected, Excess: addExcess(Excess(max(used-limit, -limit)+1)*1000, cost), Remaining: left}
	if int64(cost) <= limit {
		a.Wait = max(ahead, 1)
	}
	return a
}

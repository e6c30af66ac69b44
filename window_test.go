package limitgate

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestValidate(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		limit Algorithm
		want  string // in the error; "" for none
	}{
		{Count{Limit: 1, Window: time.Millisecond}, ""},
		{Count{Limit: 1_048_575, Window: 366 * 24 * time.Hour}, ""},
		{Count{Limit: 1_048_576, Window: time.Second}, "1048575"},
		{Count{Limit: 16_777_215, Window: time.Second, Windowing: Fixed}, ""},
		{Count{Limit: 16_777_216, Window: time.Second, Windowing: Fixed}, "16777215"},
		{Count{Limit: 10_000, Window: time.Second, Windowing: Log}, ""},
		{Count{Limit: 10_001, Window: time.Second, Windowing: Log}, "10000"},
		{Count{Window: time.Second}, "0 is not between 1"},
		{Count{Limit: 1}, "milliseconds"},
		{Count{Limit: 1, Window: 1500 * time.Microsecond}, "milliseconds"},
		{Count{Limit: 1, Window: 367 * 24 * time.Hour}, "8784h"},
		{Count{Limit: 1, Window: time.Second, Windowing: 7}, "unknown windowing"},
		{Count{Limit: 1, Window: time.Second, First: true}, "for windowing fixed"},
		{Count{Limit: 1, Window: time.Second, Windowing: Log, Calendar: time.UTC}, "for windowing fixed"},
		{Count{Limit: 1, Window: time.Hour, Windowing: Fixed, First: true, Calendar: time.UTC}, "not with both"},
		{Count{Limit: 1, Window: 7 * time.Hour, Windowing: Fixed, Calendar: berlin}, "neither divides a day"},
		{Count{Limit: 1, Window: 7 * 24 * time.Hour, Windowing: Fixed, Calendar: berlin}, ""},
		{Token{Rate: PerSecond(1), Capacity: 1}, ""},
		{Token{Rate: PerSecond(1)}, "capacity 0"},
		{Token{Capacity: 1}, "rate is missing"},
		{Token{Rate: PerSecond(1), Capacity: 1, Queue: -1}, "queue -1"},
		{Token{Rate: PerDay(1), Capacity: 30_000}, "at most 26687"},
		{Token{Rate: PerDay(1), Capacity: 26_687}, ""},
		{Token{Rate: PerDay(1), Capacity: 26_688}, "at most 26687"},
		{Token{Rate: PerDay(1), Capacity: 20_000, Queue: 6_687}, ""},
		{Token{Rate: PerDay(1), Capacity: 20_000, Queue: 6_688}, "at most 26687"},
		{Token{Rate: PerSecond(1), Capacity: 1 << 30, Queue: math.MaxInt64}, "73 years"},
		{Pace{Rate: 1}, ""},
		{Pace{Rate: 100_000_000_000, Burst: math.MaxInt64}, ""},
		{Pace{}, "bytes a second"},
		{Pace{Rate: 100_000_000_001}, "100000000000"},
		{Pace{Rate: 1, Burst: -1}, "negative"},
		{Pace{Rate: 1, Burst: math.MaxInt64}, "at most 1152921504"},
		{Pace{Rate: 1, Burst: 1152921504}, ""},
		{Pace{Rate: 1, Queue: math.MaxInt64}, "at most 320255h58m24"},
	} {
		err := c.limit.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.limit, err, c.want)
		}
	}
}

// windows are limits of three in a minute, but for logs, which have no steps.
func windows() map[string]Count {
	return map[string]Count{
		"sliding": {Limit: 3, Window: time.Minute},
		"fixed":   {Limit: 3, Window: time.Minute, Windowing: Fixed},
		"first":   {Limit: 3, Window: time.Minute, Windowing: Fixed, First: true},
	}
}

// TestWindowTime: what a window does when time stands still, steps, has long gone, or ends. t0 is a multiple of a minute.
func TestWindowTime(t *testing.T) {
	for name, c := range windows() {
		t.Run(name, func(t *testing.T) {
			r := &run{t: t, steps: c.Compile()}
			full := func(at Time) {
				t.Helper()
				r.state = 0
				for range 3 {
					r.want("fill", at, 1, Passed, 0)
				}
				if d := r.ask(at, 1); d.Outcome != Rejected || d.RetryAfter() <= 0 || d.RetryAfter() > 2*time.Minute {
					t.Errorf("full at %d: %+v", at, d)
				}
			}
			for _, back := range []time.Duration{time.Nanosecond, time.Second, 59 * time.Second, 2 * time.Minute, 5 * time.Hour, 400 * time.Hour} {
				full(t0)
				if d := r.ask(t0.Add(-back), 1); d.Outcome != Rejected || d.RetryAfter() > 3*time.Minute {
					t.Errorf("%v back: %+v", back, d)
				}
				if d := r.ask(t0.Add(-back).Add(3*time.Minute+time.Second), 3); d.Outcome != Passed {
					t.Errorf("%v back and three minutes on: %+v", back, d)
				}
			}
			for _, ahead := range []time.Duration{2 * time.Minute, 5 * time.Hour, 365 * 24 * time.Hour, 3652 * 24 * time.Hour, 3652*24*time.Hour + 30*time.Second} {
				full(t0)
				r.want("ahead by "+ahead.String(), t0.Add(ahead), 3, Passed, 0)
			}
			for _, at := range []Time{-5, 0, 1, math.MaxInt64 - Time(time.Hour), math.MaxInt64 - 1, math.MaxInt64} {
				full(at)
				_ = r.steps.DrainAt(r.state, at)
			}
			full(t0.Add(1_234_567 * time.Nanosecond))
			_, fresh := decide(r.steps, 0, t0, 3, 0)
			if drain := r.steps.DrainAt(r.state, t0.Add(time.Second)); drain <= t0 || drain > t0.Add(2*time.Minute) {
				t.Errorf("drains at %v", drain-t0)
			} else if _, d := decide(r.steps, r.state, drain, 3, 0); d != fresh {
				t.Errorf("drained at %v: %+v", drain-t0, d)
			}
		})
	}
}

// TestYears: states that keep their time in part of a word take what is long past for past, and what lies ahead, because the
// clock was set back, for that, as far as the pictures of their words say.
func TestYears(t *testing.T) {
	const year = 365 * day
	for _, c := range []struct {
		name  string
		limit Algorithm
		fills int
		past  time.Duration // for so long it is told from what lies ahead
		ahead time.Duration
	}{
		{"fixed", Count{Limit: 3, Window: time.Minute, Windowing: Fixed}, 3, 30 * year, 4 * year},
		{"first", Count{Limit: 3, Window: time.Minute, Windowing: Fixed, First: true}, 3, 30 * year, 4 * year},
		{"sliding", Count{Limit: 3, Window: time.Minute}, 3, 27 * year, 3 * year},
		{"sliding seconds", Count{Limit: 3, Window: time.Second}, 3, 192 * day, day + time.Second},
		{"nginx", Req{Rate: PerSecond(1), Burst: 2, NoDelay: true, Arithmetic: Nginx}, 3, 30 * year, 4 * year},
		{"nginx wide", Req{Rate: PerSecond(1), Burst: 5000, NoDelay: true, Arithmetic: Nginx}, 5001, 37 * day, 12 * day},
	} {
		for _, d := range []time.Duration{c.past, c.past * 3 / 4, c.past / 2} {
			r := &run{t: t, steps: c.limit.Compile()}
			for range c.fills {
				r.want(c.name, t0, 1, Passed, 0)
			}
			if r.ask(t0, 1).Admitted() {
				t.Errorf("%s: not full", c.name)
			}
			r.want(c.name+" idle for "+d.String(), t0.Add(d), Cost(min(c.fills, 3)), Passed, 0)
		}
		for _, d := range []time.Duration{c.ahead, c.ahead / 2} {
			r := &run{t: t, steps: c.limit.Compile()}
			for range c.fills {
				r.want(c.name, t0, 1, Passed, 0)
			}
			if r.ask(t0.Add(-d), 1).Admitted() {
				t.Errorf("%s: set back by %v, a full state is a new one", c.name, d)
			}
		}
	}
}

// TestWindowRetryIsExact: at the instant that a refusal names the request passes, and a nanosecond earlier it does not, in
// whatever state a sliding window is.
func TestWindowRetryIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom([]time.Duration{time.Millisecond, 7 * time.Millisecond, time.Second, time.Minute, 31 * day}).Draw(t, "window")
		g := newSlidingSteps(Count{Limit: rapid.Int64Range(1, 100).Draw(t, "limit"), Window: window})
		index := int64(t0) / int64(window)
		s := packSliding(index, rapid.Int64Range(0, g.limit).Draw(t, "previous"), rapid.Int64Range(0, g.limit).Draw(t, "current"))
		now := Time(index*int64(window) + rapid.Int64Range(0, int64(window)-1).Draw(t, "now"))
		cost := Cost(rapid.Int64Range(1, g.limit).Draw(t, "cost"))
		_, d := decide(g, s, now, cost, 0)
		if d.Admitted() {
			return
		}
		if _, again := decide(g, s, now.Add(d.RetryAfter()), cost, 0); !again.Admitted() {
			t.Fatalf("limit %d in %v, state %x: refused at %d, and after %v again", g.limit, window, s, now, d.RetryAfter())
		}
		if _, early := decide(g, s, now.Add(d.RetryAfter()-1), cost, 0); early.Admitted() {
			t.Fatalf("limit %d in %v, state %x: refused at %d, but admitted before %v", g.limit, window, s, now, d.RetryAfter())
		}
	})
}

// TestWindowCost: a cost above the limit never passes, has no time after which it would, and changes nothing.
func TestWindowCost(t *testing.T) {
	for name, c := range windows() {
		r := &run{t: t, steps: c.Compile()}
		for _, cost := range []Cost{4, 1 << 30, math.MaxInt64} {
			before := r.state
			r.want(name, t0, cost, Rejected, 0)
			if r.state != before {
				t.Errorf("%s: cost %d changed the state", name, cost)
			}
			r.want(name, t0, 1, Passed, 0)
		}
		for k := range int64(32) { // of a key that nobody has seen, wherever its time stands in a word
			at := Time(k * int64(slidingIndexMod/32) * int64(time.Minute))
			if after, _ := decide(r.steps, 0, at, 4, 0); after != 0 {
				t.Errorf("%s at %d: a refusal made a state", name, at)
			}
		}
		if d := r.ask(t0, 2); d.Outcome != Rejected || d.Excess != 2000 || d.RetryAfter() <= 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestWindowChange: another limit keeps the count, cuts it to the new full one, and never tells less than nothing.
func TestWindowChange(t *testing.T) {
	for name, c := range windows() {
		wide := c
		wide.Limit = 100
		full, _ := decide(wide.Compile(), 0, t0, 100, 0)
		if _, d := decide(c.Compile(), full, t0, 1, 100); d.Outcome != Rejected || d.Remaining != 0 || d.Excess != 98_000 {
			t.Errorf("%s: 100 of 3, 100 elsewhere on the zone: %+v", name, d)
		}
		cut, d := decide(c.Compile(), full, t0, 1, 0)
		if d.Outcome != Rejected || d.Remaining != 0 || d.Excess != 1000 {
			t.Errorf("%s: 100 of 3: %+v", name, d)
		}
		if again, _ := decide(c.Compile(), cut, t0, 1, 0); again != cut {
			t.Errorf("%s: the cut is not stored", name)
		}
		wide.Limit = 101
		if _, d := decide(wide.Compile(), full, t0, 1, 0); d.Outcome != Passed || d.Remaining != 0 {
			t.Errorf("%s: 100 of 101: %+v", name, d)
		}
	}
}

// TestSlidingUndo: a charge is taken back from the window it was made in, also once that is the previous one.
func TestSlidingUndo(t *testing.T) {
	s := Count{Limit: 10, Window: time.Minute}.Compile()
	mine, _ := decide(s, 0, t0, 6, 0)
	both, _ := decide(s, mine, t0, 2, 0)
	next, _ := decide(s, both, t0.Add(61*time.Second), 1, 0)
	for _, c := range []struct {
		name string
		s    State
		at   time.Duration
		left int64 // remaining after one more
	}{{"same window", both, 0, 7}, {"next window", next, 61 * time.Second, 7}, {"nothing left", 0, 0, 9}} {
		if _, d := decide(s, s.Undo(c.s, 0, mine, t0), t0.Add(c.at), 1, 0); d.Remaining != c.left {
			t.Errorf("%s: %+v, want %d", c.name, d, c.left)
		}
	}
	late, _ := decide(s, both, t0.Add(3*time.Minute), 1, 0)
	if s.Undo(late, 0, mine, t0) != late {
		t.Error("a charge was taken back from a later window")
	}
}

// TestCalendar: where windows end by the clocks of a place, on days on which they are set on or back.
// Nearly a window lies between the end of one and the end of the next, and twice the limit fits: the bound that the
// documentation names is reached, and not passed.
func TestSlidingWorstCase(t *testing.T) {
	const limit = 60
	s := Count{Limit: limit, Window: time.Minute}.Compile()
	state, edge, admitted := State(0), t0.Add(time.Minute-time.Duration(t0)%time.Minute), 0
	pass := func(at Time) bool {
		next, d := decide(s, state, at, 1, 0)
		state = next
		return d.Outcome == Passed
	}
	for pass(edge.Add(-time.Millisecond)) {
		admitted++
	}
	for at := time.Duration(0); at < time.Minute-time.Millisecond; at += 50 * time.Millisecond {
		for pass(edge.Add(at)) {
			admitted++
		}
	}
	if admitted != 2*limit {
		t.Errorf("got %d within a minute, want %d", admitted, 2*limit)
	}
}

func TestCalendar(t *testing.T) {
	for _, c := range []struct {
		place  string
		window time.Duration
		at     string // UTC
		end    string
	}{
		{"UTC", day, "2026-03-01T12:00:00Z", "2026-03-02T00:00:00Z"},
		{"Europe/Berlin", day, "2026-03-28T12:00:00Z", "2026-03-28T23:00:00Z"},
		{"Europe/Berlin", day, "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}, // 23 hours
		{"Europe/Berlin", day, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}, // 25 hours
		{"Europe/Berlin", 12 * time.Hour, "2026-03-29T00:30:00Z", "2026-03-29T10:00:00Z"},
		{"Europe/Berlin", 12 * time.Hour, "2026-03-29T01:30:00Z", "2026-03-29T10:00:00Z"},
		{"Europe/Berlin", time.Hour, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"}, // the hour that is there twice
		{"Europe/Berlin", time.Hour, "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"},
		{"America/New_York", 90 * time.Minute, "2026-11-01T05:40:00Z", "2026-11-01T08:00:00Z"}, // 01:40, set back over 01:30
		{"America/New_York", 90 * time.Minute, "2026-11-01T06:10:00Z", ""},
		{"Asia/Kolkata", time.Hour, "2026-03-01T12:00:00Z", "2026-03-01T12:30:00Z"},
		{"Asia/Kolkata", day, "2026-03-01T12:00:00Z", "2026-03-01T18:30:00Z"},
		{"America/Havana", day, "2026-11-01T04:30:00Z", ""}, // midnight is there twice
		{"Europe/Berlin", 7 * day, "2026-03-04T12:00:00Z", "2026-03-08T23:00:00Z"},
		{"Europe/Berlin", 7 * day, "2026-03-08T22:59:59Z", "2026-03-08T23:00:00Z"},
		{"UTC", 2 * day, "1970-01-01T12:00:00Z", "1970-01-03T00:00:00Z"},
	} {
		place, err := time.LoadLocation(c.place)
		if err != nil {
			t.Skip(err)
		}
		at, _ := time.Parse(time.RFC3339, c.at)
		end := time.UnixMilli(newCalendar(c.window, place).end(at.UnixMilli())).UTC()
		if got := end.Format(time.RFC3339); c.end != "" && got != c.end || !end.After(at) || end.Sub(at) > c.window+time.Hour {
			t.Errorf("%s %v at %s: ends %s, want %s", c.place, c.window, c.at, got, c.end)
		}
	}
}

// TestCalendarDays: over years, every window of a day begins when the one before it ended.
func TestCalendarDays(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo"} {
		place, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		for _, w := range []time.Duration{day, 6 * time.Hour, 3 * time.Hour, 90 * time.Minute, time.Hour, time.Minute * 15} {
			c := newCalendar(w, place)
			now := time.Date(2024, 1, 1, 0, 0, 0, 0, place).UnixMilli()
			for end := c.end(now); now < time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(); end = c.end(now) {
				if d := time.Duration(end-now) * time.Millisecond; d <= 0 || d > w+time.Hour {
					t.Fatalf("%s: the window of %v at %v ends after %v", name, w, time.UnixMilli(now).In(place), d)
				}
				now = end
			}
		}
	}
}

// TestRates: buckets and windows admit what they say from one a day to a million a second.
func TestRates(t *testing.T) {
	for _, rate := range []Rate{PerDay(1), PerDay(7), PerHour(1000), PerMinute(7), PerSecond(3), PerSecond(65535), PerSecond(999_999), PerSecond(1_000_000)} {
		r := &run{t: t, steps: Token{Rate: rate, Capacity: 10}.Compile()}
		n, each := int64(0), rate.Interval()
		for k := range int64(4000) { // four times as fast as it may be
			if r.ask(t0+Time(k*int64(each)/4), 1).Admitted() {
				n++
			}
		}
		if n < 1009 || n > 1010 {
			t.Errorf("%v: admitted %d, want 10 and 1000", rate, n)
		}
	}
	for _, rate := range []int64{1, 7, 1000, 1_000_003, 1_250_000_000, maxPace} {
		r := &run{t: t, steps: Pace{Rate: rate}.Compile()}
		at, chunk := t0, max(rate/50, 1)
		for range 100 {
			d := r.ask(at, Cost(chunk))
			at = at.Add(d.Delay())
		}
		want := float64(chunk*99) / float64(rate)
		if got := at.Sub(t0).Seconds(); got < want || got > want*1.001+1e-6 {
			t.Errorf("%d bytes a second: 99 chunks of %d took %v s, want %v", rate, chunk, got, want)
		}
	}
}

// TestPaceTakesItsFull: a write as large as burst and queue together goes on an idle key, and one byte more never does.
func TestPaceTakesItsFull(t *testing.T) {
	for _, c := range []struct {
		cost Cost
		want Outcome
	}{{3, Passed}, {4, Rejected}} {
		r := &run{t: t, steps: Pace{Rate: 1, Burst: 2, Queue: time.Second}.Compile()}
		r.want("the first write", t0, c.cost, c.want, 0)
	}
}

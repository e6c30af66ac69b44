package guard

import (
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

const t0 = limitgate.Time(1_800_000_000 * int64(time.Second))

func newBreaker(c Breaking) *breaker {
	return &breaker{Breaking: c.withDefaults(), random: func() uint64 { return 0 }}
}

// step is one thing that happens to a breaker, and what is true then.
type step struct {
	at   time.Duration
	do   string // ask, good, bad, drop: of the oldest call under way; probe
	want string // of ask: yes or no
	then Phase
}

func TestBreaker(t *testing.T) {
	asks := func(n int, at time.Duration, end string, then Phase) (list []step) {
		for i := range n {
			p := Up
			if i == n-1 {
				p = then
			}
			list = append(list, step{at, "ask", "yes", Up}, step{at, end, "", p})
		}
		return list
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		b       Breaking
		watched bool
		steps   []step
	}{
		{"failures in a row stop the calls", Breaking{Row: 3}, false,
			append(asks(3, 0, "bad", Down), step{1, "ask", "no", Down})},
		{"a success between failures begins anew", Breaking{Row: 3}, false,
			append(append(asks(2, 0, "bad", Up), asks(1, 0, "good", Up)...), asks(2, 0, "bad", Up)...)},
		{"a share of failures stops the calls", Breaking{Row: 100, Least: 4, Share: 50}, false,
			append(append(append(asks(1, 0, "bad", Up), asks(2, 0, "good", Up)...), asks(1, 0, "bad", Down)...), step{1, "ask", "no", Down})},
		{"failures of an earlier window are forgotten", Breaking{Row: 100, Least: 4, Share: 50, Window: time.Second}, false,
			append(append(asks(2, 0, "bad", Up), asks(2, 2*time.Second, "good", Up)...), asks(1, 2*time.Second, "bad", Up)...)},
		{"one probe at a time, and each pause twice as long", Breaking{Row: 1, First: 100 * ms, Longest: 300 * ms}, false, []step{
			{0, "ask", "yes", Up}, {0, "bad", "", Down},
			{99 * ms, "ask", "no", Down}, {100 * ms, "ask", "yes", Down}, {100 * ms, "ask", "no", Down}, {110 * ms, "bad", "", Down},
			{309 * ms, "ask", "no", Down}, {310 * ms, "ask", "yes", Down}, {310 * ms, "bad", "", Down},
			{609 * ms, "ask", "no", Down}, {610 * ms, "ask", "yes", Down}, {610 * ms, "bad", "", Down},
			{909 * ms, "ask", "no", Down}, {910 * ms, "ask", "yes", Down}}},
		{"recovery without a stampede", Breaking{Row: 1, First: 100 * ms, Width: 4}, false, []step{
			{0, "ask", "yes", Up}, {0, "bad", "", Down},
			{100 * ms, "ask", "yes", Down}, {100 * ms, "good", "", Rising},
			{100 * ms, "ask", "yes", Rising}, {100 * ms, "ask", "no", Rising}, {100 * ms, "good", "", Rising},
			{100 * ms, "ask", "yes", Rising}, {100 * ms, "ask", "yes", Rising}, {100 * ms, "ask", "no", Rising},
			{100 * ms, "good", "", Rising}, {100 * ms, "good", "", Up}, {100 * ms, "ask", "yes", Up}}},
		{"a failure while rising", Breaking{Row: 1, First: 100 * ms}, false, []step{
			{0, "ask", "yes", Up}, {0, "bad", "", Down},
			{100 * ms, "ask", "yes", Down}, {100 * ms, "good", "", Rising},
			{100 * ms, "ask", "yes", Rising}, {100 * ms, "bad", "", Down},
			{299 * ms, "ask", "no", Down}, {300 * ms, "ask", "yes", Down}}},
		{"what began before says nothing", Breaking{Row: 1, First: 100 * ms}, false, []step{
			{0, "ask", "yes", Up}, {0, "ask", "yes", Up}, {0, "ask", "yes", Up}, {0, "bad", "", Down},
			{1, "good", "", Down}, {100 * ms, "ask", "yes", Down}, {100 * ms, "bad", "", Down}, {101 * ms, "good", "", Rising}}},
		{"a call that says nothing", Breaking{Row: 1, First: 100 * ms}, false, []step{
			{0, "ask", "yes", Up}, {0, "drop", "", Up}, {0, "ask", "yes", Up}, {0, "bad", "", Down},
			{100 * ms, "ask", "yes", Down}, {100 * ms, "drop", "", Down}, {100 * ms, "ask", "yes", Down}}},
		{"where somebody watches, requests don't probe", Breaking{Row: 1, First: 100 * ms}, true, []step{
			{0, "ask", "yes", Up}, {0, "bad", "", Down}, {100 * ms, "ask", "no", Down},
			{100 * ms, "probe", "yes", Down}, {100 * ms, "probe", "no", Down}, {100 * ms, "good", "", Rising}, {100 * ms, "ask", "yes", Rising}}},
		{"a clock set back does not put the probe off", Breaking{Row: 1, First: 100 * ms}, false, []step{
			{time.Hour, "ask", "yes", Up}, {time.Hour, "bad", "", Down},
			{0, "ask", "no", Down}, {100 * ms, "ask", "yes", Down}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBreaker(c.b)
			b.watched = c.watched
			var under []ticket
			for i, s := range c.steps {
				now := t0.Add(s.at)
				switch s.do {
				case "ask", "probe":
					ask := b.ask
					if s.do == "probe" {
						ask = b.probe
					}
					k, ok := ask(now)
					if got := map[bool]string{true: "yes", false: "no"}[ok]; got != s.want {
						t.Fatalf("step %d, %s at %v: got %s, want %s", i, s.do, s.at, got, s.want)
					}
					if ok {
						under = append(under, k)
					}
				case "drop":
					b.drop(under[0])
					under = under[1:]
				default:
					b.tell(now, under[0], s.do == "good")
					under = under[1:]
				}
				if b.phase != s.then {
					t.Fatalf("step %d, %s at %v: got %v, want %v", i, s.do, s.at, b.phase, s.then)
				}
			}
		})
	}
}

// TestBreakerJitter: instances that fail together do not try again together, and none later than the pause.
func TestBreakerJitter(t *testing.T) {
	at := map[time.Duration]bool{}
	for i := range uint64(16) {
		b := newBreaker(Breaking{Row: 1, First: 100 * time.Millisecond})
		b.random = func() uint64 { return i * 3_000_000 }
		k, _ := b.ask(t0)
		b.tell(t0, k, false)
		wait := b.until.Sub(t0)
		if wait > 100*time.Millisecond || wait < 75*time.Millisecond {
			t.Errorf("tries again after %v, want 75ms to 100ms", wait)
		}
		at[wait] = true
	}
	if len(at) < 8 {
		t.Errorf("16 instances try at %d different times, want at least 8", len(at))
	}
}

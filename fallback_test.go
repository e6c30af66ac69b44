package limitgate_test

import (
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// TestFallbackMarksADecision: the mark stands in the Wait and is read back with it, whatever the decision is.
func TestFallbackMarksADecision(t *testing.T) {
	for _, c := range []struct {
		name         string
		d            limitgate.Decision
		delay, retry time.Duration // with the mark: rounded up to four nanoseconds
	}{
		{"passed", limitgate.Decision{Remaining: 3}, 0, 0},
		{"delayed", limitgate.Decision{Outcome: limitgate.Delayed, Wait: 1_000_001}, 1_000_004, 0},
		{"rejected", limitgate.Decision{Outcome: limitgate.Rejected, Wait: time.Second}, 0, time.Second},
		{"rejected without a time", limitgate.Decision{Outcome: limitgate.Rejected}, 0, 0},
		{"rejected for want of room", limitgate.Decision{Outcome: limitgate.Rejected, Wait: limitgate.NoRoom}, 0, 0},
		{"the longest time", limitgate.Decision{Outcome: limitgate.Rejected, Wait: 1 << 61}, 0, 1 << 61},
	} {
		if got := c.d.Fallback(); got != limitgate.NoFallback {
			t.Errorf("%s: got %v before it was marked, want none", c.name, got)
		}
		for _, f := range []limitgate.Fallback{limitgate.FailOpen, limitgate.FailClosed, limitgate.FailLocal} {
			m := c.d.By(f)
			if m.Fallback() != f || m.Delay() != c.delay || m.RetryAfter() != c.retry || m.NoRoom() {
				t.Errorf("%s by %v: got %v, delay %v, retry after %v, no room %v, want delay %v, retry after %v",
					c.name, f, m.Fallback(), m.Delay(), m.RetryAfter(), m.NoRoom(), c.delay, c.retry)
			}
			if m.Outcome != c.d.Outcome || m.Remaining != c.d.Remaining {
				t.Errorf("%s by %v: got %+v, want the rest as it was: %+v", c.name, f, m, c.d)
			}
			if again := m.By(limitgate.FailOpen); again.Fallback() != limitgate.FailOpen || again.RetryAfter() != c.retry {
				t.Errorf("%s by %v and then open: got %v, %v", c.name, f, again.Fallback(), again.RetryAfter())
			}
		}
		if got := c.d.By(limitgate.NoFallback); got != c.d {
			t.Errorf("%s by none: got %+v, want %+v", c.name, got, c.d)
		}
	}
}

func TestFallbackNames(t *testing.T) {
	for f, want := range map[limitgate.Fallback]string{
		limitgate.NoFallback: "", limitgate.FailOpen: "open", limitgate.FailClosed: "closed", limitgate.FailLocal: "local", 9: "unknown",
	} {
		if got := f.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

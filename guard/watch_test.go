package guard

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
)

// TestRoll: who has been missing for long is gone, but nobody is while nothing can be read, nor as soon as it can be again.
func TestRoll(t *testing.T) {
	var r roll
	for _, s := range []struct {
		at   time.Duration
		live []string
		want int
	}{
		{0, []string{"a"}, 1},
		{time.Second, []string{"a", "b", "c"}, 3},
		{2 * time.Second, []string{"a"}, 3},      // a store that came up empty: the others sign again
		{4 * time.Second, []string{"a", "b"}, 3}, // c is missing since two seconds
		{5 * time.Second, []string{"a", "b"}, 3}, // three
		{6 * time.Second, []string{"a", "b"}, 2}, // and now it is gone
		{time.Minute, []string{"a", "b", "d", "e"}, 4},
		{2 * time.Minute, []string{"a"}, 4},                             // after an outage: the first to come finds nobody else
		{2*time.Minute + time.Second, []string{"a", "b", "d"}, 4},       // e may be late
		{2*time.Minute + 2*time.Second, []string{"a", "b", "d"}, 4},     // it may still
		{2*time.Minute + 4*time.Second, []string{"a", "b", "d"}, 3},     // it is not
		{-time.Hour, []string{"a", "b"}, 3},                             // a clock that was set back forgets nobody
		{3 * time.Minute, []string{"a", "b", "c", "d"}, 4},              // c is back
		{3*time.Minute + 10*time.Second, []string{"a", "b", "c"}, 4},    // missing for the first time, whenever that is
		{3*time.Minute + 14*time.Second, []string{"a", "b", "c"}, 3},    // and long enough
		{3*time.Minute + 15*time.Second, []string{"a", "b", "x"}, 4},    // c is missing
		{3*time.Minute + 16*time.Second, []string{"a", "b", "c"}, 4},    // c is there, x is missing
		{3*time.Minute + 19500*time.Millisecond, []string{"a", "b"}, 3}, // c is missing only now, x is gone
	} {
		if r.call(t0.Add(s.at), s.live, 3*time.Second); len(r) != s.want {
			t.Errorf("at %v with %v: got %d instances, want %d", s.at, s.live, len(r), s.want)
		}
	}
}

// TestWatch: instances are counted, the count outlives the store, and a store that is back is found by the watch, not by requests.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		far, names := newRemote(), &roster{names: []string{"b", "c"}}
		s := New(Config{})
		z := s.Zone(far, 0)
		l := bind(t, z.Fail(limitgate.FailLocal), limitgate.Conn{Limit: 100})
		done := make(chan struct{})
		// Owned by the test, ends with ctx.
		go func() {
			defer close(done)
			s.Watch(ctx, Watching{Roster: names, Name: "a"})
		}()
		synctest.Wait()
		if got := s.Peers(); s.Live() != 3 || !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("got %d instances, %v, want a, b and c at once", s.Live(), got)
		}
		held := acquire(t, l, limitgate.Now(), 4)
		names.set(true)
		far.mode.Store(fails)
		time.Sleep(10 * time.Second)
		release(t, held)
		if st := s.Stats(); s.Live() != 3 || st.Phase != Down || st.Waiting != 4 {
			t.Errorf("got %d instances, %+v, want 3 while the store is down, and 4 places waiting", s.Live(), st)
		}
		calls := far.calls.Load()
		for range 100 {
			release(t, acquire(t, l, limitgate.Now(), 1))
			time.Sleep(10 * time.Millisecond)
		}
		if got := far.calls.Load(); got != calls {
			t.Errorf("got %d calls by requests while the store is down, want none", got-calls)
		}
		names.set(false, "b")
		far.mode.Store(answers)
		time.Sleep(3 * time.Second)
		if st := s.Stats(); st.Phase != Up || st.Waiting != 0 || far.places() != 0 {
			t.Errorf("got %+v and %d places in the store 3s after it is back, want none and up", st, far.places())
		}
		time.Sleep(4 * time.Second)
		if got := s.Peers(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %v, want a and b", got)
		}
		names.set(false)
		if err := New(Config{}).Leave(ctx, Watching{Roster: names, Name: "b"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := s.Peers(); s.Live() != 1 || !slices.Equal(got, []string{"a"}) {
			t.Errorf("got %v a second after b left, want a alone", got)
		}
		cancel()
		<-done
	})
}

// TestWatchOfAReplacedStore: a store that replaces another knows who was there until it can ask, and for as long after that as who
// fails to sign.
func TestWatchOfAReplacedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		names, done := &roster{fails: true}, make(chan struct{})
		s := New(Config{Peers: []string{"c", "a", "b"}})
		// Owned by the test, ends with ctx.
		go func() {
			defer close(done)
			s.Watch(ctx, Watching{Roster: names, Name: "a"})
		}()
		time.Sleep(time.Minute)
		if got := s.Peers(); s.Live() != 3 || !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("got %d instances, %v, want the three that there were", s.Live(), got)
		}
		names.set(false, "b", "d")
		time.Sleep(2500 * time.Millisecond) // it is tried every two seconds at least
		if got := s.Peers(); s.Live() != 4 || !slices.Equal(got, []string{"a", "b", "c", "d"}) {
			t.Errorf("got %d instances, %v, want c, which may be late, and d", s.Live(), got)
		}
		time.Sleep(5 * time.Second)
		if got := s.Peers(); !slices.Equal(got, []string{"a", "b", "d"}) {
			t.Errorf("got %v, want a, b and d", got)
		}
		cancel()
		<-done
	})
}

// TestWatchWithoutARoster: a store that answers, but to nobody who signs the roster, is not out; it is told once.
func TestWatchWithoutARoster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		names, done := &roster{fails: true}, make(chan struct{})
		var lines []string
		s := New(Config{Outage: func(err error) bool { return !errors.Is(err, errGone) }, Tell: func(e Event) { lines = append(lines, e.String()) }})
		// Owned by the test, ends with ctx.
		go func() {
			defer close(done)
			s.Watch(ctx, Watching{Roster: names, Name: "a"})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"instances do not know each other: " + errGone.Error()}; s.Stats().Phase != Up || s.Live() != 0 || !slices.Equal(lines, want) {
			t.Errorf("got phase %v, %d instances, %q, want a store that is up, and %q", s.Stats().Phase, s.Live(), lines, want)
		}
		if names.signs > 70 {
			t.Errorf("signed %d times in a minute, want once a second", names.signs)
		}
		names.set(false)
		time.Sleep(2 * time.Second)
		names.set(true)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.Live() != 1 || len(lines) != 2 {
			t.Errorf("got %d instances and %q, want one, and that it is told again", s.Live(), lines)
		}
		cancel()
		<-done
	})
}

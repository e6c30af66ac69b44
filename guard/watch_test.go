package guard

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limitgate/limitgate"
)

// TestRoll: who has not been seen for long is gone, but nobody is while nothing can be read.
func TestRoll(t *testing.T) {
	var r roll
	for _, s := range []struct {
		at   time.Duration
		live []string
		want int
	}{
		{0, []string{"a"}, 1},
		{time.Second, []string{"a", "b", "c"}, 3},
		{2 * time.Second, []string{"a"}, 3},                // a store that came up empty: the others sign again
		{4 * time.Second, []string{"a", "b"}, 3},           // c was seen three seconds ago
		{5 * time.Second, []string{"a", "b"}, 2},           // and now it is gone
		{time.Minute, []string{"a", "b", "d", "e"}, 4},     // after an outage
		{time.Minute + 2, []string{"a", "b", "d"}, 4},      // e may have been late
		{2 * time.Minute, []string{"a", "b", "d"}, 3},      // it was not
		{-time.Hour, []string{"a", "b"}, 3},                // a clock that was set back forgets nobody
		{3 * time.Minute, []string{"a", "b", "c", "d"}, 4}, // c is back
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
		cancel()
		<-done
	})
}

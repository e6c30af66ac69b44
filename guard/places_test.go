package guard

import (
	"context"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

func acquire(t testing.TB, l *limitgate.Limiter, now limitgate.Time, n int) (held []limitgate.Place) {
	t.Helper()
	for range n {
		p, d, err := l.AcquireAt(context.Background(), now, "k")
		if err != nil {
			t.Fatalf("got error %v, want a decision", err)
		}
		if d.Admitted() {
			held = append(held, p)
		}
	}
	return held
}

func release(t testing.TB, held []limitgate.Place) {
	t.Helper()
	for i := range held {
		if err := held[i].Release(context.Background()); err != nil {
			t.Errorf("got %v, want that a place is always given up", err)
		}
	}
}

// TestPlaces: those taken in the store count when it fails, those taken without it are in nobody's way afterwards, and those
// released while it was out are given back when it answers.
func TestPlaces(t *testing.T) {
	far := newRemote()
	s := New(Config{})
	s.live.Store(2)
	z := s.Zone(far, 0)
	l := bind(t, z.Fail(limitgate.FailLocal), limitgate.Conn{Limit: 10})
	stored := acquire(t, l, t0, 3)
	if far.places() != 3 {
		t.Fatalf("got %d places in the store, want 3", far.places())
	}
	far.mode.Store(fails)
	local := acquire(t, l, t0, 10)
	if len(local) != 2 {
		t.Errorf("got %d places without the store, want 2: the share is 5, and 3 are held", len(local))
	}
	release(t, stored[:2])
	if more := acquire(t, l, t0, 10); len(more) != 2 {
		t.Errorf("got %d places after 2 were released, want 2", len(more))
	} else {
		local = append(local, more...)
	}
	release(t, stored[:2]) // a second time does nothing
	if st := s.Stats(); st.Waiting != 2 || far.places() != 3 {
		t.Errorf("got %d waiting and %d in the store, want 2 and 3", st.Waiting, far.places())
	}
	far.mode.Store(answers)
	for i := range 20 { // a probe and a few calls
		held := acquire(t, l, t0.Add(time.Duration(i+1)*10*time.Second), 1)
		release(t, held)
	}
	release(t, local)
	release(t, stored[2:])
	if st := s.Stats(); st.Waiting != 0 || far.places() != 0 || st.Phase != Up {
		t.Errorf("got %d waiting and %d in the store, %v, want none, up", st.Waiting, far.places(), st.Phase)
	}
	if len(z.places.by)+len(z.places.held) != 0 {
		t.Errorf("got %d places and %d keys remembered, want none", len(z.places.by), len(z.places.held))
	}
}

// TestPlacesOpenAndClosed: an open limit counts what it lets through, so that nothing is left behind; a closed one gives none.
func TestPlacesOpenAndClosed(t *testing.T) {
	far := newRemote()
	far.mode.Store(fails)
	s := New(Config{})
	z := s.Zone(far, 0)
	held := acquire(t, bind(t, z.Fail(limitgate.FailOpen), limitgate.Conn{Limit: 2}), t0, 7)
	if len(held) != 7 {
		t.Errorf("open: got %d places, want 7", len(held))
	}
	if got := acquire(t, bind(t, z.Fail(limitgate.FailClosed), limitgate.Conn{Limit: 20}), t0, 7); len(got) != 0 {
		t.Errorf("closed: got %d places, want none", len(got))
	}
	release(t, held)
	if len(z.places.by)+len(z.places.held) != 0 || far.places() != 0 {
		t.Errorf("got %d places remembered and %d in the store, want none", len(z.places.by), far.places())
	}
}

package guard

import (
	"context"
	"testing"

	"github.com/limitgate/limitgate"
)

// TestJoint: limits of one store are asked in one call, remembered, and decided by the fallback of each when it fails; all pass or
// none is charged.
func TestJoint(t *testing.T) {
	ctx := context.Background()
	far := newRemote()
	s := New(Config{})
	wide := bind(t, s.Zone(shelf{far}, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 9, NoDelay: true})
	other := newRemote()
	tight := bind(t, s.Zone(shelf{other}, 0).Fail(limitgate.FailLocal), limitgate.Req{Rate: limitgate.PerSecond(1), Burst: 3, NoDelay: true})
	legs := []limitgate.Leg{{Limiter: wide, Key: "k"}, {Limiter: tight, Key: "k"}}
	passed := func(n int) (passed int) {
		for range n {
			v, err := limitgate.All(ctx, t0, legs)
			if err != nil {
				t.Fatal(err)
			}
			if v.Admitted() {
				passed++
			}
		}
		return passed
	}
	if got, calls := passed(2), far.calls.Load()+other.calls.Load(); got != 2 || calls != 2 {
		t.Errorf("got %d passed in %d calls, want 2 in 2", got, calls)
	}
	if err := limitgate.RefundAll(ctx, t0, legs); err != nil {
		t.Error(err)
	}
	if got := passed(1); got != 1 {
		t.Errorf("got %d passed after one was given back, want 1", got)
	}
	far.mode.Store(fails)
	if got := passed(9); got != 2 {
		t.Errorf("got %d passed without the store, want 2: the tighter limit knows of 2 requests", got)
	}
	if d := legs[1].Decision; d.Fallback() != limitgate.FailLocal || d.Outcome != limitgate.Rejected {
		t.Errorf("got %+v by %q, want a refusal by the share", d, d.Fallback())
	}
	if d := take(t, wide, t0, "k"); d.Remaining != 10-5 {
		t.Errorf("got %d left of the wider limit, want 5: refused requests are not charged to it", d.Remaining)
	}
	if st := s.Stats(); st.Local == 0 || st.Phase != Down {
		t.Errorf("got %+v, want decisions by the share, and a store that is down", st)
	}
}

// TestJointPlaces: places of several limits are taken together, with the store and without.
func TestJointPlaces(t *testing.T) {
	ctx := context.Background()
	far := newRemote()
	s := New(Config{})
	a := bind(t, s.Zone(shelf{far}, 0).Fail(limitgate.FailLocal), limitgate.Conn{Limit: 4})
	b := bind(t, s.Zone(shelf{newRemote()}, 0).Fail(limitgate.FailLocal), limitgate.Conn{Limit: 2})
	legs := []limitgate.Leg{{Limiter: a, Key: "k"}, {Limiter: b, Key: "k"}}
	var all []limitgate.Place
	acquire := func() bool {
		places := make([]limitgate.Place, 2)
		v, err := limitgate.AcquireAll(ctx, t0, legs, places)
		if err != nil {
			t.Fatal(err)
		}
		if v.Admitted() {
			all = append(all, places...)
		}
		return v.Admitted()
	}
	if !acquire() {
		t.Fatal("got a refusal with all places free")
	}
	far.mode.Store(fails)
	if !acquire() || acquire() {
		t.Error("without the store: got another number of places than one more")
	}
	release(t, all)
	for _, l := range []*limitgate.Limiter{a, b} {
		if z := l.Zone().(*view); len(z.places.by)+len(z.places.held) != 0 {
			t.Errorf("got %d places remembered, want none", len(z.places.by))
		}
	}
}

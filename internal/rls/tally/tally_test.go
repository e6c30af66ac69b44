package tally_test

import (
	"context"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/rls/tally"
	"github.com/limitgate/limitgate/memzone"
)

// A tally counts on beyond its limit, and starts anew when its window is over.
func TestTally(t *testing.T) {
	z := memzone.New(memzone.Config{Bytes: 1 << 12, Seed: 1})
	bind := func(window time.Duration) *limitgate.Limit {
		a := tally.Tally{Limit: 5, Window: window}
		if err := a.Validate(); err != nil {
			t.Fatal(err)
		}
		l := &limitgate.Limit{Algorithm: a, Kind: a.Kind(), Steps: a.Compile()}
		if err := z.Bind(l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	minute, hour := bind(time.Minute), bind(time.Hour)
	ctx := context.Background()
	for i, c := range []struct {
		at   time.Duration
		l    *limitgate.Limit
		cost limitgate.Cost
		m    limitgate.Mode
		want int64
	}{
		{0, minute, 3, limitgate.Spend, 2},
		{time.Second, minute, 0, limitgate.Peek, 2},
		{2 * time.Second, minute, 4, limitgate.Spend, -2},
		{3 * time.Second, minute, 1, limitgate.Peek, -3}, // what would be
		{3 * time.Second, minute, 0, limitgate.Peek, -2},
		{-time.Second, minute, 1, limitgate.Spend, -3}, // time back
		{59 * time.Second, hour, 1, limitgate.Spend, -4},
		{time.Minute, minute, 1, limitgate.Spend, -5}, // the hour's window holds it
		{time.Hour, minute, 1, limitgate.Spend, 4},
		{time.Hour, minute, 1 << 62, limitgate.Spend, 5 - tally.Most},
		{time.Hour, minute, 1, limitgate.Spend, 5 - tally.Most},
		{9 * time.Hour, minute, 1, limitgate.Spend, 4}, // idle
	} {
		now := limitgate.Time(1_700_000_000 / 3600 * 3600 * 1_000_000_000).Add(c.at)
		d, _, err := z.Do(ctx, now, c.l, "k", c.cost, c.m)
		if err != nil || d.Remaining != c.want || !d.Admitted() {
			t.Errorf("step %d: got %+v and %v, want %d remaining", i, d, err, c.want)
		}
	}
}

// What is given back is what was counted, as long as the window lasts.
func TestUndo(t *testing.T) {
	s := tally.Tally{Limit: 5, Window: time.Minute}.Compile()
	now := limitgate.Time(120 * time.Second)
	one, _ := s.Step(0, now, 2, 0)
	two, _ := s.Step(one, now, 3, 0)
	if got := s.Undo(two, one, two, now); got != one {
		t.Errorf("got %x, want %x", got, one)
	}
	later, _ := s.Step(0, now.Add(time.Minute), 1, 0)
	if got := s.Undo(later, one, two, now); got != later {
		t.Errorf("of another window: got %x, want %x", got, later)
	}
	if at := s.DrainAt(two, now); at != limitgate.Time(180*time.Second) {
		t.Errorf("got drained at %v, want 180 s", at)
	}
	if at := s.DrainAt(0, now); at != 0 {
		t.Errorf("a key nobody has seen: got %v, want 0", at)
	}
}

func TestValidate(t *testing.T) {
	for _, bad := range []tally.Tally{{Limit: -1, Window: time.Second}, {Window: time.Millisecond}, {Window: 1500 * time.Millisecond}, {Window: 367 * 24 * time.Hour}, {Limit: tally.Most + 1, Window: time.Second}} {
		if bad.Validate() == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

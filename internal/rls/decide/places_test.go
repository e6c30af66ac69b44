package decide_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/rls/decide"
)

const places = `
domain: d
descriptors:
  - key: job
    rate_limit: {concurrency: 2, hold: 10s}
  - key: rate
    rate_limit: {unit: hour, requests_per_unit: 2}
`

// place is a request for a place, or about one.
func place(value, id string, release bool) *decide.Request {
	r := &decide.Request{Domain: "d"}
	r.Grow(2)
	d := r.Add(2)
	d.Entry(0, "job", value)
	d.Entry(1, decide.PlaceKey, id)
	d.Release = release
	return r
}

// A place is held under a name, for longer by the same name, until it is given back or runs out.
func TestPlaces(t *testing.T) {
	d, _ := decider(t, places, decide.Options{})
	look := place("x", "", false)
	look.Descriptors[0].HasHits = true
	for i, c := range []struct {
		at   time.Duration
		r    *decide.Request
		over bool
		free uint32
	}{
		{0, look, false, 2},
		{0, place("x", "a", false), false, 1},
		{time.Second, place("x", "b", false), false, 0},
		{time.Second, look, true, 0},
		{2 * time.Second, place("x", "c", false), true, 0},
		{2 * time.Second, place("y", "c", false), false, 1},
		{9 * time.Second, place("x", "a", false), false, 0}, // until 19 s
		{11 * time.Second, place("x", "c", false), false, 0},
		{12 * time.Second, place("x", "nobody", true), false, 0},
		{12 * time.Second, place("x", "a", true), false, 1},
		{12 * time.Second, place("x", "a", true), false, 1},
		{30 * time.Second, look, false, 2},
	} {
		var a decide.Answer
		if err := d.Decide(context.Background(), t0.Add(c.at), c.r, &a); err != nil {
			t.Fatal(err)
		}
		if s := a.Statuses[0]; a.Over != c.over || s.Remaining != c.free || s.Reset != 10 || a.RetryAfter != 0 {
			t.Errorf("step %d: got over %v and %+v, want over %v, %d free", i, a.Over, s, c.over, c.free)
		}
	}
}

func TestWhatPlacesAreNot(t *testing.T) {
	d, _ := decider(t, places, decide.Options{})
	var a decide.Answer
	if err := d.Decide(context.Background(), t0, place("x", "", false), &a); !errors.Is(err, decide.ErrPlace) {
		t.Errorf("without a name: got %v, want %v", err, decide.ErrPlace)
	}
	r := request("d", "x", "rate")
	r.Descriptors[0].Release = true
	if err := d.Decide(context.Background(), t0, r, &a); !errors.Is(err, decide.ErrNegative) {
		t.Errorf("of a rate: got %v, want %v", err, decide.ErrNegative)
	}
	// The name of a place is none where there is nothing else.
	r = &decide.Request{Domain: "d"}
	r.Grow(1)
	if r.Add(1).Entry(0, decide.PlaceKey, "a"); len(r.Descriptors[0].Entries) != 1 {
		t.Error("the only entry was taken for a place")
	}
}

// Places of many keys do not pile up: what ran out makes room.
func TestPlacesAreBounded(t *testing.T) {
	m := decide.MemoryPlaces{Most: 1000}
	ask := decide.PlaceAsk{ID: "a", Limit: 1, Hold: time.Second, Op: decide.Hold}
	full := 0
	for i := range 1010 {
		ask.Key = fmt.Sprint(i)
		if _, held, _ := m.Place(context.Background(), t0, ask); !held {
			full++
		}
	}
	if full != 10 {
		t.Errorf("%d found no room, want 10", full)
	}
	if _, held, _ := m.Place(context.Background(), t0.Add(time.Second), ask); !held {
		t.Error("what ran out made no room")
	}
}

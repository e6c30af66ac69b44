package decide

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// Places decide as a list would that is looked through each time, and nothing is kept of keys that hold none.
func TestPlacesAgainstAList(t *testing.T) {
	type name struct{ key, id string }
	const limit, hold = 3, 10 * time.Second
	var m MemoryPlaces
	list := map[name]limitgate.Time{}
	random := rand.New(rand.NewPCG(1, 2))
	now := limitgate.Time(1e18)
	for step := range 20_000 {
		now += limitgate.Time(random.Int64N(int64(2 * time.Second)))
		n := name{fmt.Sprint(random.IntN(4)), fmt.Sprint(random.IntN(6))}
		op := PlaceOp(random.IntN(3))
		held, has := int64(0), false
		for other, until := range list {
			switch {
			case until <= now:
				delete(list, other)
			case other.key == n.key:
				held++
				has = has || other == n
			}
		}
		wantHeld := true
		switch {
		case op == Release:
			if has {
				delete(list, n)
				held--
			}
		case op == Look || !has && held >= limit:
			wantHeld = held < limit
		default:
			if list[n] = now.Add(hold); !has {
				held++
			}
		}
		free, got, err := m.Place(context.Background(), now, PlaceAsk{Key: n.key, ID: n.id, Limit: limit, Hold: hold, Op: op})
		if err != nil || free != limit-held || got != wantHeld {
			t.Fatalf("step %d, %v of %v: got %d free, %v, %v; want %d, %v", step, op, n, free, got, err, limit-held, wantHeld)
		}
	}
	for i := range 100 {
		ask := PlaceAsk{Key: fmt.Sprint("gone", i), ID: "a", Limit: limit, Hold: hold, Op: Hold}
		for _, op := range []PlaceOp{Hold, Look, Release} {
			ask.Op = op
			if _, _, err := m.Place(context.Background(), now, ask); err != nil {
				t.Fatal(err)
			}
			now = now.Add(hold)
		}
	}
	for i := range 4 {
		_, _, _ = m.Place(context.Background(), now, PlaceAsk{Key: fmt.Sprint(i), Limit: limit, Op: Look}) // never fails
	}
	if len(m.keys) != 0 || m.total != 0 {
		t.Errorf("%d keys and %d places are kept though all ran out, want none", len(m.keys), m.total)
	}
}

// However long keys and names are, they are told apart, and little is kept of them.
func TestLongNamesOfPlaces(t *testing.T) {
	var m MemoryPlaces
	long := strings.Repeat("x", 1<<16)
	for i, c := range []struct {
		key, id string
		op      PlaceOp
		held    bool
	}{
		{long, long, Hold, true}, {long, long + "a", Hold, false}, {long, long, Hold, true}, {long + "a", long, Hold, true}, {long[:longest], long, Hold, true},
		{long, long, Release, true}, {long, long + "a", Hold, true}, {long + "a", long, Look, false},
	} {
		if _, held, err := m.Place(context.Background(), 1, PlaceAsk{Key: c.key, ID: c.id, Limit: 1, Hold: time.Second, Op: c.op}); err != nil || held != c.held {
			t.Errorf("step %d: got %v, %v, want %v", i, held, err, c.held)
		}
	}
	for key, c := range m.keys {
		for id := range c.held {
			if len(key) > longest || len(id) > longest {
				t.Errorf("a key of %d bytes and a name of %d are kept", len(key), len(id))
			}
		}
	}
	if len(m.keys) != 3 {
		t.Errorf("got %d keys, want 3", len(m.keys))
	}
}

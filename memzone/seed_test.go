package memzone

import (
	"context"
	"strconv"
	"testing"

	"github.com/limitgate/limitgate"
)

// Zones of one seed decide alike, key by key, also when they are full; others do not.
func TestSeedFixesWhatAFullZoneDoes(t *testing.T) {
	const bytes, keys = 4 << 10, 2000
	run := func(seed uint64) (refused string) {
		z := New(Config{Bytes: bytes, Overflow: Reject, Seed: seed})
		l, err := limitgate.NewLimiter(z, limitgate.Req{Rate: limitgate.PerMinute(1)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			d, err := l.TakeAt(context.Background(), 1e18, strconv.Itoa(i), 1)
			if err != nil {
				t.Fatal(err)
			}
			if d.NoRoom() {
				refused += strconv.Itoa(i) + " "
			}
		}
		return refused
	}
	one, again, other := run(1), run(1), run(2)
	if one != again {
		t.Error("two zones of one seed refused different keys")
	}
	if one == other {
		t.Error("zones of two seeds refused the same keys")
	}
	if random := run(0); random == one {
		t.Error("a zone without a seed refused the keys of seed 1")
	}
}

package vars

import (
	"testing"
	"time"

	"github.com/limitgate/limitgate"
)

// A request that is over within a millisecond took 0.000, wherever the millisecond ends; longer ones take the stamps' difference.
func TestBetween(t *testing.T) {
	const us = limitgate.Time(time.Microsecond)
	for _, c := range []struct {
		then, now limitgate.Time
		ms        int64
	}{
		{100, 200, 0}, {900, 1100, 0}, {900, 1899, 0}, {900, 1900, 1}, {0, 1000, 1}, {900, 2000, 2}, {999, 5000, 5}, {500, 500, 0},
	} {
		if got := between(c.then*us, c.now*us); got != c.ms*int64(time.Millisecond) {
			t.Errorf("from %d to %d us: got %d ns, want %d ms", c.then, c.now, got, c.ms)
		}
	}
}

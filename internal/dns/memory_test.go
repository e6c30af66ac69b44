package dns

import (
	"net/netip"
	"testing"

	"github.com/limitgate/limitgate"
)

func TestMemoryHoldsWhileSomebodyLooks(t *testing.T) {
	var nobody *Memory
	nobody.Keep("a", []netip.Addr{netip.IPv6Loopback()}, 1, 9)
	if nobody.Last("a", 1) != nil {
		t.Error("nobody remembers something")
	}
	m := new(Memory)
	known := func(now int64, want bool) {
		t.Helper()
		if got := m.Last("a", limitgate.Time(now)) != nil; got != want {
			t.Errorf("at %d: known %v, want %v", now, got, want)
		}
	}
	m.Keep("a", nil, 1, 9) // a failure is no answer
	known(1, false)
	m.Keep("a", []netip.Addr{netip.IPv6Loopback()}, 1, 10)
	known(10, true)
	m.Keep("a", nil, 10, 20) // the name server does not answer: the last answer holds
	known(20, true)
	known(21, false)
	m.Keep("b", []netip.Addr{netip.IPv6Loopback()}, 21, 30)
	m.Keep("a", nil, 21, 30)
	known(21, false)
	if len(m.last) != 1 {
		t.Errorf("%d names are kept, want 1", len(m.last))
	}
}

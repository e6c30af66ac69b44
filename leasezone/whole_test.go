package leasezone

import (
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/zonetest"
)

// TestWholeKit: with a lease of one, a zone passes the whole kit.
func TestWholeKit(t *testing.T) {
	zonetest.Run(t, func(t testing.TB) limitgate.Zone { return leaseOf(t, newDistant(), Config{Lease: 1, Keys: 256}) })
}

// TestKitOfLeases: with larger leases, which one instance has for itself, limits admit what they admit. What does not apply are the
// vectors, the twin and the tests of what is charged when many ask. They tell what the next request would find, to the last field,
// where a batch that waits for its turn is refused until all of it is there, and what was taken back in vain is back later.
func TestKitOfLeases(t *testing.T) {
	f := func(t testing.TB) limitgate.Zone { return leaseOf(t, newDistant(), Config{Lease: 7, Keys: 256}) }
	for name, test := range map[string]func(testing.TB, zonetest.Factory){
		"ConnVectors": zonetest.ConnVectors, "Kinds": zonetest.Kinds, "KeepsNoKey": zonetest.KeepsNoKey, "Resets": zonetest.Resets,
		"HotKey": zonetest.HotKey, "FirstMeeting": zonetest.FirstMeeting, "AllSameState": zonetest.AllSameState,
		"ConnConservation": zonetest.ConnConservation, "AcquireAll": zonetest.AcquireAll, "Places": zonetest.Places,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

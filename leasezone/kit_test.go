package leasezone_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
	"github.com/limitgate/limitgate/leasezone"
	"github.com/limitgate/limitgate/rediszone"
	"github.com/limitgate/limitgate/zonetest"
)

// dial connects to a server until the test ends.
func dial(t testing.TB, url string) *rediszone.Store {
	t.Helper()
	s, err := rediszone.Dial(t.Context(), rediszone.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// strict makes a zone that ends with the test.
func strict(t testing.TB, s *rediszone.Store, name string, c rediszone.Clock) *rediszone.Zone {
	t.Helper()
	z, err := rediszone.New(rediszone.Config{Store: s, Name: name, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// lease makes a zone that borrows and ends with the test.
func lease(t testing.TB, c leasezone.Config) *leasezone.Zone {
	t.Helper()
	z, err := leasezone.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

// bind binds a limit or ends the test.
func bind(t testing.TB, z limitgate.Zone, a limitgate.Algorithm) *limitgate.Limiter {
	t.Helper()
	l, err := limitgate.NewLimiter(z, a)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestKit: with a lease of one, refusals that are remembered and all, a zone decides what every zone decides, to the last field. Of the
// kit, this is on a real store what depends on one.
func TestKit(t *testing.T) {
	s := dial(t, redistest.Start(t).URL())
	var names atomic.Int64
	f := func(t testing.TB) limitgate.Zone {
		z := strict(t, s, strconv.FormatInt(names.Add(1), 10), rediszone.CallerTime)
		return lease(t, leasezone.Config{Zone: z, Lease: 1, Keys: 256, Every: -1})
	}
	for name, test := range map[string]func(testing.TB, zonetest.Factory){
		"Check": zonetest.CheckChangesNothing, "Resets": zonetest.Resets, "Windows": zonetest.Windows, "FirstMeeting": zonetest.FirstMeeting,
		"AllExact": zonetest.AllExact, "AllSameState": zonetest.AllSameState, "AllConservation": zonetest.AllConservation,
		"AcquireAll": zonetest.AcquireAll, "Places": zonetest.Places, "Twin": zonetest.Twin,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

package rediszone_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/redistest"
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

// zones makes zones of the caller's time with names of their own, that end with the test.
func zones(s *rediszone.Store) zonetest.Factory {
	var n atomic.Int64
	return func(t testing.TB) limitgate.Zone {
		z, err := rediszone.New(rediszone.Config{Store: s, Name: "z" + strconv.FormatInt(n.Add(1), 10), Clock: rediszone.CallerTime})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(z.Close)
		return z
	}
}

func TestKit(t *testing.T) {
	zonetest.Run(t, zones(dial(t, redistest.Start(t).URL())))
}

// What depends on where the keys lie, in a cluster.
func TestKitInCluster(t *testing.T) {
	f := zones(dial(t, redistest.Cluster(t)[1].URL()))
	for name, test := range map[string]func(testing.TB, zonetest.Factory){
		"ExactVectors": zonetest.ExactVectors, "ConnVectors": zonetest.ConnVectors, "AllExact": zonetest.AllExact, "AllSameState": zonetest.AllSameState,
		"AllConservation": zonetest.AllConservation, "ConnConservation": zonetest.ConnConservation, "AcquireAll": zonetest.AcquireAll, "Resets": zonetest.Resets,
	} {
		t.Run(name, func(t *testing.T) { test(t, f) })
	}
}

package rediszone_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

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

// patient connects as a program may with a client of its own: one that does not take a server for gone that is silent for some seconds. What
// comes of tens of thousands of calls at once on a busy machine says then what was decided, and not how long it took.
func patient(t testing.TB, addrs ...string) *rediszone.Store {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: addrs, DisableRetry: true, DisableCache: true, AlwaysPipelining: true, PipelineMultiplex: -1, ConnWriteTimeout: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return rediszone.NewStore("patient", c)
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
	zonetest.Run(t, zones(patient(t, redistest.Start(t).Addr())))
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

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

func TestKitInCluster(t *testing.T) {
	nodes := redistest.Cluster(t)
	zonetest.Run(t, zones(dial(t, nodes[1].URL())))
}

func TestKitUnderSentinel(t *testing.T) {
	zonetest.Run(t, zones(dial(t, redistest.Sentinel(t).URL())))
}

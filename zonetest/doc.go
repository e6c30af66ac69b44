// Package zonetest is the kit every limitgate.Zone passes: what limits decide on it, and that nothing is lost or admitted
// twice when many ask at once. It tests a zone through limiters only and knows no zone's insides.
//
//	func TestZone(t *testing.T) {
//		zonetest.Run(t, func(testing.TB) limitgate.Zone { return memzone.New(memzone.Config{}) })
//	}
//
// Model is the stupid twin: a zone that is right because it is simple.
package zonetest

import (
	"testing"

	"github.com/limitgate/limitgate"
)

// Factory makes an empty zone with room for at least 10,000 keys; of logs, for a hundred and one of 10,000 stamps.
type Factory func(testing.TB) limitgate.Zone

// Run runs the whole kit as subtests.
func Run(t *testing.T, f Factory) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(testing.TB, Factory)
	}{
		{"ExactVectors", ExactVectors},
		{"NginxVectors", NginxVectors},
		{"ConnVectors", ConnVectors},
		{"ReqThenConnVectors", ReqThenConnVectors},
		{"TokenVectors", TokenVectors},
		{"FixedVectors", FixedVectors},
		{"SlidingVectors", SlidingVectors},
		{"LogVectors", LogVectors},
		{"ArticleVectors", ArticleVectors},
		{"Windows", Windows},
		{"Resets", Resets},
		{"Parts", Parts},
		{"Kinds", Kinds},
		{"Check", CheckChangesNothing},
		{"KeepsNoKey", KeepsNoKey},
		{"HotKey", HotKey},
		{"FirstMeeting", FirstMeeting},
		{"AllExact", AllExact},
		{"AllConservation", AllConservation},
		{"AllSameState", AllSameState},
		{"ConnConservation", ConnConservation},
		{"AcquireAll", AcquireAll},
		{"Places", Places},
		{"Twin", Twin},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, f) })
	}
}

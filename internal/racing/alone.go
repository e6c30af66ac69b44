package racing

import "testing"

// Alone skips a long test of one goroutine under the detector, which makes it several times longer and has nothing to find in it.
// make check runs the packages of such tests without the detector too.
func Alone(t testing.TB) {
	t.Helper()
	if Detector {
		t.Skip("one goroutine alone: runs without the race detector")
	}
}

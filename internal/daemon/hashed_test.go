package daemon

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/limitgate/limitgate/internal/racing"
)

// hashedSlowly is hashed by the package for it.
func hashedSlowly(o *observed, key string) string {
	m := hmac.New(sha256.New, o.secret[:])
	m.Write([]byte(key))
	return "#" + hex.EncodeToString(m.Sum(nil)[:6])
}

func TestHashedMakesNoGarbage(t *testing.T) {
	if racing.Detector {
		t.Skip("the race detector allocates")
	}
	var o observed
	var room [64]byte
	if n := testing.AllocsPerRun(100, func() { o.appendHashed(room[:0], "192.0.2.1") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

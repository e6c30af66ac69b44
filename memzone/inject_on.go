//go:build inject

package memzone

import (
	"math/rand/v2"
	"runtime"
)

// injecting is on in builds for stress tests: between any two steps on shared memory, others may get their turn.
const injecting = true

// disturb yields or dawdles now and then.
func disturb() {
	switch r := rand.Uint32(); {
	case r&7 == 0:
		runtime.Gosched()
	case r&63 == 1:
		for i := uint32(0); i < r>>20; i++ {
			_ = i
		}
	}
}

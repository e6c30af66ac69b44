//go:build portable || race || !(amd64 || arm64)

package pair

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Native tells whether CAS is an instruction of the machine.
const Native = false

// stripe is a lock on a cache line of its own.
type stripe struct {
	sync.Mutex
	_ [56]byte
}

// stripes guard the words that hash to them. A lock is no state: this is the one variable of the package that changes.
var stripes [1024]stripe

// CAS makes (o0, o1) into (n0, n1) as seen by other CAS, and tells whether it did.
//
// Readers don't lock: they load W0, W1, and W0 again. For them, the owner's lowest two bits of W0 say whether W1 means
// anything, and 01 is the value that says so. A pair that becomes 01 has W1 in place first; one that stops being 01 says
// so in W0 first; and no pair goes from 01 to another 01 with a different W0.
func CAS(p *Words, o0, o1, n0, n1 uint64) bool {
	m := &stripes[(uintptr(unsafe.Pointer(p))>>4)%uintptr(len(stripes))]
	m.Lock()
	defer m.Unlock()
	if atomic.LoadUint64(&p.W0) != o0 || atomic.LoadUint64(&p.W1) != o1 {
		return false
	}
	if n0&3 == 1 {
		atomic.StoreUint64(&p.W1, n1)
		if n0 != o0 {
			atomic.StoreUint64(&p.W0, n0)
		}
		return true
	}
	atomic.StoreUint64(&p.W0, n0)
	atomic.StoreUint64(&p.W1, n1)
	return true
}

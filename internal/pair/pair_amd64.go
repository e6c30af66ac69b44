//go:build !portable && !race

package pair

// Native tells whether CAS is an instruction of the machine.
const Native = true

// CAS makes (o0, o1) into (n0, n1) at one instant, and tells whether it did. It orders like an atomic of sync/atomic.
//
//go:noescape
func CAS(p *Words, o0, o1, n0, n1 uint64) bool

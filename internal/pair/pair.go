// Package pair is one primitive: compare-and-swap on two adjacent 64-bit words. It knows nothing of what they mean, but
// for one rule of the portable form, see CAS there.
//
// On amd64 and arm64 it is one instruction or one exclusive pair. Elsewhere, with the build tag portable, and under the
// race detector it is a striped lock: the detector does not see what assembly does, so a race build takes the form it can
// judge, in which every access is one of package sync/atomic. The assembly is exercised by the same tests without -race.
package pair

// Words is what CAS works on. Its address must be a multiple of 16, which is up to who owns the memory. Each word is read
// with sync/atomic; it is written by CAS alone.
type Words struct{ W0, W1 uint64 }

package memzone

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// seed is the secret of a zone's hash: it chooses the buckets and the fingerprints, so that nobody outside can aim at one.
type seed [3]uint64

// newSeed draws a seed from the runtime's generator, which is ChaCha8 seeded by the system, or derives it from a fixed one. Then
// the hash is the same in every process and on every machine, and who knows the seed can aim at a bucket.
func newSeed(fixed uint64) seed {
	if fixed == 0 {
		return seed{rand.Uint64(), rand.Uint64(), rand.Uint64()}
	}
	r := rand.NewPCG(fixed, 0)
	return seed{r.Uint64(), r.Uint64(), r.Uint64()}
}

// mix folds the product of two words: every bit of both reaches every bit of it.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// sum hashes a key by multiplications with secret words, 16 bytes at a time. Most keys are addresses of at most 16 bytes:
// for those it is a third of the instructions of hash/maphash, whose entry alone takes more. Those of 8
// bytes and more are two words, which may overlap.
func (s *seed) sum(key string) uint64 {
	n := len(key)
	if n < 8 || n > 16 {
		return s.other(key)
	}
	// In bounds: the first and the last 8 bytes of key, and only read.
	p := unsafe.Pointer(unsafe.StringData(key))
	lo := binary.LittleEndian.Uint64((*[8]byte)(p)[:])
	hi := binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, n-8))[:])
	return s.fold(s[0], lo, hi, uint64(n))
}

// fold ends a hash: x is what came of the bytes before the last, n how many there were.
func (s *seed) fold(x, lo, hi, n uint64) uint64 {
	hi, lo = bits.Mul64(lo^s[1], hi^x)
	return mix(lo^s[0]^n, hi^s[2])
}

// other is sum for keys that are shorter than 8 bytes or longer than 16.
func (s *seed) other(key string) uint64 {
	// In bounds: exactly the bytes of key, and only read.
	b := unsafe.Slice(unsafe.StringData(key), len(key))
	n := uint64(len(b))
	x, lo, hi := s[0], uint64(0), uint64(0)
	switch {
	case len(b) > 16:
		for end := b[len(b)-16:]; ; b = b[16:] {
			if len(b) <= 16 {
				lo, hi = binary.LittleEndian.Uint64(end), binary.LittleEndian.Uint64(end[8:])
				break
			}
			x = mix(binary.LittleEndian.Uint64(b)^s[1], binary.LittleEndian.Uint64(b[8:])^x)
		}
	case len(b) >= 4:
		lo, hi = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[len(b)-4:]))
	case len(b) > 0:
		lo, hi = uint64(b[0]), uint64(b[len(b)/2])<<8|uint64(b[len(b)-1])
	}
	return s.fold(x, lo, hi, n)
}

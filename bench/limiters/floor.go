package main

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/pair"
	"github.com/limitgate/limitgate/memzone"
)

// floor is no limiter: what remains of ours if it decides nothing. It reads the key, finds by one multiplication, which is no
// hash to use, one place in a table of the same size, and swaps what is there, as everybody must whose states may be changed
// by others at the same time. The rest of a decision is what a limiter can be made faster by on the same machine.
func floor(clock bool) contestant {
	name := "no limiter: key, place, swap"
	if clock {
		name = "no limiter: clock, key, place, swap"
	}
	return contestant{name: name, floor: true, make: func(keys int) (take, func()) {
		n := max(memzone.DefaultBytes, keys*16*4/3) / int(unsafe.Sizeof(pair.Words{}))
		slots := make([]pair.Words, n+1)
		if uintptr(unsafe.Pointer(&slots[0]))&15 != 0 {
			// In bounds: half a place on, and one place fewer. A swap wants 16 bytes on a multiple of 16.
			slots = unsafe.Slice((*pair.Words)(unsafe.Add(unsafe.Pointer(&slots[0]), 8)), n)
		}
		return func(key string, now int64) bool {
			if clock {
				now = int64(limitgate.Now())
			}
			p := &slots[place(key)>>32*uint64(n)>>32]
			return pair.CAS(p, p.W0, p.W1, p.W0, uint64(now))
		}, func() {}
	}}
}

// place mixes the first and the last eight bytes, in which the keys of the comparison differ.
func place(key string) uint64 {
	b := unsafe.Slice(unsafe.StringData(key), len(key))
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(b)^0x9E3779B97F4A7C15, binary.LittleEndian.Uint64(b[len(b)-8:])^0xD1B54A32D192ED03)
	return hi ^ lo
}

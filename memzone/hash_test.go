package memzone

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/limitgate/limitgate/internal/racing"
)

// TestHashAvalanche: each bit of a key, of any length, moves each bit of the hash half of the time.
func TestHashAvalanche(t *testing.T) {
	racing.Alone(t)
	const tries = 1024
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 100} {
		key := make([]byte, n)
		for bit := range 8 * n {
			var flips [64]int
			for range tries {
				s := seed{r.Uint64(), r.Uint64(), r.Uint64()}
				for i := range key {
					key[i] = byte(r.Uint32())
				}
				h := s.sum(string(key))
				key[bit/8] ^= 1 << (bit % 8)
				for d := h ^ s.sum(string(key)); d != 0; d &= d - 1 {
					flips[bits.TrailingZeros64(d)]++
				}
			}
			for out, f := range flips {
				// Seven standard deviations: one of all these tests fails by chance once in a million runs.
				if math.Abs(float64(f)-tries/2) > 7*math.Sqrt(tries)/2 {
					t.Fatalf("key of %d bytes: bit %d flips bit %d of the hash %d times of %d", n, bit, out, f, tries)
				}
			}
		}
	}
}

// TestHashTellsKeysApart: keys as people have them, and keys that differ in length alone.
func TestHashTellsKeysApart(t *testing.T) {
	s := newSeed(0)
	seen := map[uint64]string{}
	see := func(key string) {
		h := s.sum(key) & ownerMask
		if other, ok := seen[h]; ok && other != key {
			t.Fatalf("%q and %q share the fingerprint %x", key, other, h)
		}
		seen[h] = key
	}
	for i := range 100_000 {
		see(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		see(fmt.Sprintf("user:%d", i))
		see(fmt.Sprintf("%016x%08x", i, i*i))
		see(string([]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}))
	}
	for n := range 300 {
		see(strings.Repeat("\x00", n))
		see(strings.Repeat("a", n))
	}
}

// TestHashFillsBucketsEvenly: the upper bits, which choose the bucket, are as even as chance, in the first and in the second.
func TestHashFillsBucketsEvenly(t *testing.T) {
	const buckets, each = 1024, 64
	tb := newTable(buckets*bucketBytes, 0)
	for _, form := range []string{"%d", "192.0.2.%d", "2001:db8::%x", "a-longer-prefix-that-all-keys-share/%d"} {
		s := newSeed(1)
		var first, second [buckets]float64
		for i := range buckets * each {
			h := s.sum(fmt.Sprintf(form, i)) & ownerMask
			b, _ := tb.first(h)
			first[tb.number(b)]++
			b, _ = tb.second(h)
			second[tb.number(b)]++
		}
		for name, got := range map[string]*[buckets]float64{"first": &first, "second": &second} {
			chi := 0.0
			for _, n := range got {
				chi += (n - each) * (n - each) / each
			}
			// Chi square with 1023 degrees of freedom: 1023 +- 45; seven deviations.
			if math.Abs(chi-(buckets-1)) > 7*math.Sqrt(2*(buckets-1)) {
				t.Errorf("%s, %s bucket: chi square %.0f, want about %d", form, name, chi, buckets-1)
			}
		}
	}
}

// number is which bucket b is.
func (t *table) number(b *bucket) int {
	return int(uintptr(unsafe.Pointer(b))-uintptr(unsafe.Pointer(&t.buckets[0]))) / bucketBytes
}

func BenchmarkHash(b *testing.B) {
	s := newSeed(0)
	for _, n := range []int{4, 9, 15, 39, 200} {
		key := strings.Repeat("k", n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s.sum(key)
			}
		})
	}
}
